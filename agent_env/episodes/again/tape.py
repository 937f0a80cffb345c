"""A recorded episode, step by step, and the seams that play it back.

`RecordedModel` and `RecordedToolbox` replace the live ones and compare each request with the
recorded one; a difference is a Drift, and a strict tape stops at the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff

from agent_env.episodes.calls.recording import RequestDigest
from agent_env.episodes.trace.fold import gave_nothing, own_events, trajectory
from agent_env.errors import EpisodeError, ModelError, ReplayError
from agent_env.graph.fitting import Fit
from agent_env.protocols import (
    Answer,
    CallTool,
    Model,
    ReplyOptions,
    RunTools,
    Say,
    Strategy,
    Toolbox,
)
from agent_env.records.schema import Message, Reply, Sample, ToolCall, ToolResult, ToolSpec, Usage
from agent_env.records.trace_events import (
    Drift,
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    ModelCalled,
    ToolCalled,
)


@dataclass(frozen=True, slots=True)
class Step:
    """One reply and the tool results that followed it."""

    call: ModelCalled
    reply: Reply
    results: tuple[ToolCalled, ...]
    """In the order of their arrival."""
    at: int
    """Index of the call among the events."""
    tools: tuple[ToolSpec, ...]
    """The tools offered then."""
    wasted: tuple[Usage, ...] = ()
    """Known usages of the calls before it without a reply."""


@dataclass(frozen=True, slots=True)
class Recording:
    """The replies and results of a trace, without failed calls."""

    events: tuple[Event, ...]
    start: EpisodeStarted
    steps: tuple[Step, ...]
    tools: tuple[ToolSpec, ...]
    """The tools offered last."""
    end: EpisodeFinished | EpisodeFailed | None

    @classmethod
    def of(cls, events: Sequence[Event]) -> Recording:
        """ReplayError for a trace without `episode_started`."""
        events = own_events(events)
        start = events[0] if events else None
        if not isinstance(start, EpisodeStarted):
            raise ReplayError("the trace does not begin with episode_started")
        steps: list[Step] = []
        tools, wasted = start.tools, list[Usage]()
        for at, event in enumerate(events):
            if isinstance(event, EpisodeResumed):
                tools = tools if event.tools is None else event.tools
            elif isinstance(event, ModelCalled) and event.reply is not None:
                steps.append(Step(event, event.reply, (), at, tools, tuple(wasted)))
                wasted = []
            elif isinstance(event, ModelCalled):
                wasted += [event.usage] if event.usage is not None else []
            elif isinstance(event, ToolCalled) and not gave_nothing(event) and steps:
                steps[-1] = replace(steps[-1], results=(*steps[-1].results, event))
        last_event = events[-1]
        end = last_event if isinstance(last_event, EpisodeFinished | EpisodeFailed) else None
        return cls(tuple(events), start, tuple(steps), tools, end)

    @property
    def kept(self) -> tuple[Mapping[str, int], ...]:
        """Of each step, the tool outputs that were sent cut."""
        return tuple(step.call.kept or {} for step in self.steps)

    @property
    def results(self) -> Iterator[tuple[str, ToolResult]]:
        """The tools that were called, and what the model read."""
        return ((event.call.name, event.result) for step in self.steps for event in step.results)

    def sent(self, step: Step) -> tuple[Message, ...]:
        """The messages that the step's reply answers."""
        whole = trajectory(self.events[: step.at + 1])[:-1]
        return Fit([step.call.kept or {}]).sent(whole, 0)


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
            self.note(self.played, "request", self._request_diff(step, messages))
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
        """The tools offered at the next step."""
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

    def _request_diff(self, step: Step, messages: Sequence[Message]) -> str:
        before, now = self.recording.sent(step), tuple(messages)
        found = text_diff(_lines(before), _lines(now))
        return found or "the texts are the same; tools, options or a provider's own items are not"


class RecordedFailure(EpisodeError):
    """The recorded episode ended here too."""


class RecordedModel:
    """Returns the recorded replies, then those of `beyond`, if any."""

    def __init__(
        self,
        tape: Tape,
        beyond: Model | None = None,
        count: Callable[[Usage], None] = lambda usage: None,
    ) -> None:
        self._tape = tape
        self._beyond = beyond
        self._count = count
        """Called with the usages of recorded calls without a reply."""

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
        return await self._beyond.generate(messages, tools, options)


class RecordedToolbox:
    """Returns the recorded results; after the last recorded step `beyond` runs the call."""

    def __init__(
        self,
        tape: Tape,
        beyond: Toolbox | None = None,
        as_recorded: bool = False,
    ) -> None:
        self._tape = tape
        self._beyond = beyond
        self._as_recorded = as_recorded
        """Whether the recorded tools are offered until the live ones take over."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        if self._beyond is None or (self._as_recorded and not self._tape.ended):
            return self._tape.tools
        return self._beyond.specs

    async def run(self, call: ToolCall, offered: frozenset[str]) -> ToolResult:
        recorded = self._tape.result_of(call)
        if recorded is not None:
            return recorded.result
        if self._beyond is not None and self._tape.ended:
            return await self._beyond.run(call, offered)
        if not self._tape.ended:
            self._tape.note(self._tape.played, "tools", f"{call.name} was not called then")
        if self._beyond is None:
            raise self._tape.stop()
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
