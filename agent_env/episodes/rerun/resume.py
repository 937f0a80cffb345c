"""Going on with a run: what is no longer as it was when it began, and an episode resumed after its
last complete event.

Recorded replies and tool results are reused. Only stateful tools are called again: code runs in a
new session, and its output is compared with the recorded one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_env.episodes.rerun.tape import RecordedModel, RecordedToolbox, Tape, TapeClock, text_diff
from agent_env.episodes.run_folder import EpisodeKey, RunFolder, stored_as
from agent_env.episodes.trace.fold import Recording, Step, worked_s
from agent_env.episodes.trace.lines import (
    Clock,
    TraceError,
    TraceWriter,
    is_finished,
    read_events,
)
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import DatasetError
from agent_env.protocols import Limits, Model, Toolbox
from agent_env.records.manifest import Manifest
from agent_env.records.mcp import mcp_changes
from agent_env.records.safe_files import replace_file
from agent_env.records.schema import ToolSpec, Usage
from agent_env.records.trace_events import Drift, EpisodeResumed, EpisodeStarted
from agent_env.tasks.tool_registry import traits_of


def changes(
    folder: RunFolder, manifest: Manifest, wished: Manifest, versions: Mapping[str, str]
) -> list[str]:
    """One line for each difference between the run as recorded, in its manifest and its
    unfinished traces, and as it would go on; empty where there is none. A value that the run did
    not record is not compared."""
    lines = _version_changes(manifest, wished, versions)
    for before, now in zip(manifest.mcp, wished.mcp, strict=True):
        lines += mcp_changes(before, now)
    lines += _setting_changes(_settings(manifest), _settings(wished))
    for start in _unfinished(folder):
        begun: dict[str, Any] = {"model": start.model}
        begun |= {f"limit {k}": v for k, v in (start.limits or {}).items()}
        settings = _settings(wished)  # an older run's do not have the limits that came since
        lines += _setting_changes(begun, {name: settings.get(name, begun[name]) for name in begun})
    return list(dict.fromkeys(lines))


COMPARED = {
    "model", "model_parameters", "limits", "former_urls", "versions", "changes", "plugins", "mcp",
    "server",
}  # fmt: skip
"""Entries of run.json that are compared by their parts, or tell what was compared."""


def _version_changes(
    manifest: Manifest, wished: Manifest, versions: Mapping[str, str]
) -> list[str]:
    """Other versions of packages, and what is plugged in by another package, version or code."""
    lines = [
        f"{name}: {manifest.versions[name]} → {now}"
        for name, now in versions.items()
        if manifest.versions.get(name, now) != now
    ]
    before = {(use.kind, use.name): use for use in manifest.plugins}
    now = {(use.kind, use.name): use for use in wished.plugins}
    return lines + [
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


def _setting_changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """A line for each that differs."""
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
    """What an episode of the run may use."""
    return stored_as(Limits, manifest.limits, "limits")


@dataclass(slots=True)
class ResumedEpisode:
    """A resumed episode: first its recording is replayed, then the live seams take over."""

    tape: Tape
    trace: TraceWriter
    model_name: str
    used_s: float
    specs: tuple[ToolSpec, ...]
    """The live tools."""
    drift: list[Drift] = field(default_factory=list)
    is_live: bool = False
    in_waves: bool = False
    """Whether the run goes by batch: another wave is no resumption, where nothing has changed."""

    def model(self, live: Model, count: Callable[[Usage], None]) -> Model:
        """Recorded replies, then those of the live model; calls `count` with the usages of
        recorded calls that failed."""
        return RecordedModel(self.tape, live, count, self.go_live)

    def toolbox(self, live: Toolbox) -> Toolbox:
        """Recorded results, then those of the live tools."""
        is_fork = self.tape.recording.start.parent is not None
        return RecordedToolbox(self.tape, live, is_fork, self.go_live)

    def clock(self) -> Callable[[], float]:
        """The seconds of work, without pause and replay."""
        return TapeClock(self.tape, self.used_s)

    def go_live(self) -> None:
        """Writes once that the following events are new, the episode's end included."""
        if self.is_live:
            return
        self.is_live = True
        recording, drift = self.tape.recording, (*self.drift, *self.tape.drift)
        tools = None if self.specs == recording.tools else self.specs
        is_as_before = tools is None and not drift and self.model_name == recording.start.model
        if self.in_waves and is_as_before and recording.end is None:
            return
        self.trace.write(
            EpisodeResumed,
            steps=self.tape.played,
            model=self.model_name,
            tools=tools,
            drift=drift,
        )


@dataclass(frozen=True, slots=True)
class TraceOpener:
    """Opens the traces of a run's episodes, new and resumed ones."""

    folder: RunFolder
    run: str | None
    """The run's identity."""
    clock: Clock
    texts: Texts | None
    note: Callable[[str], None]
    """Called with a message on each defective trace."""

    def open(self, key: EpisodeKey) -> tuple[TraceWriter, Recording | None] | None:
        """The episode's trace and recording; None if it must be left alone."""
        path = self.folder.trace(key)
        if not os.path.lexists(path):
            return TraceWriter(path, key.name, self.clock, self.texts, sync=True), None
        try:
            return self._reopen(key)
        except TraceError as exc:
            if not exc.mendable:
                self.note(f"left alone: {exc}")
                return None
            path = self.folder.trace(key)
            aside = self.folder.set_aside(key, "broken")
            if not exc.sound.events:
                self.note(f"set aside, the episode is run anew: {exc}")
                return TraceWriter(path, key.name, self.clock, self.texts, sync=True), None
            self.note(f"goes on from the {len(exc.sound.events)} events above: {exc}")
            replace_file(path, aside.read_bytes()[: exc.sound.size])
            return self._reopen(key)

    def _reopen(self, key: EpisodeKey) -> tuple[TraceWriter, Recording | None]:
        path = self.folder.trace(key)
        writer, events = TraceWriter.reopen(path, self.clock, self.texts, sync=True)
        problem = self.folder.misfit(path, self.run, events)
        if problem is None and events:
            past = Recording.of(events)
            if past.start.messages:  # else its seams could not be opened; nothing was said yet
                return writer, past
        writer.close()
        if problem is not None:
            self.note(f"set aside, the episode is run anew: {problem}")
        self.folder.set_aside(key, "broken")
        return TraceWriter(path, key.name, self.clock, self.texts, sync=True), None


async def resume_episode(
    recording: Recording,
    trace: TraceWriter,
    live: Toolbox,
    model_name: str,
    strict: bool,
    in_waves: bool = False,
) -> ResumedEpisode:
    """The episode, ready to continue after its recording, with the state of its tools rebuilt in a
    new session."""
    stateful = {
        traits.name for traits in traits_of(recording.start.condition) if traits.keeps_state
    }
    drift = await rebuild(recording.steps, live, stateful)
    tape = Tape(recording, strict=strict)
    used_s = worked_s(recording.events) if recording.steps else 0.0  # an outage is no work
    return ResumedEpisode(tape, trace, model_name, used_s, live.specs, drift, in_waves=in_waves)


async def rebuild(steps: Sequence[Step], live: Toolbox, stateful: Container[str]) -> list[Drift]:
    """Repeats the recorded calls of stateful tools in order; returns differences of the output.
    Skips calls before the last loss of the session, whose state was lost too."""
    calls = [(number, event) for number, step in enumerate(steps, 1) for event in step.results]
    stateful_calls = [(number, event) for number, event in calls if event.call.name in stateful]
    errors = [event.result.error or "" for _, event in stateful_calls]
    losses = (at for at, e in enumerate(errors, 1) if e.startswith(("timeout", "crashed")))
    first = max(losses, default=0)
    drift: list[Drift] = []
    offered = frozenset(spec.name for spec in live.specs)
    for number, event in stateful_calls[first:]:
        if event.call.name not in offered:
            continue
        result = await live.run(event.call, offered)
        before = event.result.output
        if (fault := event.result.fault) is not None and fault.true_output is not None:
            before = fault.true_output
        if result.output != before:
            diff = text_diff(before, result.output)
            drift.append(Drift(step=number, what=event.call.name, diff=diff))
    return drift
