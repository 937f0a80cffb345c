"""What trace events tell: an Episode and its steps; `totals` adds up the tokens.

`runs/scores/running_scores` reads only the end of an episode by itself, as it does so after each
one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ReplayError
from agent_env.graph.meter import Fit
from agent_env.records.disturbance import CallFault
from agent_env.records.imported import ImportedResult
from agent_env.records.schema import (
    Episode,
    Message,
    Reply,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
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

WITH_TOOLS = ("provider", "server tokenizer")
"""Sources of counts that include the tools' descriptions; others count the messages."""


def first_call(start: EpisodeStarted, replies: Sequence[Reply]) -> dict[str, Any]:
    """Fields of an Episode, from its replies in order."""
    models = dict.fromkeys(reply.model for reply in replies if reply.model is not None)
    fields: dict[str, Any] = {"served_models": tuple(models)}
    if replies:
        if replies[0].usage.source in WITH_TOOLS:
            fields["first_input_tokens"] = replies[0].usage.input_tokens
        limits = start.limits or {}
        possible = limits.get("tool_calls") != 0 and limits.get("steps") != 1
        offers = bool(start.condition.tools)  # their descriptions may be stored elsewhere
        if offers and possible and start.condition.first_step == "required":
            first = replies[0]
            fields["required_call"] = bool(first.message.tool_calls or first.usage.hosted_calls)
    return fields


def without_verdicts(events: Iterable[Event]) -> list[Event]:
    """The episode's events, without the verdicts of judges."""
    return [event for event in events if not isinstance(event, Judged)]


def fold(all_events: Sequence[Event]) -> Episode:
    """The episode of the events, verdicts of judges included."""
    events = without_verdicts(all_events)
    start = events[0] if events else None
    if not isinstance(start, EpisodeStarted):
        raise ValueError("a trace begins with episode_started")
    calls = [e for e in events if isinstance(e, ModelCalled) and e.reply is not None]
    replies = [e.reply for e in calls if e.reply is not None]
    hosted = [call for reply in replies for call in (reply.usage.hosted_calls or {}).items()]
    loops = [reply.repetition for reply in replies if reply.repetition is not None]
    saved = [loop.saved_tokens for loop in loops if loop.was_cut]
    tools = [e for e in events if isinstance(e, ToolCalled) and not e.gave_nothing]
    totals = token_totals(events)
    episode = Episode(
        sample=start.sample,
        condition=start.condition.name,
        repeat=start.repeat,
        model=start.model,
        messages=trajectory(events),
        pages=tuple(ref for e in tools for ref in e.result.pages),
        faults=tuple(
            CallFault(call=e.call.id, tool=e.call.name, kind=fault.kind, landed=fault.landed)
            for e in tools
            if (fault := e.result.fault) is not None
        ),
        steps=len(calls),
        tool_calls=len(tools),
        tool_errors=sum(e.result.error is not None for e in tools),
        tools=tuple(spec.name for spec in start.tools),
        hosted_calls=sum(n for kind, n in hosted if kind != "container"),
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cached_tokens=totals.cached_tokens,
        repeated_tokens=None if totals.cached_tokens is None else _repeated(replies),
        reasoning_tokens=totals.reasoning_tokens,
        failed_calls=totals.failed_calls,
        uncounted_calls=totals.uncounted_calls,
        cache_hits=totals.cache_hits,
        cut_outputs=len({n for call in calls for n in call.kept or ()}),
        renamed_calls=sum(
            call.written_name is not None for each in replies for call in each.message.tool_calls
        ),
        invented_results=sum(reply.invented.count for reply in replies if reply.invented),
        repairs=sum(e.call.problem is not None for e in tools),
        own_calls=_own_calls(start, replies, tools),
        saved_tokens=None if None in saved else sum(each or 0 for each in saved),
        paid=totals.paid,
        tiers=tiers(replies),
        charged=totals.charged,
        usage_sources=totals.sources,
        duration_s=worked_s(events),
        **first_call(start, replies),
        judged=tuple(event.as_verdict for event in all_events if isinstance(event, Judged)),
        imported=start.imported,
        **_ending(events[-1]),
    )
    if start.imported is None:
        return episode
    return episode.model_copy(update=_told_sums(start.imported))


def _own_calls(start: EpisodeStarted, replies: Sequence[Reply], tools: Sequence[ToolCalled]) -> int:
    if start.condition.agent is None:
        return 0
    ours = {event.call.id for event in tools}
    asked = (call.id for reply in replies for call in reply.message.tool_calls)
    return sum(id_ not in ours for id_ in asked)


def _repeated(replies: Sequence[Reply]) -> int | None:
    counts = [reply.usage.input_tokens for reply in replies]
    return total(
        None if one is None or two is None else min(one, two) for one, two in pairwise(counts)
    )


def _told_sums(imported: ImportedResult) -> dict[str, float | None]:
    """What the source counts by episode; it may know more calls than its transcript shows."""
    sums = {
        name: round(value)
        for name, value in imported.used.items()
        if name not in ("cost_usd", "duration_s")
    }
    return {**sums, "duration_s": imported.used.get("duration_s")}


def _ending(last: Event) -> dict[str, Any]:
    if isinstance(last, EpisodeFinished):
        return {
            "status": "finished",
            "answer": last.answer,
            "stop_reason": last.stop_reason,
            "citations": last.citations,
        }
    if isinstance(last, EpisodeFailed):
        return {"status": "failed", "failure": f"{last.error}: {last.message}"}
    return {"status": "unfinished"}


def trajectory(events: Iterable[Event]) -> tuple[Message, ...]:
    """The messages in the order that the model saw."""
    messages: list[Message] = []
    results: dict[str, Message] = {}
    order: list[str] = []
    for event in events:
        if isinstance(event, EpisodeStarted):
            messages.extend(event.messages)
        elif isinstance(event, ToolCalled) and not event.gave_nothing:
            results[event.call.id] = Message(
                role="tool", tool_call_id=event.call.id, content=event.result.output
            )
        elif isinstance(event, ModelCalled) and event.reply is not None:
            messages = _sent(messages, [results[i] for i in order if i in results], event)
            messages.append(event.reply.message)
            order, results = [call.id for call in event.reply.message.tool_calls], {}
        elif isinstance(event, EpisodeFinished | EpisodeFailed):
            messages.extend(results.pop(i) for i in order if i in results)
            messages.extend(event.added)
    messages.extend(results[i] for i in order if i in results)
    return tuple(messages)


def _sent(
    messages: Sequence[Message], results: Sequence[Message], call: ModelCalled
) -> list[Message]:
    """What the call sent, of the conversation up to the last reply and the results behind it."""
    kept = [*messages, *results] if call.keeps is None else messages[: call.keeps]
    return [*kept, *call.added]


def worked_s(events: Sequence[Event]) -> float:
    """Seconds from the first event to the last, without pauses, outages, batches and judging."""
    events = without_verdicts(events)
    at = [datetime.fromisoformat(event.at) for event in events]
    spans = (
        (after - before).total_seconds()
        for before, after, event in zip(at, at[1:], events[1:], strict=False)
        if not isinstance(event, EpisodeResumed)
        and not (isinstance(event, ModelCalled) and event.batched)
    )
    away = (e.away_s or 0.0 for e in events if isinstance(e, ModelCalled))
    return max(0.0, round(sum(spans) - sum(away), 3))


@dataclass(frozen=True, slots=True)
class Step:
    """A model call that gave a reply, what came since the step before, and its tool calls."""

    number: int
    """From 1."""
    before: tuple[ModelCalled | EpisodeResumed, ...]
    """Calls without a reply, and resumptions."""
    call: ModelCalled
    reply: Reply
    at: int
    """Index of the call among the events."""
    tools: tuple[ToolSpec, ...]
    """The tools offered then."""
    called: tuple[ToolCalled, ...] = ()
    """In the order of their arrival, failed and cancelled ones too."""

    @property
    def results(self) -> tuple[ToolCalled, ...]:
        """The tool calls of which the model read something."""
        return tuple(event for event in self.called if not event.gave_nothing)

    @property
    def wasted(self) -> list[Usage]:
        """Known usages of the calls before it without a reply."""
        return usages_of([each for each in self.before if isinstance(each, ModelCalled)])

    @property
    def by_call(self) -> list[tuple[ToolCall, ToolCalled | None]]:
        """Each call with its last result, None where none was written; results that nobody asked
        for come last."""
        pairs: list[tuple[ToolCall, ToolCalled | None]]
        pairs = [(call, None) for call in self.reply.message.tool_calls]
        for event in self.called:
            for at, (call, done) in enumerate(pairs):
                if call.id == event.call.id and (done is None or done.ended is not None):
                    pairs[at] = event.call, event
                    break
            else:
                pairs.append((event.call, event))
        return pairs


@dataclass(frozen=True, slots=True)
class Recording:
    """The events of a trace as steps: what viewer, exports, replay, resume and fork read."""

    events: tuple[Event, ...]
    """Without the verdicts of judges."""
    start: EpisodeStarted
    steps: tuple[Step, ...]
    rest: tuple[ModelCalled | EpisodeResumed, ...]
    """What came after the last step's reply: calls without one, and resumptions."""
    tools: tuple[ToolSpec, ...]
    """The tools offered last."""
    end: EpisodeFinished | EpisodeFailed | None
    judged: tuple[Judged, ...] = ()

    @classmethod
    def of(cls, all_events: Sequence[Event]) -> Recording:
        """ReplayError for a trace without `episode_started`."""
        events = without_verdicts(all_events)
        judged = tuple(event for event in all_events if isinstance(event, Judged))
        start = events[0] if events else None
        if not isinstance(start, EpisodeStarted):
            raise ReplayError("the trace does not begin with episode_started")
        steps: list[Step] = []
        tools, before = start.tools, list[ModelCalled | EpisodeResumed]()
        for at, event in enumerate(events):
            if isinstance(event, EpisodeResumed):
                tools = tools if event.tools is None else event.tools
                before.append(event)
            elif isinstance(event, ModelCalled) and event.reply is not None:
                tools = tools if event.offers is None else event.offers
                step = Step(len(steps) + 1, tuple(before), event, event.reply, at, tools)
                steps.append(step)
                before = []
            elif isinstance(event, ModelCalled):
                before.append(event)
            elif isinstance(event, ToolCalled) and steps:
                steps[-1] = replace(steps[-1], called=(*steps[-1].called, event))
        last = events[-1]
        end = last if isinstance(last, EpisodeFinished | EpisodeFailed) else None
        return cls(tuple(events), start, tuple(steps), tuple(before), tools, end, judged)

    @classmethod
    def read(cls, trace: Path) -> Recording:
        """The same of a file."""
        return cls.of(read_trace(trace))

    @property
    def kept(self) -> tuple[Mapping[str, int], ...]:
        """Of each step, the tool outputs that were sent cut."""
        return tuple(step.call.kept or {} for step in self.steps)

    @property
    def results(self) -> Iterator[tuple[str, ToolResult]]:
        """The tools that were called, and what the model read."""
        return ((event.call.name, event.result) for step in self.steps for event in step.results)

    def messages_at(self, at: int) -> tuple[Message, ...]:
        """The messages, whole, of the model call at this place among the events."""
        before, call = trajectory(self.events[:at]), self.events[at]
        return tuple(_sent(before, (), call)) if isinstance(call, ModelCalled) else before

    def sent(self, step: Step) -> tuple[Message, ...]:
        """The messages that the step's reply answers, cut as they were sent."""
        return Fit([step.call.kept or {}]).sent(self.messages_at(step.at), 0)

    @property
    def episode(self) -> Episode:
        """What it comes to, with the verdicts of judges."""
        return fold((*self.events, *self.judged))


@dataclass(frozen=True, slots=True)
class TokenTotals:
    """Tokens of all model calls of an episode."""

    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    failed_calls: int
    uncounted_calls: int
    cache_hits: int
    paid: Usage
    """Of the calls that cost money."""
    charged: Usage
    """Tokens charged to the run's limits for calls of unknown usage."""
    sources: tuple[str, ...]


def token_totals(events: Iterable[Event]) -> TokenTotals:
    """The sums over all model calls among the events."""
    calls = [event for event in events if isinstance(event, ModelCalled)]
    failures = [call for call in calls if call.reply is None]
    usages = usages_of(calls)
    return TokenTotals(
        input_tokens=total(u.input_tokens for u in usages),
        output_tokens=total(u.output_tokens for u in usages),
        cached_tokens=total(u.cached_tokens for u in usages),
        reasoning_tokens=total(u.reasoning_tokens for u in usages),
        failed_calls=len(failures),
        uncounted_calls=sum(call.usage is None for call in failures),
        cache_hits=sum(c.reply is not None and c.reply.cached_at is not None for c in calls),
        paid=_totals(usages_of(_paid_calls(calls))),
        charged=_totals([c.charged for c in _paid_calls(calls) if c.charged is not None]),
        sources=tuple(sorted({u.source for u in usages if u.source is not None})),
    )


def usages_of(calls: Sequence[ModelCalled]) -> list[Usage]:
    """The known usages of replies and failed calls."""
    usages = [call.reply.usage if call.reply is not None else call.usage for call in calls]
    return [usage for usage in usages if usage is not None]


def charges(events: Iterable[Event]) -> tuple[list[Usage], list[Usage]]:
    """What the run's limits count: usages of the paid calls, and tokens held for failed calls of
    unknown usage."""
    paid = _paid_calls(events)
    reserves = [c.charged for c in paid if c.charged is not None and c.reply is None]
    used = [c.charged or u for c in paid if c.charged is None or c.reply for u in usages_of([c])]
    return used, reserves


def _paid_calls(events: Iterable[Event]) -> list[ModelCalled]:
    calls = [e for e in events if isinstance(e, ModelCalled) and not e.replayed]
    return [c for c in calls if c.reply is None or c.reply.cached_at is None]


def _totals(usages: Sequence[Usage]) -> Usage:
    tiers = list(dict.fromkeys(usage.tier for usage in usages))
    parts = [_totals([u for u in usages if u.tier == tier]) for tier in tiers if len(tiers) > 1]
    return Usage(
        input_tokens=total(u.input_tokens for u in usages),
        cached_tokens=total(u.cached_tokens for u in usages),
        cache_write_tokens=_told(u.cache_write_tokens for u in usages),
        hour_cache_write_tokens=_told(u.hour_cache_write_tokens for u in usages),
        output_tokens=total(u.output_tokens for u in usages),
        reasoning_tokens=total(u.reasoning_tokens for u in usages),
        tier=tiers[0] if len(tiers) == 1 else None,
        by_tier=tuple(parts),
    )


def _told(values: Iterable[int | None]) -> int | None:
    """The sum of those that are told, which few servers do; None where none is."""
    told = [value for value in values if value is not None]
    return sum(told) if told else None


STANDARD = "standard"
"""The tier of replies that name no other."""


def tiers(replies: Sequence[Reply]) -> dict[str, int]:
    """Replies by service tier; empty where all are of the standard one."""
    counts = Counter(reply.usage.tier or STANDARD for reply in replies if reply.cached_at is None)
    return {} if set(counts) <= {STANDARD} else dict(sorted(counts.items()))


def total(values: Iterable[int | None]) -> int | None:
    """The sum; None if any value is."""
    sum_ = 0
    for value in values:
        if value is None:
            return None
        sum_ += value
    return sum_
