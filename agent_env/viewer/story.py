"""An episode as a conversation: its events as steps, ready to be shown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from agent_env.models.prices import cost_usd
from agent_env.records.model_facts import ModelFacts
from agent_env.records.schema import Message, PageRef, ToolCall
from agent_env.records.trace_events import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    Judged,
    ModelCalled,
    ToolCalled,
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call with its result."""

    call: ToolCall
    arguments: tuple[tuple[str, str], ...]
    """By name; a single entry with an empty name where they are no JSON object."""
    done: ToolCalled | None
    """None where no result has been written (yet)."""

    @property
    def output(self) -> str | None:
        return None if self.done is None else self.done.result.output

    @property
    def pages(self) -> tuple[PageRef, ...]:
        return () if self.done is None else self.done.result.pages

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What makes it the same call as another."""
        return self.call.name, tuple(sorted(self.arguments))


@dataclass(slots=True)
class Step:
    """A model call that gave a reply, with the tool calls it asked for; built up while reading."""

    number: int
    said: list[str] = field(default_factory=list)
    """What the harness noted before it, such as that the episode was resumed."""
    failures: list[ModelCalled] = field(default_factory=list)
    """Attempts that gave no reply."""
    model: ModelCalled | None = None
    """None where no reply has come (yet)."""
    calls: list[Call] = field(default_factory=list)
    cost_usd: float | None = None
    starts_s: float = 0.0
    """Seconds since the episode began, pauses left out."""

    @property
    def model_s(self) -> float:
        return (self.model.latency_s or 0.0) if self.model else 0.0

    @property
    def tools_s(self) -> float:
        return sum(call.done.duration_s or 0.0 for call in self.calls if call.done is not None)

    @property
    def input_tokens(self) -> int | None:
        usage = self.model.reply.usage if self.model and self.model.reply else None
        return None if usage is None else usage.input_tokens

    @property
    def output_tokens(self) -> int | None:
        usage = self.model.reply.usage if self.model and self.model.reply else None
        return None if usage is None else usage.output_tokens


@dataclass(frozen=True, slots=True)
class Story:
    """A whole episode."""

    start: EpisodeStarted
    opening: tuple[Message, ...]
    steps: list[Step]
    end: EpisodeFinished | EpisodeFailed | None
    """None where the episode goes on, or was cut off."""
    judged: list[Judged]

    @property
    def cost_usd(self) -> float | None:
        """None where any step's is unknown."""
        costs = [step.cost_usd for step in self.steps if step.cost_usd is not None]
        return sum(costs) if costs and len(costs) == len(self.steps) else None


def story(events: Sequence[Event], facts: ModelFacts | None) -> Story | None:
    """The events as a conversation; None where there is no beginning."""
    start = events[0] if events else None
    if not isinstance(start, EpisodeStarted):
        return None
    steps: list[Step] = []
    end: EpisodeFinished | EpisodeFailed | None = None
    judged: list[Judged] = []
    current = Step(1)
    clock = _Clock(start)
    for event in events[1:]:
        elapsed = clock.at(event)
        match event:
            case ModelCalled() if event.reply is not None:
                if current.model is not None:
                    current = Step(current.number + 1)
                current.model, current.starts_s = (
                    event,
                    max(0.0, elapsed - (event.latency_s or 0.0)),
                )
                free = event.reply.cached_at is not None
                current.cost_usd = 0.0 if free else cost_usd(event.reply.usage, facts)
                current.calls += [
                    Call(call, arguments(call), None) for call in event.reply.message.tool_calls
                ]
                steps.append(current)
            case ModelCalled():
                current = _open(current)
                current.failures.append(event)
            case ToolCalled():
                _place(event, current.calls)
            case EpisodeResumed():
                current = _open(current)
                current.said += _resumed(event)
            case EpisodeFinished() | EpisodeFailed():
                end = event
            case Judged():
                judged.append(event)
    if current.model is None and (current.failures or current.said):
        steps.append(current)
    return Story(start, start.messages, steps, end, judged)


def _open(step: Step) -> Step:
    """The step that has no reply yet: this one or the next."""
    return step if step.model is None else Step(step.number + 1)


def _place(event: ToolCalled, calls: list[Call]) -> None:
    """Put a result beside its call; one that nobody asked for comes last."""
    with_result = Call(event.call, arguments(event.call), event)
    for i, call in enumerate(calls):
        if call.call.id == event.call.id and (call.done is None or call.done.ended is not None):
            calls[i] = with_result
            return
    calls.append(with_result)


def _resumed(event: EpisodeResumed) -> list[str]:
    notices = [f"Went on here after {event.steps} recorded steps."]
    if event.model is not None:
        notices.append(f"From here on the model is {event.model}.")
    notices += [f"Drift at step {d.step}, {d.what}:\n{d.diff}" for d in event.drift]
    return notices


def arguments(call: ToolCall) -> tuple[tuple[str, str], ...]:
    """Strings as they are, all else as JSON."""
    try:
        values = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return (("", call.arguments),)
    if not isinstance(values, dict):
        return (("", call.arguments),)
    return tuple(
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    )


class _Clock:
    """Seconds since the first event, without the pauses before the episode was resumed."""

    def __init__(self, start: Event) -> None:
        self._last = _time(start)
        self._elapsed = 0.0

    def at(self, event: Event) -> float:
        now = _time(event)
        if now is not None and self._last is not None and not isinstance(event, EpisodeResumed):
            self._elapsed += max(0.0, (now - self._last).total_seconds())
        self._last = now or self._last
        return self._elapsed


def _time(event: Event) -> datetime | None:
    try:
        return datetime.fromisoformat(event.at)
    except ValueError:
        return None
