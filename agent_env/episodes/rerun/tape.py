"""A recorded episode, step by step, and the seams that play it back.

`RecordedModel` and `RecordedToolbox` replace the live ones and compare each request with the
recorded one; a difference is a Drift, and a strict tape stops at the first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import unified_diff

from agent_env.episodes.calls.caller import RequestDigest
from agent_env.episodes.trace.fold import Recording, Step
from agent_env.errors import EpisodeError, ModelError, ReplayError
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
    ToolCalled,
)


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
        """The tools offered at the next step; an agent of somebody else, which tells the model of
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
