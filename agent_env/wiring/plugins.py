"""What a run's manifest names, and which of it is not ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from agent_env.errors import ConfigError
from agent_env.graph.strategies import STRATEGIES
from agent_env.permits import NOTHING, Permit
from agent_env.records.manifest import Manifest, PluginUse
from agent_env.registry import NO_OBJECTS, OBJECT, Objects, Plugins, Registry, use_of
from agent_env.sandbox.choose import SANDBOXES
from agent_env.tasks.features import FEATURES
from agent_env.tasks.scorers import METRICS, SCORERS
from agent_env.tasks.tool_registry import TOOLS
from agent_env.web.plugin import FETCHERS, HTTP
from agent_env.web.providers.catalogue import PROVIDERS
from agent_env.wiring.models import head_of, model_entry
from agent_env.wiring.registry import FAMILIES, MODELS

LIVE = ("live", "record")
"""Webs that ask a search provider and fetch pages."""


@dataclass(frozen=True, slots=True)
class Named:
    """Something that a manifest names and that is not built in."""

    registry: Registry[Any]
    name: str
    reference: str


def named_in(manifest: Manifest) -> list[Named]:
    """By whatever entry of run.json it is named, noted or not; each once."""
    noted = {(use.kind, use.name): use.reference for use in manifest.plugins}
    path_tools = [tool for each in manifest.conditions for tool in each.own_tools if tool.path]
    noted |= {(TOOLS.kind, tool.name): str(tool.path) for tool in path_tools}
    pairs: dict[tuple[str, str], Registry[Any]] = {
        (FAMILIES.kind, manifest.task): FAMILIES,
        (MODELS.kind, head_of(manifest.model)[0]): MODELS,
    }
    if manifest.web in LIVE:
        pairs |= {(PROVIDERS.kind, manifest.web_settings.search or ""): PROVIDERS}
        pairs |= {(FETCHERS.kind, manifest.web_settings.fetcher or HTTP): FETCHERS}
    pairs |= {(METRICS.kind, name): METRICS for name in manifest.metrics}
    pairs |= {(FEATURES.kind, name): FEATURES for name in manifest.features}
    if manifest.scorer is not None:
        pairs |= {(SCORERS.kind, manifest.scorer): SCORERS}
    if manifest.sandbox is not None:
        pairs |= {(SANDBOXES.kind, manifest.sandbox): SANDBOXES}
    pairs |= {(STRATEGIES.kind, each.strategy): STRATEGIES for each in manifest.conditions}
    of_sources = {t.name for each in manifest.conditions for t in each.own_tools if t.source}
    tools = (name for each in manifest.conditions for name in each.tools)
    pairs |= {(TOOLS.kind, name): TOOLS for name in tools if name not in of_sources}
    return [
        Named(registry, name, noted.get((kind, name), name))
        for (kind, name), registry in pairs.items()
        # that of a policy that another program plays leads to no code
        if (kind, name) in noted
        or (not registry.is_built_in(name) and (":" in name or name in registry.names()))
    ]


def uses_in(manifest: Manifest, permit: Permit) -> tuple[PluginUse, ...]:
    """What run.json is to note of its plug-ins as they are now; imports nothing. ConfigError where
    one is not there any more."""
    return tuple(_use(each, permit) for each in named_in(manifest))


def _use(named: Named, permit: Permit) -> PluginUse:
    if named.reference.startswith(OBJECT):
        return PluginUse(kind=named.registry.kind, name=named.name, reference=named.reference)
    return use_of(replace(named.registry.entry(named.reference), name=named.name), permit)


def report_changes(manifest: Manifest, permit: Permit, note: Callable[[str], None]) -> None:
    """Tells the user of each plug-in that is another one than when the run was made, as far as the
    permit covers them."""
    for each in named_in(manifest):
        before = Plugins(manifest.plugins).use(each.registry.kind, each.name)
        try:
            now = _use(each, permit)
        except ConfigError as exc:
            note(str(exc))
            continue
        if before is not None and before != now and now.digest is not None:
            note(f"changed since the run: {each.registry.kind} {each.name}: {before} → {now}")


def with_model(manifest: Manifest, model: str, objects: Objects = NO_OBJECTS) -> dict[str, Any]:
    """The entries of run.json for another model."""
    entry, name = model_entry(model, Plugins(objects=objects))
    uses = tuple(use for use in manifest.plugins if use.kind != MODELS.kind)
    if not entry.is_built_in:
        uses = (*uses, use_of(entry, NOTHING))  # its digest is noted once it is trusted
    return {"model": name, "plugins": uses}
