"""What the analysis knows of a question family: how to break it down and how to diagnose it.

A family without a module here is analysed all the same, without breakdowns and with the general
rules of diagnosis alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from agent_env.records.schema import Sample
from agent_env.tasks.faults import Faults


class FaultFinder(Protocol):
    """Says which constraints an answer does not satisfy."""

    def __call__(self, sample: Sample, answer: tuple[str, ...]) -> Faults: ...


@dataclass(frozen=True, slots=True)
class Family:
    """The hooks of one question family."""

    groups: Callable[[Sample], Mapping[str, tuple[str, ...]]]
    """What a sample is broken down by; it may stand under several values of one name."""
    cluster: Callable[[Sample], str]
    """What a sample shares with others, drawn together in resampling; "" for nothing."""
    fault_finder: Callable[[], FaultFinder] | None
    """Makes the finder, which may load tables; None where the family has none."""
    shared: str = ""
    """What samples of one cluster share, as a noun."""


MODULES = {
    "time-puzzles": "agent_env.families.time_puzzles.hooks",
    "tdbench": "agent_env.families.tdbench.hooks",
    "temp-answers": "agent_env.families.temp_answers.hooks",
    "traveler": "agent_env.families.traveler.hooks",
}
"""Modules with `groups`, `cluster`, `fault_finder` and `SHARED`, imported when asked for."""


def family_of(task: str) -> Family:
    """The family's hooks, or those that fit any sample."""
    if task not in MODULES:
        return Family(lambda sample: {}, lambda sample: "", None)
    module = import_module(MODULES[task])
    return Family(module.groups, module.cluster, module.fault_finder, module.SHARED)
