"""Disturbances of a condition's world, as far as episodes know them; a feature makes them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from agent_env.permits import text_of
from agent_env.records.reach import Reach, values_of
from agent_env.registry import hook

if TYPE_CHECKING:
    from pathlib import Path

    from agent_env.graph.loop import Loop
    from agent_env.permits import Permit
    from agent_env.protocols import Tool
    from agent_env.records.disturbance import AttackOutcome, Disturbance, FaultOutcome
    from agent_env.records.schema import Episode, Sample, Score, ToolResult
    from agent_env.records.tool_traits import AgentUse
    from agent_env.web.opened import Web

CHANGED = "a condition with faults, attacks or web ablations"


class ToolFaults(Protocol):
    """The faults of one episode's tools; none before `begin` or `follow`."""

    def tool(self, inner: Tool) -> Tool:
        """The tool with its faults."""

    def begin(self, key: str, past: Iterable[tuple[str, ToolResult]] = ()) -> None:
        """Draw by this key from here on; `past`: tools and results of an episode that goes on."""

    def follow(self, past: Iterable[tuple[str, ToolResult]]) -> None:
        """Take the faults of a recording."""


class Disturbances(Protocol):
    """What changes an episode's world, and reads in its trace what came of it."""

    @staticmethod
    def faults(disturbance: Disturbance) -> ToolFaults | None:
        """Those of an episode; None where the disturbance has none."""

    @staticmethod
    def web(web: Web, sample: Sample, disturbance: Disturbance) -> Web:
        """The web of an episode on the sample, as its condition asks it."""

    @staticmethod
    def fault_outcome(episode: Episode) -> FaultOutcome:
        """What faults of tools did to the episode."""

    @staticmethod
    def attack_outcomes(
        sample: Sample, episode: Episode, score: Score
    ) -> tuple[AttackOutcome, ...]:
        """What became of each attack on the sample; in an episode without it, by chance."""


def disturbances() -> Disturbances:
    """The feature; ConfigError where it is not installed."""
    feature: Disturbances = hook("disturbances", CHANGED)
    return feature


class Agents(Protocol):
    """What drives episodes by agents."""

    @staticmethod
    def loop(use: AgentUse, model: str, logs: Path | None) -> Loop:
        """What drives the episodes of the agent, which calls the model by a short form of this
        name; `logs`: where what it prints is kept, None for nowhere."""


def agents() -> Agents:
    """The feature; ConfigError where it is not installed."""
    feature: Agents = hook("agents", "an agent of somebody else")
    return feature


def loop_of(use: AgentUse, model: str, logs: Path | None, permit: Permit) -> Loop:
    """What drives the agent's episodes; ConfigError where the permit does not cover it."""
    for each in values_of(use):
        if each.reach not in (None, Reach.NOTHING) and each.value:
            permit.check(each.reach, text_of(each.value))
    return agents().loop(use, model, logs)
