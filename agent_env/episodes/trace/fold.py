"""Computes an Episode from the events of its trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from agent_env.episodes.calls.spending import token_totals
from agent_env.records.disturbance import CallFault
from agent_env.records.imported import ImportedResult
from agent_env.records.schema import Episode, Message, Repetition, Reply, Usage
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
        if _is_required(start):
            has_call = bool(replies[0].message.tool_calls or replies[0].usage.hosted_calls)
            is_cut = replies[0].finish_reason == "length"  # perhaps in the middle of a call
            fields["required_call"] = has_call or (None if is_cut else False)
    return fields


def _is_required(start: EpisodeStarted) -> bool:
    """Whether the first reply had to call a tool; false if no call could be answered."""
    limits = start.limits or {}
    possible = limits.get("tool_calls") != 0 and limits.get("steps") != 1
    offers = bool(start.condition.tools)  # their descriptions may be stored elsewhere
    return offers and possible and start.condition.first_step == "required"


def own_events(events: Iterable[Event]) -> list[Event]:
    """The episode's events, without the verdicts of judges."""
    return [event for event in events if not isinstance(event, Judged)]


def fold(all_events: Sequence[Event]) -> Episode:
    """The episode of the events, verdicts of judges included."""
    events = own_events(all_events)
    start = events[0] if events else None
    if not isinstance(start, EpisodeStarted):
        raise ValueError("a trace begins with episode_started")
    calls = [e for e in events if isinstance(e, ModelCalled) and e.reply is not None]
    tools = [e for e in events if isinstance(e, ToolCalled) and not gave_nothing(e)]
    totals = token_totals(events)
    episode = Episode(
        sample=start.sample,
        condition=start.condition.name,
        repeat=start.repeat,
        model=start.model,
        messages=trajectory(events),
        pages=tuple(ref for e in tools for ref in e.result.pages),
        faults=tuple(
            CallFault(call=e.call.id, tool=e.call.name, kind=its.kind, landed=its.landed)
            for e in tools
            if (its := e.result.fault) is not None
        ),
        steps=len(calls),
        tool_calls=len(tools),
        tool_errors=sum(e.result.error is not None for e in tools),
        tools=tuple(spec.name for spec in start.tools),
        hosted_calls=sum(_hosted_calls(e.reply.usage) for e in calls if e.reply is not None),
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cached_tokens=totals.cached_tokens,
        reasoning_tokens=totals.reasoning_tokens,
        failed_calls=totals.failed_calls,
        uncounted_calls=totals.uncounted_calls,
        cache_hits=totals.cache_hits,
        cut_outputs=len({n for call in calls for n in call.kept or ()}),
        invented_results=sum(
            e.reply.invented.count for e in calls if e.reply is not None and e.reply.invented
        ),
        saved_tokens=_saved(e.reply.repetition for e in calls if e.reply is not None),
        paid=totals.paid,
        charged=totals.charged,
        usage_sources=totals.sources,
        duration_s=worked_s(events),
        **first_call(start, [e.reply for e in calls if e.reply is not None]),
        judged=tuple(event.told for event in all_events if isinstance(event, Judged)),
        imported=start.imported,
        **_ending(events[-1]),
    )
    if start.imported is None:
        return episode
    return episode.model_copy(update=_told_sums(start.imported))


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
        elif isinstance(event, ToolCalled) and not gave_nothing(event):
            results[event.call.id] = Message(
                role="tool", tool_call_id=event.call.id, content=event.result.output
            )
        elif isinstance(event, ModelCalled) and event.reply is not None:
            messages.extend(results[i] for i in order if i in results)
            messages.extend(event.added)
            messages.append(event.reply.message)
            order, results = [call.id for call in event.reply.message.tool_calls], {}
        elif isinstance(event, EpisodeFinished | EpisodeFailed):
            messages.extend(results.pop(i) for i in order if i in results)
            messages.extend(event.added)
    messages.extend(results[i] for i in order if i in results)
    return tuple(messages)


def _hosted_calls(usage: Usage) -> int:
    """Number of calls of the provider's tools; a container is none."""
    return sum(n for kind, n in (usage.hosted_calls or {}).items() if kind != "container")


def _saved(loops: Iterable[Repetition | None]) -> int | None:
    """The sum over the streams that were cut; None where one of them is unknown."""
    saved = [loop.saved_tokens for loop in loops if loop is not None and loop.was_cut]
    return None if None in saved else sum(each or 0 for each in saved)


def gave_nothing(event: ToolCalled) -> bool:
    """Whether the call failed or was cancelled, so that the model read no result; in version 1
    such a call has an error and no output."""
    return event.ended is not None or (event.v == 1 and event.result.error is not None
                                       and not event.result.output)  # fmt: skip


def worked_s(events: Sequence[Event]) -> float:
    """Seconds from the first event to the last, without pauses, outages and judging."""
    events = own_events(events)
    at = [datetime.fromisoformat(event.at) for event in events]
    spans = (
        (after - before).total_seconds()
        for before, after, event in zip(at, at[1:], events[1:], strict=False)
        if not isinstance(event, EpisodeResumed)
    )
    away = (e.away_s or 0.0 for e in events if isinstance(e, ModelCalled))
    return max(0.0, round(sum(spans) - sum(away), 3))
