"""What there is of a kind, by name: what `agent-env list` shows."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from typing import Any

from agent_env.errors import ConfigError
from agent_env.registry import PluginEntry, Registry, load_path
from agent_env.wiring.registry import registries, registry_of
from agent_env.wiring.trust import own_call


@dataclass(frozen=True, slots=True)
class Listed:
    """One object that can be named."""

    name: str
    origin: str
    """`agent-env`, or a package with its version."""
    summary: str
    """One line; for a plug-in that cannot be used, why."""
    path: str

    def as_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "origin": self.origin,
            "summary": self.summary,
            "path": self.path,
        }


def listing(plural: str) -> list[Listed]:
    """Everything of the kind, ours first; imports it. ConfigError for an unknown kind."""
    if plural not in registries():
        raise ConfigError(f"no list of '{plural}'; there are {', '.join(registries())}")
    registry = registry_of(plural)
    return [_listed(registry, entry) for entry in registry.entries()]


def _listed(registry: Registry[Any], entry: PluginEntry) -> Listed:
    try:
        registry.load(registry.entry(entry.name), own_call())
        thing = load_path(entry.path)
        documented = getattr(thing, "__wrapped__", thing)
        has_docstring = inspect.isroutine(documented) or inspect.isclass(documented)
        text = inspect.getdoc(documented) if has_docstring else None
        module = sys.modules.get(entry.path.partition(":")[0])
        text = text or inspect.getdoc(module) or ""
        summary = " ".join(text.strip().split("\n\n")[0].split())
    except ConfigError as exc:
        summary = str(exc)
    origin = " ".join(part for part in (entry.package, entry.version) if part)
    return Listed(entry.name, origin, summary, entry.path)
