"""Moves long texts of events into the run's store, and back."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from agent_env.episodes.trace.texts import Texts
from agent_env.records.schema import Message, PageRef, ToolSpec
from agent_env.records.trace_events import (
    EpisodeStarted,
    Event,
    Judged,
    ToolCalled,
)

LONG = 400
"""Minimum characters of a text in the run's store instead of the trace."""

_messages: TypeAdapter[tuple[Message, ...]] = TypeAdapter(tuple[Message, ...])
_refs: TypeAdapter[tuple[PageRef, ...]] = TypeAdapter(tuple[PageRef, ...])
_specs: TypeAdapter[tuple[ToolSpec, ...]] = TypeAdapter(tuple[ToolSpec, ...])


def with_texts_stored(event: Event, texts: Texts) -> Event:
    """The event with its long texts in the store instead."""
    if isinstance(event, ToolCalled):
        return _with_call_stored(event, texts)
    if not isinstance(event, EpisodeStarted | Judged):
        return event
    moved: dict[str, str] = {}
    dumps = {"messages": _messages.dump_json(event.messages, exclude_none=True).decode()}
    if isinstance(event, EpisodeStarted):
        dumps["tools"] = _specs.dump_json(event.tools, exclude_none=True).decode()
    for name, text in dumps.items():
        if len(text) >= LONG:
            moved[name] = texts.put(text)
    return event.model_copy(update=dict.fromkeys(moved, ()) | {"texts": moved}) if moved else event


def _with_call_stored(event: ToolCalled, texts: Texts) -> ToolCalled:
    """Long arguments, mostly code, are in the reply too; so they are not written twice."""
    moved: dict[str, str] = {}
    update: dict[str, object] = {"texts": moved}
    short: dict[str, object] = {}
    result = event.result
    if len(result.output) >= LONG:
        moved["output"], short["output"] = texts.put(result.output), ""
    refs = _refs.dump_json(result.pages, exclude_none=True).decode()
    if len(refs) >= LONG:
        moved["pages"], short["pages"] = texts.put(refs), ()
    if (fault := result.fault) is not None and len(fault.true_output or "") >= LONG:
        moved["true_output"] = texts.put(fault.true_output or "")
        short["fault"] = fault.model_copy(update={"true_output": ""})
    if short:
        update["result"] = result.model_copy(update=short)
    if len(event.call.arguments) >= LONG:
        moved["arguments"] = texts.put(event.call.arguments)
        update["call"] = event.call.model_copy(update={"arguments": ""})
    return event.model_copy(update=update) if moved else event


def with_texts(event: Event, texts: Texts) -> Event:
    found = {name: texts.get(digest) for name, digest in (event.texts or {}).items()}
    fields: dict[str, Any] = {"texts": None}
    if isinstance(event, ToolCalled):
        result: dict[str, Any] = {k: found[k] for k in ("output",) if k in found}
        if "pages" in found:
            result["pages"] = _refs.validate_json(found["pages"])
        if "true_output" in found and event.result.fault is not None:
            fault = {"true_output": found["true_output"]}
            result["fault"] = event.result.fault.model_copy(update=fault)
        fields["result"] = event.result.model_copy(update=result)
        if "arguments" in found:
            fields["call"] = event.call.model_copy(update={"arguments": found["arguments"]})
    if isinstance(event, EpisodeStarted | Judged) and "messages" in found:
        fields["messages"] = _messages.validate_json(found["messages"])
    if isinstance(event, EpisodeStarted) and "tools" in found:
        fields["tools"] = _specs.validate_json(found["tools"])
    return event.model_copy(update=fields)
