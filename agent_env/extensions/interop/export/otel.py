"""Runs as OpenTelemetry spans by the GenAI conventions, sent over OTLP (HTTP, protobuf).

A trace is an episode: a span `invoke_agent` with a span `chat` for each model call and a span
`execute_tool` for each tool call, at the times at which they happened. Identities are drawn from
the run's and the episode's, so what is sent twice is the same trace. What people and models wrote
is sent only where it is asked for. Span names and attributes are those of `SCHEMA_URL`.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent_env.extensions.interop.export.chat import storable
from agent_env.extensions.interop.export.source import EpisodeRecord, Source, harness
from agent_env.sdk.errors import ConfigError, StorageError
from agent_env.sdk.models import chat_tool, served_name
from agent_env.sdk.records import Message, Reply, Usage
from agent_env.sdk.trace import ModelCalled, ToolCalled

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

SCHEMA_URL = "https://opentelemetry.io/schemas/1.41.1"
"""The conventions for generative AI, development stage; from 1.42 on they stand in a repository of
their own, which has published no schema yet."""
AT_ONCE = 200
"""Spans of one request."""

Attributes = dict[str, str | int | float | bool | Sequence[str]]


@dataclass(frozen=True, slots=True)
class Collector:
    """Where spans are sent."""

    endpoint: str
    """Base URL; `/v1/traces` is put behind it unless it ends so."""
    content: bool = False
    """Whether messages, arguments and results are sent too."""

    @property
    def url(self) -> str:
        base = self.endpoint.rstrip("/")
        return base if base.endswith("/v1/traces") else f"{base}/v1/traces"


def send(source: Source, collector: Collector) -> dict[str, int]:
    """Send every episode; how many spans were taken. StorageError where the collector refuses."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    if not collector.url.startswith(("http://", "https://")):
        raise ConfigError(f"--endpoint {collector.endpoint}: write a URL, http://127.0.0.1:4318")
    exporter = OTLPSpanExporter(endpoint=collector.url)  # its headers, limits: OTEL_*
    sent = 0
    with _overheard() as said:
        try:
            for spans in _batches(source, collector.content):
                if exporter.export(spans) is not SpanExportResult.SUCCESS:
                    why = f": {said[0]}" if said else ""
                    raise StorageError(f"{collector.url} took {sent} spans and no more{why}")
                sent += len(spans)
        finally:
            exporter.shutdown()  # type: ignore[no-untyped-call]
    return {"spans": sent}


@contextmanager
def _overheard() -> Iterator[list[str]]:
    """What the exporter logs, instead of its printing it."""
    said: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    logger, ear = logging.getLogger("opentelemetry"), Ear()
    before = logger.propagate
    logger.addHandler(ear)
    logger.propagate = False
    try:
        yield said
    finally:
        logger.removeHandler(ear)
        logger.propagate = before


def _batches(source: Source, content: bool) -> Iterator[list[ReadableSpan]]:
    waiting: list[ReadableSpan] = []
    for record in source:
        waiting += spans_of(record, source, content)
        if len(waiting) >= AT_ONCE:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def spans_of(record: EpisodeRecord, source: Source, content: bool) -> list[ReadableSpan]:
    """The spans of one episode, the whole episode's first."""
    from opentelemetry.trace import SpanKind

    make = _SpanMaker(source, record)
    ok = record.episode.status == "finished"
    spans = [
        make.span(
            f"invoke_agent {harness(source.manifest)[0]}",
            record.events[0].at, record.events[-1].at, None,
            _agent(record, source) | (_messages(record) if content else {}),
            SpanKind.INTERNAL, None if ok else record.episode.failure or "unfinished",
            _scores(record),
        )
    ]  # fmt: skip
    for at, event in enumerate(record.events):
        if isinstance(event, ModelCalled):
            reply = event.reply
            attributes = _chat(event, source)
            if content and reply is not None:
                sent = record.recording.messages_at(at)
                attributes["gen_ai.input.messages"] = _as_json(sent)
                attributes["gen_ai.output.messages"] = _outputs([reply])
            name = f"chat {attributes['gen_ai.request.model']}"
            spans.append(
                make.span(
                    name, event.latency_s or 0.0, event.at, at, attributes, SpanKind.CLIENT,
                    event.error, error_kind=event.error_kind,
                )
            )  # fmt: skip
        elif isinstance(event, ToolCalled):
            name = f"execute_tool {event.call.name}"
            failed = event.result.error if event.gave_nothing or event.result.error else None
            spans.append(
                make.span(
                    name, event.duration_s or 0.0, event.at, at, _tool(event, content),
                    SpanKind.INTERNAL, failed,
                )
            )  # fmt: skip
    return spans


class _SpanMaker:
    """Makes spans that belong to one episode."""

    def __init__(self, source: Source, record: EpisodeRecord) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope

        self._identity = f"{source.run}/{record.name}"
        version = source.manifest.versions.get("agent-env", "unknown")
        self._resource = Resource(
            {"service.name": "agent-env", "service.version": version, "agent_env.run": source.run}
        )
        self._scope = InstrumentationScope("agent-env", version, SCHEMA_URL)

    def span(
        self,
        name: str,
        start: str | float,
        end: str,
        at: int | None,
        attributes: Attributes,
        kind: Any,
        problem: str | None,
        events: Sequence[Any] = (),
        error_kind: str | None = None,
    ) -> ReadableSpan:
        """`start` as a time, or in seconds before the end; `at` is None for the episode itself."""
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.trace import Status, StatusCode

        ended = _ns(end)
        began = _ns(start) if isinstance(start, str) else ended - int(start * 1e9)
        if problem is not None:
            attributes = attributes | {"error.type": error_kind or "_OTHER"}
        return ReadableSpan(
            name=name,
            context=self._context(at),
            parent=None if at is None else self._context(None),
            resource=self._resource,
            attributes=attributes,
            events=events,
            kind=kind,
            instrumentation_scope=self._scope,
            status=Status(StatusCode.UNSET if problem is None else StatusCode.ERROR, problem),
            start_time=began,
            end_time=max(began, ended),
        )

    def _context(self, at: int | None) -> Any:
        from opentelemetry.trace import SpanContext, TraceFlags

        trace, span = _id_of(self._identity, 16), _id_of(f"{self._identity}#{at}", 8)
        return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(1))


def _id_of(text: str, size: int) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:size], "big") or 1


def _ns(at: str) -> int:
    found = datetime.fromisoformat(at)
    return int(found.timestamp()) * 1_000_000_000 + found.microsecond * 1000


def _agent(record: EpisodeRecord, source: Source) -> Attributes:
    episode = record.episode
    found: dict[str, Any] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": _provider(episode.model),
        "gen_ai.agent.name": harness(source.manifest)[0],
        "gen_ai.conversation.id": f"{source.run}/{record.name}",
        "gen_ai.request.model": _model(episode.model),
        "gen_ai.response.finish_reasons": [episode.stop_reason] if episode.stop_reason else None,
        "agent_env.task": source.manifest.task,
        "agent_env.condition": episode.condition,
        "agent_env.sample": episode.sample,
        "agent_env.repeat": episode.repeat,
        "agent_env.steps": episode.steps,
        "agent_env.tool_calls": episode.tool_calls,
        "agent_env.outcome": record.score.outcome,
        **{f"agent_env.score.{name}": value for name, value in record.score.metrics.items()},
        **_usage(episode.usage),
    }
    return {name: value for name, value in found.items() if value is not None}


def _provider(model: str) -> str:
    kind, slash, _ = model.partition("/")
    return kind if slash else "agent-env"


def _model(model: str) -> str:
    return served_name(model) or model


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }


SENT = {
    "temperature": "temperature", "top_p": "top_p", "max_output_tokens": "max_tokens",
    "seed": "seed", "stream": "stream",
}  # fmt: skip


def _chat(event: ModelCalled, source: Source) -> Attributes:
    manifest, reply = source.manifest, event.reply
    usage = (event.usage if reply is None else reply.usage) or Usage()
    parameters: Mapping[str, Any] = manifest.model_parameters
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(manifest.model),
        "gen_ai.request.model": _model(manifest.model),
        **{f"gen_ai.request.{to}": parameters.get(name) for name, to in SENT.items()},
        "agent_env.attempt": event.attempt,
        "agent_env.usage_source": usage.source,
        **_usage(usage),
    }
    if reply is not None:
        found["gen_ai.response.model"] = reply.model
        if reply.finish_reason is not None:
            found["gen_ai.response.finish_reasons"] = [reply.finish_reason]
    return {name: value for name, value in found.items() if value is not None}


def _tool(event: ToolCalled, content: bool) -> Attributes:
    found: Attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.call.name,
        "gen_ai.tool.call.id": event.call.id,
        "gen_ai.tool.type": "function",
    }
    if content:
        found["gen_ai.tool.call.arguments"] = event.call.arguments
        found["gen_ai.tool.call.result"] = storable(event.result.output)
    return found


def _scores(record: EpisodeRecord) -> list[Any]:
    """One event for each metric, at the episode's end."""
    from opentelemetry.sdk.trace import Event

    return [
        Event(
            "gen_ai.evaluation.result",
            {
                "gen_ai.evaluation.name": name,
                "gen_ai.evaluation.score.value": value,
                "gen_ai.evaluation.score.label": record.score.outcome,
            },
            timestamp=_ns(record.events[-1].at),
        )
        for name, value in record.score.metrics.items()
    ]


def _messages(record: EpisodeRecord) -> Attributes:
    prompt = len(record.start.messages)
    replies = [step.reply for step in record.recording.steps]
    tools = [  # flat as the conventions ask, and nested as MLflow reads them
        {**tool, **tool["function"]} for tool in map(chat_tool, record.start.tools)
    ]
    return {
        "gen_ai.input.messages": _as_json(record.episode.messages[:prompt]),
        "gen_ai.output.messages": _outputs(replies[-1:]),
        "gen_ai.tool.definitions": json.dumps(tools),
    }


FINISHES = {"tool_calls": "tool_call", "refused": "content_filter", None: "unknown"}
"""Our finish reasons as the conventions have them, where they differ."""


def _outputs(replies: Sequence[Reply]) -> str:
    """Replies as the conventions' output messages, which tell why they end."""
    return json.dumps(
        [
            {
                "role": reply.message.role,
                "parts": _parts(reply.message),
                "finish_reason": FINISHES.get(reply.finish_reason, reply.finish_reason),
            }
            for reply in replies
        ]
    )


def _as_json(messages: Sequence[Message]) -> str:
    return json.dumps([{"role": m.role, "parts": _parts(m)} for m in messages])


def _parts(message: Message) -> list[dict[str, Any]]:
    if message.role == "tool":
        answer = {"id": message.tool_call_id, "response": message.content}
        return [{"type": "tool_call_response", **answer}]
    parts: list[dict[str, Any]] = []
    if message.reasoning:
        parts.append({"type": "reasoning", "content": message.reasoning})
    if message.content:
        parts.append({"type": "text", "content": message.content})
    for call in message.tool_calls:
        asked = {"id": call.id, "name": call.name, "arguments": call.arguments}
        parts.append({"type": "tool_call", **asked})
    return parts
