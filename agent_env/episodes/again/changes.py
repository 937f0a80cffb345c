"""What is no longer as it was when a run began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agent_env.episodes.run_folder import RunFolder, stored_as
from agent_env.episodes.trace.lines import is_finished, read_events
from agent_env.errors import DatasetError
from agent_env.protocols import Limits
from agent_env.records.manifest import Manifest
from agent_env.records.mcp import mcp_changes
from agent_env.records.trace_events import EpisodeStarted


def changes(
    folder: RunFolder, manifest: Manifest, wished: Manifest, versions: Mapping[str, str]
) -> list[str]:
    """One line for each difference between the run as recorded, in its manifest and its
    unfinished traces, and as it would go on; empty where there is none. A value that the run did
    not record is not compared."""
    found = [
        f"{name}: {manifest.versions[name]} → {now}"
        for name, now in versions.items()
        if manifest.versions.get(name, now) != now
    ]
    found += _plugins(manifest, wished)
    for before, now in zip(manifest.mcp, wished.mcp, strict=True):
        found += mcp_changes(before, now)
    found += _fields(_settings(manifest), _settings(wished))
    for start in _unfinished(folder):
        begun: dict[str, Any] = {"model": start.model}
        begun |= {f"limit {k}": v for k, v in (start.limits or {}).items()}
        settings = _settings(wished)  # an older run's do not have the limits that came since
        found += _fields(begun, {name: settings.get(name, begun[name]) for name in begun})
    return list(dict.fromkeys(found))


COMPARED = {
    "model", "model_parameters", "limits", "former_urls", "versions", "changes", "plugins", "mcp",
    "server",
}  # fmt: skip
"""Entries of run.json that are compared by their parts, or tell what was compared."""


def _plugins(manifest: Manifest, wished: Manifest) -> list[str]:
    """What is plugged in by another package, version or code."""
    before = {(use.kind, use.name): use for use in manifest.plugins}
    now = {(use.kind, use.name): use for use in wished.plugins}
    return [
        f"{kind} {name}: {use} → {now[kind, name]}"
        for (kind, name), use in before.items()
        if now.get((kind, name), use) != use
    ]


def _settings(manifest: Manifest) -> dict[str, Any]:
    return {
        **manifest.model_dump(mode="json", exclude=COMPARED),
        "model": manifest.model,
        **({} if manifest.server is None else manifest.server.settings),
        **{f"model {name}": value for name, value in manifest.model_parameters.items()},
        **{f"limit {name}": value for name, value in manifest.limits.items()},
    }


def _fields(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {_as_text(before.get(name))} → {_as_text(now.get(name))}"
        for name in dict.fromkeys([*before, *now])
        if before.get(name) != now.get(name)
    ]


def _as_text(value: Any) -> str:
    return "none" if value is None else str(value)


def _unfinished(folder: RunFolder) -> Iterable[EpisodeStarted]:
    """How the episodes began that were cut off or failed."""
    for trace in folder.traces():
        if is_finished(trace):
            continue
        try:
            events = read_events(trace).events
        except DatasetError:
            continue  # named when the episode is opened
        if events and isinstance(events[0], EpisodeStarted):
            yield events[0]


def limits_of(manifest: Manifest) -> Limits:
    """What an episode of the run may use. Runs from before the notice of few steps left had
    none."""
    return stored_as(Limits, {"notice": None} | manifest.limits, "limits")
