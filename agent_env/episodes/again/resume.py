"""Going on with an episode from its last complete event.

Recorded replies and tool results are used again and never asked for twice. Only what has a state of
its own is done again: code runs anew in a new session, and what it then says is held against what
it said before.
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


@dataclass(slots=True)
class ResumedEpisode:
    """An episode that goes on: its recording plays first, then the live seams take over."""

    tape: Tape
    trace: TraceWriter
    model_name: str
    used_s: float
    specs: tuple[ToolSpec, ...]
    """What the live tools offer."""
    drift: list[Drift] = field(default_factory=list)
    is_live: bool = False

    def model(self, live: Model, count: Callable[[Usage], None]) -> Model:
        """Recorded replies, then those of the live model; `count` hears what recorded calls used
        that failed."""
        return RecordedModel(self.tape, _LiveModel(live, self.go_live), count)

    def toolbox(self, live: Toolbox) -> Toolbox:
        """Recorded results, then those of the live tools."""
        is_fork = self.tape.recording.start.parent is not None
        return RecordedToolbox(self.tape, _LiveToolbox(live, self.go_live), as_recorded=is_fork)

    def clock(self) -> Callable[[], float]:
        """Counts the work, and neither the pause nor the replay."""
        return TapeClock(self.tape, self.used_s)

    def go_live(self) -> None:
        """Write, once, that what follows is new; an episode's end is new as well."""
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
    """Opens the traces of a run's episodes, new ones and those that go on."""

    folder: RunFolder
    run: str | None
    """The run's identity."""
    clock: Clock
    texts: Texts | None
    fsync: Fsync
    note: Callable[[str], None]
    """Hears of traces with defects."""

    def open(self, key: EpisodeKey) -> tuple[TraceWriter, Recording | None] | None:
        """The episode's trace, with what it holds already; None where it must be left alone."""
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
        """Keep the broken trace aside; go on from the events above the defect."""
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
    """The episode ready to go on behind what is recorded; what its code left behind is made again
    in the new session."""
    stateful = {
        traits.name for traits in traits_of(recording.start.condition) if traits.keeps_state
    }
    drift = await rebuild(recording.steps, live, stateful)
    tape = Tape(recording, strict=strict)
    used_s = worked_s(recording.events) if recording.steps else 0.0  # an outage is no work
    return ResumedEpisode(tape, trace, model_name, used_s, live.specs, drift)


async def rebuild(steps: Sequence[Step], live: Toolbox, stateful: Container[str]) -> list[Drift]:
    """Make the recorded calls of stateful tools again, in their order; what differs in the output.
    What ran before the session was last lost is left out: its state was lost then."""
    calls = [(number, event) for number, step in enumerate(steps, 1) for event in step.results]
    kept = [(number, event) for number, event in calls if event.call.name in stateful]
    begun = max((at for at, (_, e) in enumerate(kept, 1) if _lost_session(e)), default=0)
    drift: list[Drift] = []
    offered = frozenset(spec.name for spec in live.specs)
    for number, event in kept[begun:]:
        if event.call.name not in offered:
            continue
        result = await live.run(event.call, offered)
        if result.output != event.result.output:
            diff = text_diff(event.result.output, result.output)
            drift.append(Drift(step=number, what=event.call.name, diff=diff))
    return drift


def _lost_session(event: ToolCalled) -> bool:
    error = event.result.error or ""
    return error.startswith(("timeout", "crashed"))
