"""Agents of somebody else, as far as a run knows them; an extension starts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from agent_env.permits import text_of
from agent_env.records.reach import Reach, values_of
from agent_env.registry import hook

if TYPE_CHECKING:
    from pathlib import Path

    from agent_env.graph.loop import Loop
    from agent_env.permits import Permit
    from agent_env.records.agent import AgentUse


class Agents(Protocol):
    """What knows agents, and drives episodes by them."""

    @staticmethod
    def read(text: str) -> AgentUse:
        """The agent of this name, of this file, or of this command line with `{prompt}` in it;
        ConfigError where there is none, or it is not installed."""

    @staticmethod
    def loop(use: AgentUse, model: str, logs: Path | None) -> Loop:
        """What drives the episodes of the agent, which calls the model by a short form of this
        name; `logs`: where what it prints is kept, None for nowhere."""


def agents() -> Agents:
    """The extension; ConfigError where it is not installed."""
    extension: Agents = hook("agents", "an agent of somebody else")
    return extension


def loop_of(use: AgentUse, model: str, logs: Path | None, permit: Permit) -> Loop:
    """What drives the agent's episodes; ConfigError where the permit does not cover it."""
    for each in values_of(use):
        if each.reach not in (None, Reach.NOTHING) and each.value:
            permit.check(each.reach, text_of(each.value))
    return agents().loop(use, model, logs)
