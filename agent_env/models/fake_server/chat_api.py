"""POST /v1/chat/completions, as documented by OpenAI; reasoning as the mode's provider sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_env.models.fake_server.chat_rules import check_chat, shape_for
from agent_env.models.fake_server.deltas import deltas
from agent_env.models.fake_server.modes import Mode
from agent_env.models.fake_server.obedience import limit_in
from agent_env.models.fake_server.order import check_messages
from agent_env.models.fake_server.talk import (
    Answer,
    Asked,
    Call,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    choice_in,
    tokens,
)

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class ChatApi:
    """Reads requests and writes replies of this API, by the rules of a mode."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def read(self, body: Object) -> Asked:
        """The request in neutral words; raises Refusal where a field is not as documented."""
        messages, options = body.get("messages"), body.get("stream_options") or {}
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "messages must be a list that is not empty", "messages")
        turns = tuple(read_turn(message) for message in messages)
        choice = choice_in(body)
        if self._mode.strict_order:
            check_messages(turns)
        check_chat(self._mode, body, choice)
        tools = body.get("tools") or ()
        shape = shape_for(self._mode, body)
        return Asked(
            model=str(body.get("model", "")),
            turns=turns,
            offers=() if choice == "none" else tuple(_offer(tool) for tool in tools),
            stream=body.get("stream") is True,
            wants_usage=options.get("include_usage") is True,
            choice="auto" if self._ignores(choice) else choice,
            parallel=body.get("parallel_tool_calls") is not False,
            max_tokens=limit_in(body, "max_completion_tokens", "max_tokens"),
            copies=_copies(body.get("n")),
            tool_texts=tuple(json.dumps(tool) for tool in tools),
            thinks=shape is not None,
            shape=shape,
        )

    def whole(self, asked: Asked, answer: Answer, number: int) -> dict[str, Any]:
        """The reply in one piece."""
        if answer.hosted:
            raise Refusal(400, "this API has no hosted tools", "tools")
        end = {"logprobs": None, "finish_reason": _finish_reason(answer)}
        message = _message(asked, answer)
        choices = [{"index": copy, "message": message} | end for copy in range(asked.copies)]
        body = _envelope("chat.completion", asked, number) | {"choices": choices}
        counted = tokens(asked, answer)
        return body if counted is None else body | {"usage": _usage(counted)}

    def stream(self, asked: Asked, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        self.whole(asked, answer, number)  # refuses what it would refuse
        envelope = _envelope("chat.completion.chunk", asked, number)
        for copy in range(asked.copies):
            for delta in deltas(_message(asked, answer), self._mode.error_style == "gemini"):
                yield _event(envelope | {"choices": [_part(copy, delta, None)]})
            yield _event(envelope | {"choices": [_part(copy, {}, _finish_reason(answer))]})
        counted = tokens(asked, answer)
        if asked.wants_usage and counted is not None:
            yield _event(envelope | {"choices": [], "usage": _usage(counted)})
        yield b"data: [DONE]\n\n"

    def _ignores(self, choice: str) -> bool:
        return choice != "none" and self._mode.forced_choice == "ignored"


def read_turn(message: Object) -> Turn:
    """A message in neutral words; raises Refusal where it is not as documented."""
    role = message.get("role")
    text = _text(message.get("content"))
    if role == "tool":
        return Turn("tool", text, call_id=str(message.get("tool_call_id")))
    if role not in ROLES:
        raise Refusal(400, f"role {role!r} is unknown", "messages")
    calls = tuple(_read_call(call) for call in message.get("tool_calls") or ())
    return Turn(ROLES[role], text, calls)  # type: ignore[arg-type]  # the table's values


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else ""


def _read_call(call: Object) -> Call:
    function = call["function"]
    try:
        fit = isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        fit = False
    if not fit:  # as vLLM and llama.cpp do
        raise Refusal(400, "tool call arguments are not a JSON object", "messages")
    return Call(function["name"], function["arguments"], call["id"])


def _offer(tool: Object) -> Offer:
    function = tool["function"]
    return Offer(function["name"], function.get("description", ""), function["parameters"])


def _envelope(kind: str, asked: Asked, number: int) -> dict[str, Any]:
    return {"id": f"chatcmpl-{number}", "object": kind, "created": 0, "model": asked.model}


def _copies(wanted: object) -> int:
    if wanted is None:
        return 1
    if type(wanted) is not int or not 1 <= wanted <= 128:
        raise Refusal(400, f"n is {wanted!r}; it is a number from 1 to 128", "n")
    return wanted


def _message(asked: Asked, answer: Answer) -> dict[str, Any]:
    refused = answer.finish == "refused"
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused else answer.text,
        "refusal": answer.text if refused else None,
    }
    if answer.cited:
        message["annotations"] = [_citation(url) for url in answer.cited]
    if answer.calls:
        message["tool_calls"] = [_call(call) for call in answer.calls]
    if answer.reasoning is None:
        return message
    if asked.shape is None:
        return message | {"reasoning": answer.reasoning}
    return asked.shape.write(message, answer.reasoning, asked.nonce)


def _citation(url: str) -> dict[str, Any]:
    place = {"start_index": 0, "end_index": 0, "title": url, "url": url}
    return {"type": "url_citation", "url_citation": place}


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _finish_reason(answer: Answer) -> str:
    if answer.finish == "length":
        return "length"
    return "tool_calls" if answer.calls else "stop"


def _usage(counted: Tokens) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": counted.input,
        "completion_tokens": counted.output,
        "total_tokens": counted.input + counted.output,
    }
    if counted.cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": counted.cached}
    if counted.reasoning is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": counted.reasoning}
    return usage


def _part(copy: int, delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": copy, "delta": delta, "finish_reason": finish_reason}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
