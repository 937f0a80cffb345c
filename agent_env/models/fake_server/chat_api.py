"""POST /v1/chat/completions, as documented by OpenAI; reasoning text as vLLM sends it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_env.models.fake_server.talk import (
    Answer,
    Asked,
    Call,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    callable_tools,
    slices,
    tokens,
)

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class ChatApi:
    """Reads requests and writes replies of this API."""

    def read(self, body: Object) -> Asked:
        """The request in neutral words; raises Refusal where a field is not as documented."""
        messages, options = body.get("messages"), body.get("stream_options") or {}
        if not isinstance(messages, list) or not messages:
            raise Refusal(400, "messages must be a list that is not empty", "messages")
        return Asked(
            model=str(body.get("model", "")),
            turns=tuple(read_turn(message) for message in messages),
            offers=tuple(_offer(tool) for tool in callable_tools(body)),
            stream=body.get("stream") is True,
            wants_usage=options.get("include_usage") is True,
        )

    def whole(self, asked: Asked, answer: Answer, number: int) -> dict[str, Any]:
        """The reply in one piece."""
        if answer.hosted:
            raise Refusal(400, "this API has no hosted tools", "tools")
        choice = {
            "index": 0,
            "message": _message(answer),
            "logprobs": None,
            "finish_reason": _finish_reason(answer),
        }
        body = _envelope("chat.completion", asked, number) | {"choices": [choice]}
        counted = tokens(asked, answer)
        return body if counted is None else body | {"usage": _usage(counted)}

    def stream(self, asked: Asked, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        self.whole(asked, answer, number)  # refuses what it would refuse
        envelope = _envelope("chat.completion.chunk", asked, number)
        for delta in _deltas(answer):
            yield _event(envelope | {"choices": [_part(delta, None)]})
        yield _event(envelope | {"choices": [_part({}, _finish_reason(answer))]})
        counted = tokens(asked, answer)
        if asked.wants_usage and counted is not None:
            yield _event(envelope | {"choices": [], "usage": _usage(counted)})
        yield b"data: [DONE]\n\n"


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


def _message(answer: Answer) -> dict[str, Any]:
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
    return message if answer.reasoning is None else message | {"reasoning": answer.reasoning}


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


def _deltas(answer: Answer) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    yield from ({"reasoning": piece} for piece in slices(answer.reasoning or ""))
    field = "refusal" if answer.finish == "refused" else "content"
    yield from ({field: piece} for piece in slices(answer.text))
    if answer.cited:
        yield {"annotations": [_citation(url) for url in answer.cited]}
    for index, call in enumerate(answer.calls):
        yield {"tool_calls": [{"index": index} | _call(Call(call.name, "", call.id))]}
        for piece in slices(call.arguments):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _part(delta: dict[str, Any], finish_reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish_reason}


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
