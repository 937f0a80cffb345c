"""Both model APIs as OpenAI documents them: requests are read, replies written, whole or streamed.

POST /v1/chat/completions has reasoning as the mode's provider sends it. A stream has texts in
slices, lists of blocks item by item, calls first without arguments and then with slices of them,
anything else at once. Thinking blocks come as litellm sends them: in pieces without index, each
twice, and the signature with an empty text.

POST /v1/responses stores nothing; hosted tools are played. As at the real server, reasoning without
its encrypted content is refused, and a reply holds that content only where the request's `include`
names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_env.extensions.fake_server.channel import HttpRequest
from agent_env.extensions.fake_server.conversation import (
    HostedCall,
    Json,
    ModelRequest,
    Object,
    Refusal,
    ScriptedAnswer,
    Tokens,
    slices,
    tool_call,
    usage_of,
)
from agent_env.extensions.fake_server.modes import Mode, check_reasoning, encrypt, item_id
from agent_env.extensions.fake_server.rules import (
    RESPONSES,
    check_chat,
    check_items,
    check_turns,
    format_for,
    held,
    refuse_unknown,
    request_of,
    schema_in,
)
from agent_env.sdk.models import chat_message, read_arguments, read_message, read_tool, text_in
from agent_env.sdk.records import Message, ToolCall, ToolSpec

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
        self.error_style = mode.error_style

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if self._mode.error_style == "mistral" and body.get("tool_choice") == "any":
            body = {**body, "tool_choice": "required"}  # Mistral's older word for it
        messages, options = body.get("messages"), body.get("stream_options") or {}
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "messages must be a list that is not empty", "messages")
        turns = tuple(read_turn(message) for message in messages)
        tools = body.get("tools") or ()
        offers = [_offer(tool, tool["function"], "function.") for tool in tools]
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

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json:
        """The reply in one piece."""
        if answer.hosted:
            raise Refusal(400, "this API has no hosted tools", "tools")
        end = {"logprobs": None, "finish_reason": _finish_reason(answer)}
        message = _chat_message(request, answer)
        choices = [{"index": copy, "message": message} | end for copy in range(request.copies)]
        body = _chat_envelope("chat.completion", request, number) | {"choices": choices}
        usage = usage_of(request, answer)
        return body if usage is None else body | {"usage": _chat_usage(usage, self._mode)}

    def stream(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        self.whole(request, answer, number)  # raises its Refusals before the first event
        envelope = _chat_envelope("chat.completion.chunk", request, number)
        for copy in range(request.copies):
            for delta in deltas(_chat_message(request, answer), self._mode.error_style == "gemini"):
                yield _event(envelope | {"choices": [_part(copy, delta, None)]})
            yield _event(envelope | {"choices": [_part(copy, {}, _finish_reason(answer))]})
        usage = usage_of(request, answer)
        if request.wants_usage and usage is not None:
            yield _event(envelope | {"choices": [], "usage": _chat_usage(usage, self._mode)})
        yield b"data: [DONE]\n\n"


def read_turn(message: Object, field: str = "messages") -> Message:
    """A message of the conversation; raises Refusal where it is not as documented."""
    for call in message.get("tool_calls") or ():
        _require(call, "id", "messages[].tool_calls[].id")
        _require(call["function"], "name", "messages[].tool_calls[].function.name")
        if read_arguments(call["function"]["arguments"]) is None:  # as vLLM and llama.cpp do
            raise Refusal(400, "tool call arguments are not a JSON object", "messages")
    turn = read_message(message)
    if turn is None:
        raise Refusal(400, f"role {message.get('role')!r} is unknown", field)
    return turn


def _chat_envelope(kind: str, request: ModelRequest, number: int) -> Json:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": request.model}


def _copies(count: object) -> int:
    if count is None:
        return 1
    if type(count) is not int or not 1 <= count <= 128:
        raise Refusal(400, f"n is {count!r}; it is a number from 1 to 128", "n")
    return count


def _chat_message(request: ModelRequest, answer: ScriptedAnswer) -> Json:
    refused = answer.finish == "refused"
    message: Json = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    }
    if answer.cited:
        message["annotations"] = [
            {"type": "url_citation", "url_citation": _place(url)} for url in answer.cited
        ]
    if answer.calls:
        calls = Message(role="assistant", tool_calls=tuple(answer.calls))
        message["tool_calls"] = chat_message(calls)["tool_calls"]
    if answer.reasoning is None:
        return message | request.empty_reasoning
    if request.reasoning_format is None:
        return message | {"reasoning": answer.reasoning}
    return request.reasoning_format.write(message, answer.reasoning, request.nonce)


def _place(url: str) -> Json:
    return {"start_index": 0, "end_index": 0, "title": url, "url": url}


def _finish_reason(answer: ScriptedAnswer) -> str:
    if answer.finish == "length":
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _stops(value: object) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [value]
    if len(texts) > 4:
        raise Refusal(400, "Invalid 'stop': array too long. Expected at most 4 texts.", "stop")
    return tuple(text for text in texts if isinstance(text, str))


def _chat_usage(tokens: Tokens, mode: Mode) -> Json:
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


HOSTED = ("web_search", "web_search_2025_08_26", "code_interpreter")
HOSTED_CALLS = ("web_search_call", "code_interpreter_call")


class ResponsesApi:
    """Reads requests and writes replies of this API."""

    def __init__(self, mode: Mode, hides_truncation: bool = False) -> None:
        self._mode = mode
        self.error_style = mode.error_style
        self._hides_truncation = hides_truncation

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if self._mode.strict_fields:
            refuse_unknown(body, RESPONSES)
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not isinstance(items, list) or not items:
            raise Refusal(400, "input must be text or a list that is not empty", "input")
        tools, instructions = body.get("tools") or (), body.get("instructions")
        turns = tuple(_turns_of(items))
        if isinstance(instructions, str):
            turns = (Message(role="system", content=instructions), *turns)
        check_items(turns)
        check_reasoning(items, is_required=self._mode.strict_fields)
        functions = [tool for tool in tools if tool.get("type") not in HOSTED]
        offers = [_offer(tool, tool) for tool in functions]
        request = request_of(body, turns, functions, offers, "max_output_tokens")
        return replace(
            held(request, self._mode, schema_in(self._mode, body)),
            thinks=self._mode.strict_fields,
            hosted=frozenset(_hosted(tool) for tool in tools if tool.get("type") in HOSTED),
            include=frozenset(body.get("include") or ()),
        )

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json:
        """The reply in one piece."""
        is_incomplete = answer.finish == "length" and not self._hides_truncation
        usage = usage_of(request, answer)
        if answer.finish == "length" and not is_incomplete:
            answer = replace(answer, finish=None)
        return _envelope(request, number) | {
            "status": "incomplete" if is_incomplete else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_incomplete else None,
            "output": _output(request, answer, number),
            "usage": None if usage is None else _response_usage(usage),
        }

    def stream(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for sequence, event in enumerate(self._events(request, answer, number)):
            data = json.dumps(event | {"sequence_number": sequence})
            yield f"event: {event['type']}\ndata: {data}\n\n".encode()

    def _events(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[Json]:
        opening = _envelope(request, number) | {"status": "in_progress", "output": []}
        yield {"type": "response.created", "response": opening}
        yield {"type": "response.in_progress", "response": opening}
        body = self.whole(request, answer, number)
        for index, item in enumerate(body["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            yield {
                "type": "response.output_item.added",
                "output_index": index,
                "item": _without_content(item),
            }
            yield from (event | place for event in _item_events(item))
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{body['status']}", "response": body}


def _turns_of(items: list[Object]) -> list[Message]:
    turns: list[Message] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            id_, output = str(item["call_id"]), text_in(item["output"])
            turns.append(Message(role="tool", content=output, tool_call_id=id_))
        elif kind == "message" and item.get("role") != "assistant":
            turns.append(read_turn(item, "input"))
        elif kind == "reasoning" and not item.get("encrypted_content"):
            what = f"Item with id {item.get('id')!r} not found; items are not persisted"
            raise Refusal(404, f"{what} when `store` is set to false", "input")
        elif kind in ("message", "function_call", "reasoning", *HOSTED_CALLS):
            _add_to_assistant(turns, kind, item)
        else:
            raise Refusal(400, f"input item type {kind!r} is unknown", "input")
    return turns


def _add_to_assistant(turns: list[Message], kind: str, item: Object) -> None:
    """Adds to the assistant's turn; one turn is several items: reasoning, then text, then calls."""
    opens = not turns or turns[-1].role != "assistant" or kind == "reasoning"
    if opens or (kind == "message" and (turns[-1].content or turns[-1].tool_calls)):
        turns.append(Message(role="assistant"))
    if kind == "message":
        text = text_in(item.get("content"), names=("text", "refusal"))
        turns[-1] = turns[-1].model_copy(update={"content": text})
    if kind == "function_call":
        call = tool_call(item["name"], item["arguments"], item["call_id"])
        calls = (*turns[-1].tool_calls, call)
        turns[-1] = turns[-1].model_copy(update={"tool_calls": calls})


def _offer(tool: Object, function: Object, where: str = "") -> ToolSpec:
    if tool.get("type") != "function":
        raise Refusal(400, f"tool type {tool.get('type')!r} is not served here", "tools")
    _require(function, "name", f"tools[].{where}name")
    return read_tool(tool)


def _require(fields: Object, name: str, where: str) -> None:
    """Refuses what lacks a documented text, as OpenAI does."""
    if not isinstance(fields.get(name), str) or not fields[name]:
        text = f"Missing required parameter: '{where}'."
        raise Refusal(400, text, where, code="missing_required_parameter")


def _hosted(tool: Object) -> str:
    if tool["type"] == "code_interpreter" and not tool.get("container"):
        raise Refusal(400, "code_interpreter needs a container", "tools")
    return str(tool["type"])


def _envelope(request: ModelRequest, number: int) -> Json:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": request.model,
        "error": None,
        "incomplete_details": None,
    }


def _output(request: ModelRequest, answer: ScriptedAnswer, number: int) -> list[Json]:
    items: list[Json] = []
    if answer.reasoning is not None:
        items.append(_reasoning(request, answer.reasoning))
    items += [_hosted_call(request, call, f"{number}_{i}") for i, call in enumerate(answer.hosted)]
    if answer.text or not answer.calls:
        items.append(_message_item(answer, number))
    has_reasoning = answer.reasoning is not None
    ids = [item_id(request.nonce, has_reasoning, place) for place in range(len(answer.calls))]
    return items + [_call_item(call, id_) for call, id_ in zip(answer.calls, ids, strict=True)]


def _reasoning(request: ModelRequest, text: str) -> Json:
    item: Json = {
        "type": "reasoning",
        "id": f"rs_{request.nonce}",
        "summary": [{"type": "summary_text", "text": text}],
    }
    if "reasoning.encrypted_content" in request.include:
        item["encrypted_content"] = encrypt(request.nonce, text)
    return item


def _hosted_call(request: ModelRequest, call: HostedCall, id_: str) -> Json:
    if call.tool not in request.hosted:
        raise Refusal(400, f"the reply uses {call.tool}, which was not offered", "tools")
    if call.kind == "code":
        is_included = "code_interpreter_call.outputs" in request.include
        return {
            "type": "code_interpreter_call",
            "id": f"ci_{id_}",
            "status": "completed",
            "container_id": f"cntr_{id_.partition('_')[0]}",
            "code": call.about,
            "outputs": [{"type": "logs", "logs": text} for text in call.gave]
            if is_included
            else None,
        }
    action: Json = {"type": call.kind, "url": call.about}
    if call.kind == "find_in_page":
        action["pattern"] = call.pattern
    if call.kind == "search":
        action = {"type": "search", "query": call.about, "queries": [call.about]}
        if "web_search_call.action.sources" in request.include:
            action["sources"] = [{"type": "url", "url": url} for url in call.gave]
    return {"type": "web_search_call", "id": f"ws_{id_}", "status": "completed", "action": action}


def _message_item(answer: ScriptedAnswer, number: int) -> Json:
    notes = [{"type": "url_citation"} | _place(url) for url in answer.cited]
    part: Json = {"type": "output_text", "text": answer.text, "annotations": notes}
    if answer.finish == "refused":
        part = {"type": "refusal", "refusal": answer.text}
    return {
        "type": "message",
        "id": f"msg_{number}",
        "status": "incomplete" if answer.finish == "length" else "completed",
        "role": "assistant",
        "content": [part],
    }


def _call_item(call: ToolCall, id_: str) -> Json:
    return {
        "type": "function_call",
        "id": id_,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _response_usage(tokens: Tokens) -> Json:
    usage: Json = {
        "input_tokens": tokens.input,
        "output_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
    }
    if tokens.cached is not None:  # a null is refused by clients that read it as documented
        usage["input_tokens_details"] = {"cached_tokens": tokens.cached}
    if tokens.reasoning is not None:
        usage["output_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
    return usage


def _without_content(item: Json) -> Json:
    empty: Json = {"content": [], "arguments": "", "summary": [], "code": ""}
    empty |= {"encrypted_content": "", "action": {}, "outputs": None}
    return item | {name: empty[name] for name in item if name in empty} | {"status": "in_progress"}


def _item_events(item: Json) -> Iterator[Json]:
    if item["type"] == "web_search_call":
        for stage in ("in_progress", "searching", "completed"):
            yield {"type": f"response.web_search_call.{stage}"}
    if item["type"] == "code_interpreter_call":
        yield {"type": "response.code_interpreter_call.in_progress"}
        for piece in slices(item["code"]):
            yield {"type": "response.code_interpreter_call_code.delta", "delta": piece}
        yield {"type": "response.code_interpreter_call_code.done", "code": item["code"]}
        for stage in ("interpreting", "completed"):
            yield {"type": f"response.code_interpreter_call.{stage}"}
    if item["type"] == "function_call":
        for piece in slices(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", "delta": piece}
        last = {"type": "response.function_call_arguments.done", "name": item["name"]}
        yield last | {"arguments": item["arguments"]}
    for index, part in enumerate(item.get("content", ())):
        yield from (event | {"content_index": index} for event in _part_events(part))


def _part_events(part: Json) -> Iterator[Json]:
    field, kind = ("refusal", "refusal") if "refusal" in part else ("text", "output_text")
    yield {"type": "response.content_part.added", "part": part | {field: ""}}
    for piece in slices(part[field]):
        yield {"type": f"response.{kind}.delta", "delta": piece}
    yield {"type": f"response.{kind}.done", field: part[field]}
    yield {"type": "response.content_part.done", "part": part}
