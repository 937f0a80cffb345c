"""POST /v1/chat/completions, as documented by OpenAI; reasoning as the mode's provider sends it.

A stream has texts in slices, lists of blocks item by item, calls first without arguments and then
with slices of them, anything else at once. Thinking blocks come as litellm sends them: in pieces
without index, each twice, and the signature with an empty text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_env.extensions.fake_server.conversation import (
    Answer,
    Call,
    Json,
    ModelRequest,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    slices,
    text_of,
    turn_of,
    usage_of,
)
from agent_env.extensions.fake_server.modes import Mode
from agent_env.extensions.fake_server.request_options import held, request_of, schema_in
from agent_env.extensions.fake_server.validation import check_chat, check_turns, format_for

LAST = ("refusal", "content", "annotations", "tool_calls")


def deltas(message: Json, whole_calls: bool) -> Iterator[Json]:
    """The pieces; with `whole_calls` each call is one piece without index, as Gemini sends it."""
    first = [name for name in message if name not in ("role", *LAST)]
    yield {"role": "assistant", "content": ""} | {n: None for n in first if message[n] is None}
    if "thinking_blocks" in message:
        yield from map(_repeated, _pieces_of("thinking_blocks", message["thinking_blocks"]))
        first = []
    for name in (*first, *LAST[:2]):
        yield from _pieces_of(name, message.get(name))
    if message.get("annotations"):
        yield {"annotations": message["annotations"]}
    for index, call in enumerate(message.get("tool_calls") or ()):
        if whole_calls:
            yield {"tool_calls": [call]}
        else:
            yield from _pieces_of_call(index, call)


def _pieces_of(name: str, value: Any) -> Iterator[Json]:
    match value:
        case None:
            return
        case str():
            yield from ({name: piece} for piece in slices(value))
        case [dict(), *_]:
            for block in value:
                yield from ({name: [piece]} for piece in _pieces_of_block(block))
        case _:
            yield {name: value}


def _repeated(delta: Json) -> Json:
    """A piece of thinking blocks, as litellm writes it three times."""
    text = delta["thinking_blocks"][0].get("thinking")
    plain = {} if text is None else {"reasoning_content": text}
    return plain | delta | {"provider_specific_fields": delta}


def _pieces_of_block(block: Json) -> Iterator[Json]:
    name = next((n for n in ("text", "thinking") if n in block), None)
    if name is None:
        yield block
        return
    late = {each: value for each, value in block.items() if each == "signature"}
    frame = {each: value for each, value in block.items() if each not in (name, *late)}
    if isinstance(block[name], list):
        for inner in block[name]:
            yield from (frame | {name: [piece]} for piece in _pieces_of_block(inner))
        return
    for piece in slices(block[name]):
        yield frame | {name: piece}
    if late:
        yield frame | ({name: ""} if name == "thinking" else {}) | late


def _pieces_of_call(index: int, call: Json) -> Iterator[Json]:
    function = call["function"]
    bare = call | {"function": function | {"arguments": ""}}
    yield {"tool_calls": [{"index": index} | bare]}
    for piece in slices(function["arguments"]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


class ChatApi:
    """Reads requests and writes replies of this API, by the rules of a mode."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def read(self, body: Object) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        messages, options = body.get("messages"), body.get("stream_options") or {}
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "messages must be a list that is not empty", "messages")
        turns = tuple(read_turn(message) for message in messages)
        tools = body.get("tools") or ()
        offers = [_offer(tool) for tool in tools]
        request = request_of(body, turns, tools, offers, "max_completion_tokens", "max_tokens")
        check_turns(self._mode, turns)
        check_chat(self._mode, body, request.choice)
        reasoning_format = format_for(self._mode, body)
        is_ignored = self._mode.forced_choice == "ignored" and request.choice != "none"
        gaps = self._mode.has_gaps and reasoning_format is not None
        return replace(
            held(request, self._mode, schema_in(self._mode, body)),
            stop=_stops(body.get("stop")),
            empty_reasoning={self._mode.field: None} if gaps else {},
            short_ids=self._mode.short_ids,
            caches=self._mode.cache != "none",
            wants_usage=options.get("include_usage", "stream_options" in self._mode.forbids)
            is True,
            choice="auto" if is_ignored else request.choice,
            copies=_copies(body.get("n")),
            thinks=reasoning_format is not None,
            reasoning_format=reasoning_format,
        )

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        if answer.hosted:
            raise Refusal(400, "this API has no hosted tools", "tools")
        end = {"logprobs": None, "finish_reason": _finish_reason(answer)}
        message = _message(request, answer)
        choices = [{"index": copy, "message": message} | end for copy in range(request.copies)]
        body = _envelope("chat.completion", request, number) | {"choices": choices}
        usage = usage_of(request, answer)
        return body if usage is None else body | {"usage": _usage(usage, self._mode)}

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        self.whole(request, answer, number)  # raises its Refusals before the first event
        envelope = _envelope("chat.completion.chunk", request, number)
        for copy in range(request.copies):
            for delta in deltas(_message(request, answer), self._mode.error_style == "gemini"):
                yield _event(envelope | {"choices": [_part(copy, delta, None)]})
            yield _event(envelope | {"choices": [_part(copy, {}, _finish_reason(answer))]})
        usage = usage_of(request, answer)
        if request.wants_usage and usage is not None:
            yield _event(envelope | {"choices": [], "usage": _usage(usage, self._mode)})
        yield b"data: [DONE]\n\n"


def read_turn(message: Object) -> Turn:
    """A message's turn; raises Refusal where the message is not as documented."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        return Turn("tool", text_of(content), call_id=str(message.get("tool_call_id")))
    calls = tuple(_read_call(call) for call in message.get("tool_calls") or ())
    return turn_of(role, content, "messages", calls)


def _read_call(call: Object) -> Call:
    function = call["function"]
    try:
        is_object = isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        is_object = False
    if not is_object:  # as vLLM and llama.cpp do
        raise Refusal(400, "tool call arguments are not a JSON object", "messages")
    return Call(function["name"], function["arguments"], call["id"])


def _offer(tool: Object) -> Offer:
    function = tool["function"]
    return Offer(function["name"], function.get("description", ""), function["parameters"])


def _envelope(kind: str, request: ModelRequest, number: int) -> Json:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": request.model}


def _copies(count: object) -> int:
    if count is None:
        return 1
    if type(count) is not int or not 1 <= count <= 128:
        raise Refusal(400, f"n is {count!r}; it is a number from 1 to 128", "n")
    return count


def _message(request: ModelRequest, answer: Answer) -> Json:
    refused = answer.finish == "refused"
    message: Json = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    }
    if answer.cited:
        message["annotations"] = [_citation(url) for url in answer.cited]
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    if answer.reasoning is None:
        return message | request.empty_reasoning
    if request.reasoning_format is None:
        return message | {"reasoning": answer.reasoning}
    return request.reasoning_format.write(message, answer.reasoning, request.nonce)


def _citation(url: str) -> Json:
    place = {"start_index": 0, "end_index": 0, "title": url, "url": url}
    return {"type": "url_citation", "url_citation": place}


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _finish_reason(answer: Answer) -> str:
    if answer.finish == "length":
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _stops(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if len(texts) > 4:
        raise Refusal(400, "Invalid 'stop': array too long. Expected at most 4 texts.", "stop")
    return tuple(text for text in texts if isinstance(text, str))


def _usage(tokens: Tokens, mode: Mode) -> Json:
    usage: Json = {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    }
    if tokens.cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": tokens.cached}
    if tokens.written is not None:
        usage["prompt_tokens_details"]["cache_write_tokens"] = tokens.written
    if tokens.written is not None and mode.cache == "litellm":
        usage["prompt_tokens_details"]["cache_creation_tokens"] = tokens.written
        usage["cache_creation_input_tokens"] = tokens.written
        usage["cache_read_input_tokens"] = tokens.cached
    if tokens.reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
    return usage


def _part(copy: int, delta: Json, finish_reason: str | None) -> Json:
    return {"index": copy, "delta": delta, "finish_reason": finish_reason}


def _event(chunk: Json) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
