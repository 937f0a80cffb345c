"""Resumes an episode after its last complete event.

Recorded replies and tool results are reused. Only stateful tools are called again: code runs in a
new session, and its output is compared with the recorded one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field

from agent_env.episodes.again.tape import (
    RecordedModel,
    RecordedToolbox,
    Recording,
    Step,
    Tape,
    TapeClock,
    text_diff,
)
from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.trace.fold import worked_s
from agent_env.episodes.trace.lines import TraceError
from agent_env.episodes.trace.texts import Texts
from agent_env.episodes.trace.writer import Clock, Fsync, TraceWriter
from agent_env.protocols import Model, ReplyOptions, Toolbox
from agent_env.records.safe_files import replace_file
from agent_env.records.schema import Message, Reply, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.records.trace_events import Drift, EpisodeResumed, ToolCalled
from agent_env.tasks.tool_registry import traits_of
from agent_env.tools.faults import without_fault


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

    def model(self, live: Model, count: Callable[[Usage], None]) -> Model:
        """Recorded replies, then those of the live model; calls `count` with the usages of
        recorded calls that failed."""
        return RecordedModel(self.tape, _LiveModel(live, self.go_live), count)

    def toolbox(self, live: Toolbox) -> Toolbox:
        """Recorded results, then those of the live tools."""
        is_fork = self.tape.recording.start.parent is not None
        return RecordedToolbox(self.tape, _LiveToolbox(live, self.go_live), as_recorded=is_fork)

    def clock(self) -> Callable[[], float]:
        """The seconds of work, without pause and replay."""
        return TapeClock(self.tape, self.used_s)

    def go_live(self) -> None:
        """Writes once that the following events are new, the episode's end included."""
        if not self.is_live:
            self.is_live = True
            self.trace.write(
                EpisodeResumed,
                steps=self.tape.played,
                model=self.model_name,
                tools=None if self.specs == self.tape.recording.tools else self.specs,
                drift=(*self.drift, *self.tape.drift),
            )


class _LiveModel:
    def __init__(self, live: Model, before: Callable[[], None]) -> None:
        self._live, self._before, self.name = live, before, live.name

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        self._before()
        return await self._live.generate(messages, tools, options)


class _LiveToolbox:
    def __init__(self, live: Toolbox, before: Callable[[], None]) -> None:
        self._live, self._before, self.specs = live, before, live.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        self._before()
        return await self._live.run(call, offered)


@dataclass(frozen=True, slots=True)
class TraceOpener:
    """Opens the traces of a run's episodes, new and resumed ones."""

    folder: RunFolder
    run: str | None
    """The run's identity."""
    clock: Clock
    texts: Texts | None
    fsync: Fsync
    note: Callable[[str], None]
    """Called with a message on each defective trace."""

    def open(self, key: EpisodeKey) -> tuple[TraceWriter, Recording | None] | None:
        """The episode's trace and recording; None if it must be left alone."""
        path = self.folder.trace(key)
        if not os.path.lexists(path):
            return TraceWriter(path, key.name, self.clock, self.texts, self.fsync), None
        try:
            return self._reopen(key)
        except TraceError as exc:
            if not exc.mendable:
                self.note(f"left alone: {exc}")
                return None
            return self._mend(key, exc)

    def _reopen(self, key: EpisodeKey) -> tuple[TraceWriter, Recording | None]:
        path = self.folder.trace(key)
        writer, events = TraceWriter.reopen(path, self.clock, self.texts, self.fsync)
        problem = self.folder.misfit(path, self.run, events)
        if problem is None and events:
            past = Recording.of(events)
            if past.start.messages:  # else its seams could not be opened; nothing was said yet
                return writer, past
        writer.close()
        if problem is not None:
            self.note(f"set aside, the episode is run anew: {problem}")
        self.folder.set_aside(key, "broken")
        return TraceWriter(path, key.name, self.clock, self.texts, self.fsync), None

    def _mend(self, key: EpisodeKey, problem: TraceError) -> tuple[TraceWriter, Recording | None]:
        """Sets the broken trace aside; continues from the events above the defect."""
        path = self.folder.trace(key)
        aside = self.folder.set_aside(key, "broken")
        if not problem.sound.events:
            self.note(f"set aside, the episode is run anew: {problem}")
            return TraceWriter(path, key.name, self.clock, self.texts, self.fsync), None
        self.note(f"goes on from the {len(problem.sound.events)} events above: {problem}")
        replace_file(path, aside.read_bytes()[: problem.sound.size])
        return self._reopen(key)


async def resume_episode(
    recording: Recording,
    trace: TraceWriter,
    live: Toolbox,
    model_name: str,
    strict: bool,
) -> ResumedEpisode:
    """The episode, ready to continue after its recording, with the state of its tools rebuilt in a
    new session."""
    stateful = {
        traits.name for traits in traits_of(recording.start.condition) if traits.keeps_state
    }
    drift = await rebuild(recording.steps, live, stateful)
    tape = Tape(recording, strict=strict)
    used_s = worked_s(recording.events) if recording.steps else 0.0  # an outage is no work
    return ResumedEpisode(tape, trace, model_name, used_s, live.specs, drift)


async def rebuild(steps: Sequence[Step], live: Toolbox, stateful: Container[str]) -> list[Drift]:
    """Repeats the recorded calls of stateful tools in order; returns differences of the output.
    Skips calls before the last loss of the session, whose state was lost too."""
    calls = [(number, event) for number, step in enumerate(steps, 1) for event in step.results]
    stateful_calls = [(number, event) for number, event in calls if event.call.name in stateful]
    first = max((at for at, (_, e) in enumerate(stateful_calls, 1) if _lost_session(e)), default=0)
    drift: list[Drift] = []
    offered = frozenset(spec.name for spec in live.specs)
    for number, event in stateful_calls[first:]:
        if event.call.name not in offered:
            continue
        result = await live.run(event.call, offered)
        before = without_fault(event.result).output
        if result.output != before:
            diff = text_diff(before, result.output)
            drift.append(Drift(step=number, what=event.call.name, diff=diff))
    return drift


def _lost_session(event: ToolCalled) -> bool:
    error = event.result.error or ""
    return error.startswith(("timeout", "crashed"))
