"""Going on with a run: what is no longer as it was when it began, and an episode resumed after its
last complete event.

Recorded replies and tool results are reused. Only stateful tools are called again: code runs in a
new session, and its output is compared with the recorded one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from agent_env.episodes.calls.caller import RequestDigest
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
from agent_env.errors import DatasetError, EpisodeError, ModelError, ReplayError
from agent_env.protocols import (
    Answer,
    CallTool,
    Limits,
    Model,
    ReplyOptions,
    RunTools,
    Say,
    Strategy,
    Toolbox,
)
from agent_env.records.manifest import Manifest
from agent_env.records.safe_files import replace_file
from agent_env.records.schema import Message, Reply, Sample, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.records.trace_events import (
    Drift,
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    ToolCalled,
)
from agent_env.tasks.features import changes_of_features, settings_to_compare
from agent_env.tasks.tool_registry import traits_of


def changes(
    folder: RunFolder, manifest: Manifest, wished: Manifest, versions: Mapping[str, str]
) -> list[str]:
    """One line for each difference between the run as recorded, in its manifest and its
    unfinished traces, and as it would continue; empty where there is none. A value that the run did
    not record is not compared."""
    lines = _version_changes(manifest, wished, versions)
    lines += changes_of_features(manifest.features, wished.features)
    lines += _setting_changes(_settings(manifest), _settings(wished))
    for start in _unfinished(folder):
        begun: dict[str, Any] = {"model": start.model}
        begun |= {f"limit {k}": v for k, v in (start.limits or {}).items()}
        settings = _settings(wished)  # an older run's do not have the limits that came since
        lines += _setting_changes(begun, {name: settings.get(name, begun[name]) for name in begun})
    return list(dict.fromkeys(lines))


COMPARED = {
    "model", "model_parameters", "limits", "former_urls", "versions", "changes", "plugins",
    "features",
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
        **{f"model {name}": value for name, value in manifest.model_parameters.items()},
        **{f"limit {name}": value for name, value in manifest.limits.items()},
        **{
            f"feature {name}": settings_to_compare(name, its)
            for name, its in manifest.features.items()
        },
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
            aside = self.folder.set_aside(key)
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
        self.folder.set_aside(key)
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


class Tape:
    """The position in a Recording during a replay, and the differences so far."""

    def __init__(
        self,
        recording: Recording,
        *,
        steps: int | None = None,
        strict: bool = True,
        check_requests: bool = True,
    ) -> None:
        self.recording = recording
        self.drift: list[Drift] = []
        self.played = 0
        """Replies given so far."""
        self._steps = recording.steps[:steps]
        self._strict = strict
        self._check_requests = check_requests
        self._digest = RequestDigest()
        self._results: list[ToolCalled] = []

    @property
    def ended(self) -> bool:
        """Whether all replies were replayed; tool results of the last may remain."""
        return self.played == len(self._steps)

    def next_step(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Step | None:
        """The step that answers this request; None after the last."""
        if self.ended:
            return None
        step = self._steps[self.played]
        self.played += 1
        self._results = list(step.results)
        request = self._digest.of(messages, tools, options)
        taken_over = step.call.replayed  # asked by the parent, with its tools and its seed
        if self._check_requests and not taken_over and request != step.call.request:
            diff = text_diff(_lines(self.recording.sent(step)), _lines(messages))
            diff = diff or text_diff(specs_text(step.tools), specs_text(tools))
            reason = "texts and tools are the same; options or a provider's own items are not"
            self.note(self.played, "request", diff or reason)
        return step

    def result_of(self, call: ToolCall) -> ToolCalled | None:
        """The recorded result of this call of the current step; each is given once."""
        for event in self._results:
            if event.call == call:
                self._results.remove(event)
                return event
        return None

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools offered at the next step; an outside agent, which tells the model of
        them and of its own, gets those of the episode."""
        if self.recording.start.condition.agent is not None:
            return self.recording.start.tools
        return self.recording.tools if self.ended else self._steps[self.played].tools

    def note(self, step: int, what: str, diff: str) -> None:
        """Notes a difference; a strict tape raises ReplayError."""
        self.drift.append(Drift(step=step, what=what, diff=diff))
        if self._strict:
            episode = self.recording.start.episode
            raise ReplayError(f"{episode}: step {step}: the {what} differs from the recording")

    def stop(self) -> BaseException:
        """The exception after the last recorded step, by the recorded end."""
        end = self.recording.end
        if isinstance(end, EpisodeFinished) and end.stop_reason == "time":
            return TimeoutError()  # the loop takes it for its own
        if isinstance(end, EpisodeFinished) and end.stop_reason == "context":
            return ModelError("the recorded conversation was too long", kind="context_overflow")
        if isinstance(end, EpisodeFailed):
            return RecordedFailure(f"{end.error}: {end.message}")
        if end is None:
            return RecordedFailure("the recording was cut off here")
        return ReplayError(f"step {self.played + 1} was not recorded")


class RecordedFailure(EpisodeError):
    """The recorded episode ended here too."""


class RecordedModel:
    """Returns the recorded replies, then those of `beyond`, if any."""

    def __init__(
        self,
        tape: Tape,
        beyond: Model | None = None,
        count: Callable[[Usage], None] = lambda usage: None,
        go_live: Callable[[], None] = lambda: None,
    ) -> None:
        """Calls `count` with the usages of recorded calls without a reply, `go_live` before each
        live call."""
        self._tape, self._beyond = tape, beyond
        self._count, self._go_live = count, go_live

    @property
    def name(self) -> str:
        return self._beyond.name if self._beyond else self._tape.recording.start.model

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        step = self._tape.next_step(messages, tools, options)
        if step is not None:
            for usage in step.wasted:
                self._count(usage)
            return step.reply
        if self._beyond is None:
            raise self._tape.stop()
        self._go_live()
        return await self._beyond.generate(messages, tools, options)


class RecordedToolbox:
    """Returns the recorded results; after the last recorded step `beyond` runs the call."""

    def __init__(
        self,
        tape: Tape,
        beyond: Toolbox | None = None,
        as_recorded: bool = False,
        go_live: Callable[[], None] = lambda: None,
    ) -> None:
        """`as_recorded`: the recorded tools are offered until the live ones take over; `go_live` is
        called before each live call."""
        self._tape, self._beyond = tape, beyond
        self._as_recorded, self._go_live = as_recorded, go_live

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        if self._beyond is None or (self._as_recorded and not self._tape.ended):
            return self._tape.tools
        return self._beyond.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        recorded = self._tape.result_of(call)
        if recorded is not None:
            return recorded.result
        if not self._tape.ended:
            self._tape.note(self._tape.played, "tools", f"{call.name} was not called then")
        if self._beyond is None:
            raise self._tape.stop()
        self._go_live()
        return await self._beyond.run(call, offered)


class TapeClock:
    """An episode's seconds of work: stopped during the replay, then continued from the recorded
    value."""

    def __init__(self, tape: Tape, used_s: float, clock: Callable[[], float] = time.monotonic):
        self._tape = tape
        self._used_s = used_s
        self._clock = clock
        self._live_since: float | None = None
        self._begun = False

    def __call__(self) -> float:
        if not self._begun:  # the loop's first look: what all later ones are counted from
            self._begun = True
            return 0.0
        if not self._tape.ended:
            return 0.0
        if self._live_since is None:
            self._live_since = self._clock()
        return self._used_s + self._clock() - self._live_since


def text_diff(before: str, now: str) -> str:
    """A unified diff of two texts, recorded and now; empty for equal texts."""
    lines = unified_diff(before.splitlines(), now.splitlines(), "recorded", "now", "", "", 2, "")
    return "\n".join(lines)


def specs_text(specs: Sequence[ToolSpec]) -> str:
    """Tools as lines, to be compared."""
    return "\n".join(spec.model_dump_json(indent=1) for spec in specs)


def _lines(messages: Sequence[Message]) -> str:
    parts: list[str] = []
    for message in messages:
        parts.append(f"[{message.role}] {message.content}")
        parts += [f"  calls {call.name} {call.arguments}" for call in message.tool_calls]
        if message.reasoning:
            parts.append(f"[reasoning] {message.reasoning}")
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class RecordedStart:
    """A strategy with the first messages of the parent of a fork."""

    inner: Strategy
    messages: tuple[Message, ...]

    def start(self, sample: Sample) -> tuple[Message, ...]:
        return self.messages

    def next(self, messages: Sequence[Message]) -> RunTools | CallTool | Say | Answer:
        return self.inner.next(messages)


def with_recorded_start(strategy: Strategy, recording: Recording) -> Strategy:
    """The strategy, with the parent's first messages in a fork."""
    start = recording.start
    return strategy if start.parent is None else RecordedStart(strategy, start.messages)
