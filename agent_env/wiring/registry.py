"""Built-in tasks and scripted models by name, as MODULE:NAME."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.tasks.family import Family

FAMILIES = "agent_env.families"
INNER = {
    "tdbench-wording": "agent_env.families.tdbench.model_wording:FAMILY",
    "event-screen": "agent_env.families.event_facts.inner:SCREEN",
    "event-check": "agent_env.families.event_facts.inner:CHECK",
}
"""Internal tasks, which have commands of their own."""

SCRIPTS = {
    "reference": "agent_env.families.reference.policy:Reference",
    "reference-static": "agent_env.families.reference.policy:ReferenceStatic",
}
"""Scripted policies by model name."""


@cache
def task_names() -> tuple[str, ...]:
    """The tasks of `run` and `generate`: the packages of families/ that hold a `family.py`."""
    packages = iter_modules(import_module(FAMILIES).__path__)
    names = (each.name for each in packages if find_spec(f"{FAMILIES}.{each.name}.family"))
    return tuple(sorted(name.replace("_", "-") for name in names))


def load(path: str) -> Any:
    """The object at MODULE:NAME, imported now."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def load_family(name: str) -> Family:
    """The question family of this name: `FAMILY` in the `family.py` of its package, or an internal
    one."""
    if name in INNER:
        inner: Family = load(INNER[name])
        return inner
    if name not in task_names():
        raise ConfigError(f"unknown task '{name}'; known: {', '.join(task_names())}")
    family: Family = load(f"{FAMILIES}.{name.replace('-', '_')}.family:FAMILY")
    return family
