"""An episode as a conversation: its events as steps; episodes of one sample side by side, aligned
by step; and bars of tokens and time over the steps, as numbers for SVG.

Lengths of bars are attributes and not styles, so that the pages need no inline style.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from agent_env.sdk.errors import EpisodeError
from agent_env.sdk.models import read_arguments
from agent_env.sdk.records import Message, ModelFacts, ToolCall, Usage
from agent_env.sdk.trace import (
    EpisodeResumed,
    Event,
    ModelCalled,
    Recording,
    ToolCalled,
)


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call with its result."""

    call: ToolCall
    done: ToolCalled | None
    """None where no result has been written (yet)."""
    is_own: bool = False
    """Whether a tool of an outside agent answers it, whose results are not recorded."""

    @property
    def arguments(self) -> tuple[tuple[str, str], ...]:
        """By name; a single entry with an empty name where they are no JSON object."""
        return arguments(self.call)

    @property
    def output(self) -> str | None:
        return None if self.done is None else self.done.result.output

    @property
    def identity(self) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What makes it the same call as another."""
        return self.call.name, tuple(sorted(self.arguments))


@dataclass(frozen=True, slots=True)
class StepView:
    """A model call with what came before it and the tool calls that it asked for."""

    number: int
    before: tuple[ModelCalled | EpisodeResumed, ...]
    model: ModelCalled | None = None
    """None where no reply has come (yet)."""
    calls: tuple[CallView, ...] = ()
    sent: tuple[Message, ...] = ()
    """What was put in before it, without results of tools that are shown with their calls."""
    cost_usd: float | None = None
    starts_s: float = 0.0
    """Seconds since the episode began, pauses left out."""

    @property
    def said(self) -> list[str]:
        """What the harness noted before it, such as that the episode was resumed."""
        resumed = [event for event in self.before if isinstance(event, EpisodeResumed)]
        return [words for event in resumed for words in _resumed(event)]

    @property
    def failures(self) -> list[ModelCalled]:
        """Attempts that gave no reply."""
        return [event for event in self.before if isinstance(event, ModelCalled)]

    @property
    def usage(self) -> Usage | None:
        return self.model.reply.usage if self.model and self.model.reply else None

    @property
    def model_s(self) -> float:
        return (self.model.latency_s or 0.0) if self.model else 0.0

    @property
    def tools_s(self) -> float:
        return sum(call.done.duration_s or 0.0 for call in self.calls if call.done is not None)


@dataclass(frozen=True, slots=True)
class Story:
    """A whole episode."""

    recording: Recording
    steps: list[StepView]

    @property
    def cost_usd(self) -> float | None:
        """None where any step's is unknown."""
        costs = [step.cost_usd for step in self.steps if step.cost_usd is not None]
        return sum(costs) if costs and len(costs) == len(self.steps) else None


def story(events: Sequence[Event], facts: ModelFacts | None) -> Story | None:
    """The events as a conversation; None where there is no beginning."""
    try:
        recording = Recording.of(events)
    except EpisodeError:
        return None
    times = _times(recording.events)
    shown = {event.call.id for step in recording.steps for event in step.called}
    is_by_agent = recording.start.condition.agent is not None
    steps = [
        StepView(
            step.number,
            step.before,
            step.call,
            tuple(
                CallView(call, done, done is None and is_by_agent) for call, done in step.by_call
            ),
            tuple(m for m in step.call.added if m.tool_call_id not in shown),
            step.call.paid_usd(facts),
            _began(step.call, times[step.at]),
        )
        for step in recording.steps
    ]
    if recording.rest:
        first = recording.rest[0]
        at = next(n for n, event in enumerate(recording.events) if event is first)
        steps.append(StepView(len(steps) + 1, recording.rest, starts_s=_began(first, times[at])))
    return Story(recording, steps)


def _began(event: ModelCalled | EpisodeResumed, ended_s: float) -> float:
    return max(0.0, ended_s - (getattr(event, "latency_s", None) or 0.0))


def _resumed(event: EpisodeResumed) -> list[str]:
    notices = [f"Went on here after {event.steps} recorded steps."]
    if event.model is not None:
        notices.append(f"From here on the model is {event.model}.")
    notices += [f"Drift at step {d.step}, {d.what}:\n{d.diff}" for d in event.drift]
    return notices


def arguments(call: ToolCall) -> tuple[tuple[str, str], ...]:
    """Strings as they are, all else as JSON."""
    values = read_arguments(call.arguments)
    if values is None:
        return (("", call.arguments),)
    return tuple(
        (name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in values.items()
    )


def _times(events: Sequence[Event]) -> list[float]:
    """Of each event, the seconds since the first, without the pauses before the episode was
    resumed."""
    at = [datetime.fromisoformat(event.at) for event in events]  # read_trace has checked them
    pauses = [isinstance(event, EpisodeResumed) for event in events]
    steps = zip(at, at[1:], pauses[1:], strict=False)
    spans = (0.0 if is_pause else max(0.0, (b - a).total_seconds()) for a, b, is_pause in steps)
    return list(accumulate(spans, initial=0.0))


@dataclass(frozen=True, slots=True)
class ComparedSteps:
    number: int
    steps: tuple[StepView | None, ...]
    """None for an episode that has ended before."""
    same: bool
    """Whether all of them made the same calls, with the same results, or none made any."""


def aligned(stories: Sequence[Story | None]) -> list[ComparedSteps]:
    """A line per step of the longest."""
    longest = max((len(story.steps) for story in stories if story is not None), default=0)
    lines = []
    for i in range(longest):
        steps = tuple(
            story.steps[i] if story is not None and i < len(story.steps) else None
            for story in stories
        )
        lines.append(ComparedSteps(i + 1, steps, len({_doing(step) for step in steps}) == 1))
    return lines


def parted_at(lines: Sequence[ComparedSteps]) -> int | None:
    """The first step that is not the same in all; None where all are."""
    return next((line.number for line in lines if not line.same), None)


def _doing(step: StepView | None) -> object:
    """What is compared: calls with results, or the text where nothing is called."""
    if step is None or step.model is None or step.model.reply is None:
        return None
    if step.calls:
        return tuple((call.identity, call.output) for call in step.calls)
    return step.model.reply.message.content


HEIGHT = 60.0


@dataclass(frozen=True, slots=True)
class BarSegment:
    """One rectangle."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bar:
    step: int
    x: float
    width: float
    words: str
    parts: tuple[BarSegment, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """All steps beside each other."""

    width: float
    bars: tuple[Bar, ...]
    most: str
    """What the full height stands for."""


def token_chart(steps: Sequence[StepView]) -> Chart | None:
    """Input tokens (cached ones apart) with output on top; None where none is known."""
    figures = [_tokens(step) for step in steps]
    most = max((sum(f for _, f in figure) for figure in figures), default=0.0)
    if most <= 0:
        return None
    words = [
        f"step {step.number}: {_number(usage.input_tokens)} in, {_number(usage.output_tokens)} out"
        for step in steps
        for usage in (step.usage or Usage(),)
    ]
    return _chart(steps, figures, most, words, f"{most:,.0f} tokens")


def time_chart(steps: Sequence[StepView]) -> Chart | None:
    """Seconds in the model with those in tools on top; None where there are none."""
    figures = [[("model", step.model_s), ("tool", step.tools_s)] for step in steps]
    most = max((sum(f for _, f in figure) for figure in figures), default=0.0)
    if most <= 0:
        return None
    words = [
        f"step {step.number}: model {step.model_s:.3f} s, tools {step.tools_s:.3f} s"
        for step in steps
    ]
    return _chart(steps, figures, most, words, f"{most:.3g} s")


def _tokens(step: StepView) -> list[tuple[str, float]]:
    if (usage := step.usage) is None:
        return []
    cached = usage.cached_tokens or 0
    fresh = max(0, (usage.input_tokens or 0) - cached)
    return [("cached", cached), ("input", fresh), ("output", usage.output_tokens or 0)]


def _chart(
    steps: Sequence[StepView],
    figures: Sequence[Sequence[tuple[str, float]]],
    most: float,
    words: Sequence[str],
    full: str,
) -> Chart:
    wide = min(48.0, max(6.0, 720.0 / max(1, len(steps))))
    bars = []
    for i, step in enumerate(steps):
        x, top, parts = i * wide, HEIGHT, []
        for kind, figure in figures[i]:
            height = round(HEIGHT * figure / most, 2)
            if height > 0:
                top -= height
                parts.append(
                    BarSegment(kind, round(x + 0.5, 2), round(top, 2), round(wide - 1, 2), height)
                )
        bars.append(Bar(step.number, round(x, 2), round(wide, 2), words[i], tuple(parts)))
    return Chart(round(wide * len(steps), 2), tuple(bars), full)


def _number(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"
