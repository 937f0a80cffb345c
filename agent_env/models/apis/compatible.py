"""The Chat Completions API, as vLLM, llama.cpp, Ollama and many proxies speak it.

What a server says beside the documented fields goes back to it (provider_fields, dialect).

The output limit goes out as `max_tokens`: Ollama and others ignore `max_completion_tokens`
without a word. A server that asks for the other name, as OpenAI's does for reasoning models, gets
that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from agent_env.models.api import Api, Exchange, Fault, RequestParts, openai_request
from agent_env.models.chat import (
    OUR_CALL,
    OUR_FUNCTION,
    Json,
    chat_message,
    chat_tool,
    fields_of,
    ids_in,
    merged,
    reasoning_in,
    record,
    records,
    text,
    text_in,
    unique_id,
    without_excess,
    written,
)
from agent_env.models.settings import SERVICE_TIERS
from agent_env.models.usage import read_usage
from agent_env.records.schema import Message, Reply, ToolCall

FinishReason = Literal["stop", "tool_calls", "length", "refused"]
FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refused",
}


def _conversation(parts: RequestParts) -> Json:
    messages = parts.dialect.ordered(parts.messages)
    return {"messages": [_sent(each, parts) for each in messages]}


def _settings(parts: RequestParts) -> Json:
    chosen, refused = parts.parameters, parts.dialect.rules.refused
    schema = parts.options.schema
    named: Json = {"name": "answer", "strict": True, "schema": dict(schema or {})}
    response_format: Json = {"type": "json_schema", "json_schema": named}
    limit = "max_completion_tokens" if "max_tokens" in refused else "max_tokens"
    begun = parts.messages[-1].role == "assistant"  # a prefill, for servers that continue from one
    return {
        "seed": chosen.seed_of(parts.options),
        limit: chosen.max_output_tokens,
        "stop": None if "stop" in refused else list(parts.options.stop) or None,
        "reasoning_effort": chosen.reasoning_effort,
        "response_format": None if schema is None else response_format,
        "continue_final_message": True if begun else None,
        "add_generation_prompt": False if begun else None,
    }


def _sent(message: Message, parts: RequestParts) -> Json:
    fields, of_calls = parts.dialect.fields(message)
    is_system = message.role == "system"
    role: Json = {"role": parts.parameters.system_role} if is_system else {}
    return chat_message(message, of_calls) | role | fields


def _reply(body: Json, exchange: Exchange) -> Reply | Fault:
    choices = records(body, "choices")
    if not choices or not record(choices[0], "message"):
        return Fault(what="sent no choice with a message", answer=body)
    if choices[0].get("error"):
        return Fault(choices[0]["error"], answer=body)
    message = record(choices[0], "message")
    taken = ids_in(exchange.messages)
    sent_calls: list[tuple[ToolCall, Json]] = []
    for wanted in records(message, "tool_calls"):
        function = record(wanted, "function")
        id_ = unique_id(text(wanted, "id"), taken, len(exchange.messages))
        taken.add(id_)
        arguments = written(function.get("arguments"))
        call = ToolCall(id=id_, name=text(function, "name"), arguments=arguments)
        sent_calls.append((call, wanted))
    calls, reasoning = tuple(call for call, _ in sent_calls), reasoning_in(message)
    reply_message = Message(
        role="assistant",
        content=text_in(message.get("content")) or text(message, "refusal"),
        tool_calls=calls,
        reasoning=reasoning,
        provider_fields=fields_of(
            message, sent_calls, reasoning, exchange.origin, exchange.left_out
        ),
    )
    cited = (record(note, "url_citation") for note in records(message, "annotations"))
    return Reply(
        message=reply_message,
        finish_reason=_finish_reason(choices[0], message, calls),
        usage=read_usage(record(body, "usage"), "prompt_tokens", "completion_tokens"),
        model=text(body, "model") or None,
        citations=tuple(dict.fromkeys(url for note in cited if (url := text(note, "url")))),
    )


def _whole(chunks: Sequence[Json]) -> Json | Fault:
    """The body that the server would have sent in one piece."""
    choices = [choice for chunk in chunks for choice in records(chunk, "choices")[:1]]
    deltas = [record(choice, "delta") for choice in choices]
    extras = [
        {n: delta[n] for n in delta if n not in ("content", "tool_calls")} for delta in deltas
    ]
    joined = merged([*extras, {}])
    message: Json = joined if isinstance(joined, dict) else {}
    message["content"] = _joined_content([delta.get("content") for delta in deltas])
    pieces = [piece for delta in deltas for piece in records(delta, "tool_calls")]
    calls: list[_Call] = []
    latest: dict[str, _Call] = {}
    for piece in pieces:
        index, id_ = str(piece.get("index")), text(piece, "id")
        call = latest.get(index)
        if call is None or (id_ and call.id and id_ != call.id):  # Gemini leaves the index out
            call = latest[index] = _Call()
            calls.append(call)
        call.id = call.id or id_
        call.name = call.name or text(record(piece, "function"), "name")
        call.arguments.append(written(record(piece, "function").get("arguments")))
        call.pieces.append(piece)
    message["tool_calls"] = [_whole_call(call) for call in calls]
    reasons = [text(choice, "finish_reason") for choice in choices]
    usages = [record(chunk, "usage") for chunk in chunks if record(chunk, "usage")]
    reason = next(filter(None, reversed(reasons)), "")
    body: Json = {
        "model": next((text(chunk, "model") for chunk in chunks), ""),
        "choices": [{"message": message, "finish_reason": reason}],
        "usage": usages[-1] if usages else None,
    }
    return body if reason else Fault(answer=body)


def _joined_content(pieces: Sequence[JsonValue]) -> JsonValue:
    """Text where it came as text; a list where any of it came in parts."""
    if not any(isinstance(piece, list) for piece in pieces):
        return "".join(piece for piece in pieces if isinstance(piece, str))
    lists: list[JsonValue] = []
    for piece in pieces:
        if isinstance(piece, str) and piece:
            lists.append([{"type": "text", "text": piece}])
        elif isinstance(piece, list):
            lists.append(piece)
    return merged([*lists, []])


@dataclass(slots=True)
class _Call:
    """A tool call of which pieces still come in."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    pieces: list[Json] = field(default_factory=list)


def _whole_call(call: _Call) -> JsonValue:
    functions = [record(piece, "function") for piece in call.pieces]
    ours: Json = {"name": call.name, "arguments": "".join(call.arguments)}
    return {
        **_merged_except(call.pieces, OUR_CALL),
        "id": call.id,
        "function": _merged_except(functions, OUR_FUNCTION) | ours,
    }


def _merged_except(pieces: Sequence[Json], known: frozenset[str]) -> Json:
    extras = merged([{n: each[n] for n in each if n not in known} for each in pieces])
    return extras if isinstance(extras, dict) else {}


def _take_excess_out(answer: Json) -> Json:
    """Of the first choice's message; gives what was taken out, with the reason."""
    choices = records(answer, "choices")
    if not choices or not record(choices[0], "message"):
        return {}
    choices[0]["message"], left_out = without_excess(record(choices[0], "message"))
    return dict(left_out)


def _finish_reason(choice: Json, message: Json, calls: tuple[ToolCall, ...]) -> FinishReason | None:
    if text(message, "refusal"):
        return "refused"
    reason = FINISH_REASONS.get(text(choice, "finish_reason"))
    return "tool_calls" if calls and reason in (None, "stop") else reason


API = Api(
    path="/chat/completions",
    request=openai_request(_conversation, chat_tool, _settings),
    whole=_whole,
    reply=_reply,
    stream_fields={"stream_options": {"include_usage": True}, "stream": True},
    cut=lambda events: {"choices": [{"delta": {}, "finish_reason": "repetition"}]},
    take_excess_out=_take_excess_out,
    key_variable="COMPATIBLE_API_KEY",
    batches="openai",
    tiers=SERVICE_TIERS,
)


def read_reply(answer: Json, heard: Sequence[Message], origin: str) -> Reply:
    """What an answer of this API says after these messages. It has a choice with a message."""
    left_out = _take_excess_out(answer)
    reply = _reply(answer, Exchange({}, heard, origin, left_out))
    assert isinstance(reply, Reply)
    return reply
