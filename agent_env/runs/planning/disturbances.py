"""Disturbances of a new run: those of its conditions, and what is changed for each sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from agent_env.episodes.disturbances import CHANGED, Disturbances
from agent_env.registry import hook

if TYPE_CHECKING:
    from agent_env.records.disturbance import Disturbance
    from agent_env.records.schema import Condition
    from agent_env.runs.options.run_options import RunOptions
    from agent_env.tasks.family import SampleSet
    from agent_env.tasks.task import Task
    from agent_env.web.page_store import SqlitePages

Note = Callable[[str], None]
Pages = Callable[[], AbstractContextManager["SqlitePages | None"]]
"""Opens the store of the run's web; None where it is yet to be recorded."""


class RunDisturbances(Disturbances, Protocol):
    """What makes them before the first episode."""

    @staticmethod
    def disturbed(options: RunOptions, conditions: Sequence[Condition]) -> tuple[Disturbance, ...]:
        """What the options do to the conditions' worlds; ConfigError for what none can have."""

    @staticmethod
    def check(options: RunOptions, task: Task, conditions: Sequence[Condition], note: Note) -> None:
        """ConfigError for a web that is not ours to change."""

    @staticmethod
    def changed_samples(
        made: SampleSet,
        options: RunOptions,
        conditions: Sequence[Condition],
        task: Task,
        pages: Pages,
        note: Note,
    ) -> tuple[SampleSet, Mapping[str, str]]:
        """The samples with what is changed for them, the same ones for all conditions; and by
        sample why others were left out. ConfigError where none is left."""


def run_disturbances() -> RunDisturbances:
    """The feature; ConfigError where it is not installed."""
    feature: RunDisturbances = hook("disturbances", CHANGED)
    return feature
