"""Chat Completions as OpenAI documents it: POST /v1/chat/completions. A stream has texts in slices,
calls first without arguments and then with slices of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from agent_env.features.agents.apis.exchange import (
    Answer,
    HttpRequest,
    Json,
    ModelRequest,
    Object,
    Refusal,
    Tokens,
    openai_error,
    slices,
)
from agent_env.sdk.models import chat_message, read_arguments, read_message, read_tool
from agent_env.sdk.records import Message, ToolSpec

PATH = "/v1/chat/completions"
STRAY = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
    " 'tool_calls'."
)
NOT_THERE = (
    "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message."
)
TWICE = "Invalid parameter: 'tool_call_id' of '{id}' has more than one response message."
UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}"
)
SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class ChatApi:
    """Reads requests and writes replies of this API."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        messages, options = body.get("messages"), body.get("stream_options") or {}
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "messages must be a list that is not empty", "messages")
        turns = tuple(read_turn(message) for message in messages)
        tools = body.get("tools") or ()
        offers = [offer(tool, tool["function"], "function.") for tool in tools]
        request = request_of(body, turns, tools, offers, "max_completion_tokens", "max_tokens")
        # raises Refusal where a call is not answered, once, before the next turn
        open_ids: list[str] = []
        answered_ids: set[str] = set()
        after_calls = False
        for number, turn in enumerate(turns):
            if turn.role == "tool":
                field = f"messages.[{number}].tool_call_id"
                if not after_calls:
                    raise Refusal(400, STRAY, f"messages.[{number}].role")
                if turn.tool_call_id in answered_ids:
                    raise Refusal(400, TWICE.format(id=turn.tool_call_id), field)
                if turn.tool_call_id not in open_ids:
                    raise Refusal(400, NOT_THERE.format(id=turn.tool_call_id), field)
                open_ids.remove(turn.tool_call_id)
                answered_ids.add(turn.tool_call_id)
                continue
            _refuse_unanswered(open_ids, number)
            open_ids, answered_ids = [call.id for call in turn.tool_calls], set()
            after_calls = bool(turn.tool_calls)
        _refuse_unanswered(open_ids, len(turns))
        if (count := body.get("n")) not in (None, 1):
            raise Refusal(400, f"n is {count}: one reply a request is passed on", "n")
        value = body.get("stop")
        texts = value if isinstance(value, list) else [value]
        if len(texts) > 4:
            raise Refusal(400, "Invalid 'stop': array too long. Expected at most 4 texts.", "stop")
        return replace(
            request,
            schema=schema_in(body),
            stop=tuple(text for text in texts if isinstance(text, str)),
            wants_usage=options.get("include_usage") is True,
        )

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        end = {"logprobs": None, "finish_reason": _finish_reason(answer)}
        choice = {"index": 0, "message": self.message(request, answer)} | end
        body = _envelope("chat.completion", request, number) | {"choices": [choice]}
        return body if answer.usage is None else body | {"usage": self.usage(answer.usage)}

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        envelope = _envelope("chat.completion.chunk", request, number)
        for delta in self.deltas(self.message(request, answer)):
            yield _event(envelope | {"choices": [_part(delta, None)]})
        yield _event(envelope | {"choices": [_part({}, _finish_reason(answer))]})
        if request.wants_usage and answer.usage is not None:
            yield _event(envelope | {"choices": [], "usage": self.usage(answer.usage)})
        yield b"data: [DONE]\n\n"

    def error(self, refusal: Refusal) -> Any:
        """The JSON of the refusal's body."""
        return openai_error(refusal)

    def message(self, request: ModelRequest, answer: Answer) -> Json:
        refused = answer.finish == "refused"
        message: Json = {
            "role": "assistant",
            "content": None if refused else answer.text,
            "refusal": answer.text if refused else None,
        }
        if answer.calls:
            calls = Message(role="assistant", tool_calls=tuple(answer.calls))
            message["tool_calls"] = chat_message(calls)["tool_calls"]
        return message

    def deltas(self, message: Json) -> Iterator[Json]:
        """The message in the pieces of a stream."""
        yield {"role": "assistant", "content": ""}
        for name in ("refusal", "content"):
            yield from ({name: piece} for piece in slices(message[name] or ""))
        for index, call in enumerate(message.get("tool_calls") or ()):
            yield from pieces_of_call(index, call)

    def usage(self, tokens: Tokens) -> Json:
        usage: Json = {
            "prompt_tokens": tokens.input,
            "completion_tokens": tokens.output,
            "total_tokens": tokens.input + tokens.output,
        }
        if tokens.cached is not None:
            usage["prompt_tokens_details"] = {"cached_tokens": tokens.cached}
        if tokens.reasoning is not None:
            usage["completion_tokens_details"] = {"reasoning_tokens": tokens.reasoning}
        return usage


def pieces_of_call(index: int, call: Json) -> Iterator[Json]:
    """A call first without its arguments, then slices of them."""
    function = call["function"]
    bare = call | {"function": function | {"arguments": ""}}
    yield {"tool_calls": [{"index": index} | bare]}
    for piece in slices(function["arguments"]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


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


def offer(tool: Object, function: Object, where: str = "") -> ToolSpec:
    """A function that the model may call; `where` it is in its tool."""
    _require(function, "name", f"tools[].{where}name")
    return read_tool(tool)


def request_of(
    body: Object,
    turns: Sequence[Message],
    functions: Sequence[Object],
    offers: Sequence[ToolSpec],
    *limits: str,
) -> ModelRequest:
    """The request with the options that both of OpenAI's APIs share; `limits` name the fields of
    the length limit. Raises Refusal where an option is invalid."""
    choice = _choice_in(body)
    return ModelRequest(
        model=str(body.get("model", "")),
        turns=tuple(turns),
        offers=() if choice == "none" else tuple(offers),
        stream=body.get("stream") is True,
        wants_usage=True,
        choice=choice,
        parallel=body.get("parallel_tool_calls") is not False,
        max_tokens=_limit_in(body, *limits),
        tool_texts=tuple(json.dumps(tool) for tool in functions),
    )


def schema_in(body: Object) -> Json | None:
    """The schema that a request of either API names; None for a free text."""
    field = "response_format" if "response_format" in body else "text.format"
    given = format_in(body)
    kind = given.get("type", "text")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema":
        raise Refusal(400, "This response_format type is unavailable now", field)
    named = given.get("json_schema") if field == "response_format" else given
    if not isinstance(named, dict) or not isinstance(named.get("schema"), dict):
        where = f"{field}.{'json_schema' if field == 'response_format' else 'schema'}"
        raise Refusal(400, f"Missing required parameter: '{where}'.", where)
    if not SCHEMA_NAME.fullmatch(str(named.get("name"))):
        text = f"Invalid '{field}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
        raise Refusal(400, text, f"{field}.name")
    schema: Json = named["schema"]
    return schema


def format_in(body: Object) -> Object:
    """The form that a request of either API wants for the reply's text."""
    given: Object = body.get("response_format") or (body.get("text") or {}).get("format") or {}
    return given


def _choice_in(body: Object) -> str:
    choice, tools = body.get("tool_choice"), body.get("tools") or ()
    if choice is None:
        return "auto"
    if isinstance(choice, dict):
        if choice.get("type", "function") != "function":
            return "auto"  # a hosted tool, or a choice among several
        name = (choice.get("function") or choice).get("name")
        if name not in [(tool.get("function") or tool).get("name") for tool in tools]:
            text = f"Tool choice '{name}' not found in 'tools' parameter."
            raise Refusal(400, text, "tool_choice")
        return str(name)
    if choice not in ("auto", "required", "none"):
        raise Refusal(400, f"tool_choice {choice!r} is unknown", "tool_choice")
    if not tools:
        raise Refusal(400, "tool_choice is only allowed when tools are specified", "tool_choice")
    return str(choice)


def _limit_in(body: Object, *names: str) -> int | None:
    """The limit of output tokens; raises Refusal where it is not a positive number."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if type(value) is not int or value < 1:
            text = f"Invalid '{name}': integer below minimum value. Expected a value >= 1."
            raise Refusal(400, text, name, code="integer_below_min_value")
        return value
    return None


def _refuse_unanswered(ids: Sequence[str], number: int) -> None:
    if ids:
        text = UNANSWERED.format(ids=", ".join(ids))
        raise Refusal(400, text, f"messages.[{number}].role")


def _require(fields: Object, name: str, where: str) -> None:
    """Refuses what lacks a documented text, as OpenAI does."""
    if not isinstance(fields.get(name), str) or not fields[name]:
        text = f"Missing required parameter: '{where}'."
        raise Refusal(400, text, where, code="missing_required_parameter")


def _envelope(kind: str, request: ModelRequest, number: int) -> Json:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": request.model}


def _finish_reason(answer: Answer) -> str:
    if answer.finish == "length":
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _part(delta: Json, finish_reason: str | None) -> Json:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _event(chunk: Json) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
