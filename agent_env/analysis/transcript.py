"""One episode in readable lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from agent_env.models.prices import cost_usd
from agent_env.schema import Message, ModelFacts, Usage
from agent_env.trace_events import (
    EpisodeFailed,
    EpisodeFinished,
    EpisodeResumed,
    EpisodeStarted,
    Event,
    Judged,
    ModelCalled,
    ToolCalled,
)

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # a page or model could steer a terminal


def transcript(
    events: Sequence[Event], full: bool = False, facts: ModelFacts | None = None
) -> Iterator[str]:
    """The episode's story, long texts cut unless `full`; calls cost what `facts` says."""
    width = None if full else 1200
    for event in events:
        match event:
            case EpisodeStarted():
                yield f"== {event.episode} · {event.model} · tools: {_tools(event)}"
                if event.parent is not None:
                    yield f"== forked from {event.parent.episode} at step {event.parent.step}"
                yield from (_message(message, width) for message in event.messages)
            case ModelCalled():
                yield from (_message(message, width) for message in event.added)
                yield _model_line(event, facts)
                if event.reply is not None:
                    yield _message(event.reply.message, width)
            case ToolCalled():
                yield _tool_lines(event, width)
            case EpisodeResumed():
                yield f"== went on here after {event.steps} recorded steps"
                yield from (
                    f"!! step {d.step}, {d.what}:\n{_cut(d.diff, width)}" for d in event.drift
                )
            case EpisodeFinished():
                yield f"== ended: {event.stop_reason}"
            case EpisodeFailed():
                yield f"== failed: {event.error}: {event.message}"
            case Judged():
                yield _judged(event, width)


def _judged(event: Judged, width: int | None) -> str:
    told = ", ".join(f"{name} {value}" for name, value in event.verdict.items())
    replies = [call.reply.message.content for call in event.calls if call.reply is not None]
    return "\n".join([f"== judged by {event.judge}: {told}", *(_cut(r, width) for r in replies)])


def _tools(event: EpisodeStarted) -> str:
    return ", ".join(tool.name for tool in event.tools) or "none"


def _message(message: Message, width: int | None) -> str:
    lines = [f"[{message.role}] {_cut(message.content, width)}"]
    if message.reasoning:
        lines.insert(0, f"[reasoning] {_cut(message.reasoning, width)}")
    lines += [
        f"  calls {call.name} {_arguments(call.arguments, width)}" for call in message.tool_calls
    ]
    return "\n".join(lines)


def _arguments(text: str, width: int | None) -> str:
    """A single string argument as it is, others as JSON."""
    try:
        values = list(json.loads(text).values())
    except (ValueError, AttributeError):
        return _cut(text, width)
    if len(values) == 1 and isinstance(values[0], str):
        return _cut(values[0], width)
    return _cut(text, width)


def _model_line(event: ModelCalled, facts: ModelFacts | None) -> str:
    usage = event.reply.usage if event.reply else event.usage or Usage()
    tokens = f"{_known(usage.input_tokens)} in, {_known(usage.output_tokens)} out"
    source = f" ({usage.source})" if usage.source else ""
    cost = cost_usd(usage, facts)
    price = "" if cost is None else f", {cost:.5f} USD"
    problem = f" · failed: {event.error}" if event.error else ""
    if event.wait_s is not None:
        problem += f" · tried again after {event.wait_s:.1f} s"
    if event.reply is not None and event.reply.cached_at is not None:
        price, problem = "", f" · from the reply cache, first given {event.reply.cached_at}"
    return f"-- model: {event.latency_s:.3f} s, {tokens} tokens{source}{price}{problem}"


def _tool_lines(event: ToolCalled, width: int | None) -> str:
    size = f"{_known(event.output_tokens)} tokens"
    source = f" ({event.tokens_source})" if event.tokens_source else ""
    head = f"-- tool {event.call.name}: {event.duration_s:.3f} s, {size}{source}"
    return f"{head}\n{_cut(event.result.output, width)}"


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)


def _cut(text: str, width: int | None) -> str:
    """The text without control characters, its middle left out where it is very long."""
    text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    if width is None or len(text) <= width * 1.25:
        return text
    half = width // 2
    return f"{text[:half]}\n  … {len(text) - 2 * half} characters left out …\n{text[-half:]}"
