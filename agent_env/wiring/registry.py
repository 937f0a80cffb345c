"""Built-in tasks and scripted models by name, as MODULE:NAME."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.tasks.family import Family

TASKS = {
    "time-puzzles": "agent_env.families.time_puzzles.family:FAMILY",
    "tdbench": "agent_env.families.tdbench.family:FAMILY",
    "tdbench-wording": "agent_env.families.tdbench.model_wording:FAMILY",
    "event-screen": "agent_env.families.event_facts.family:SCREEN",
    "event-check": "agent_env.families.event_facts.family:CHECK",
    "traveler": "agent_env.families.traveler.family:FAMILY",
    "temp-answers": "agent_env.families.temp_answers.family:FAMILY",
    "tempreason": "agent_env.families.tempreason.family:FAMILY",
    "timeqa": "agent_env.families.timeqa.family:FAMILY",
}
"""Families by task name."""
INNER = ("tdbench-wording", "event-screen", "event-check")
"""Internal tasks, which have commands of their own."""

SCRIPTS = {
    "reference": "agent_env.families.reference.policy:Reference",
    "reference-static": "agent_env.families.reference.policy:ReferenceStatic",
}
"""Scripted policies by model name."""


def load(path: str) -> Any:
    """The object at MODULE:NAME, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def load_family(name: str) -> Family:
    """The question family of this name."""
    if name not in TASKS:
        names = ", ".join(task for task in TASKS if task not in INNER)
        raise ConfigError(f"unknown task '{name}'; known: {names}")
    family: Family = load(TASKS[name])
    return family
