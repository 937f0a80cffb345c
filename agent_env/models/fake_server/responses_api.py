"""POST /v1/responses, as documented by OpenAI, without storage and without hosted tools."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
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
    slices,
    tokens,
)

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class ResponsesApi:
    """Reads requests and writes replies of this API."""

    def read(self, body: Object) -> Asked:
        """The request in neutral words; raises Refusal where a field is not as documented."""
        given = body.get("input")
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        if not isinstance(given, list) or not given:
            raise Refusal(400, "input must be text or a list that is not empty", "input")
        told = body.get("instructions")
        opening = [Turn("system", told)] if isinstance(told, str) else []
        return Asked(
            model=str(body.get("model", "")),
            turns=tuple(opening + _turns(given)),
            offers=tuple(_offer(tool) for tool in body.get("tools") or ()),
            stream=body.get("stream") is True,
            wants_usage=True,
        )

    def whole(self, asked: Asked, answer: Answer, number: int) -> dict[str, Any]:
        """The reply in one piece."""
        short = answer.finish == "length"
        counted = tokens(asked, answer)
        return _envelope(asked, number) | {
            "status": "incomplete" if short else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if short else None,
            "output": _output(answer, number),
            "usage": None if counted is None else _usage(counted),
        }

    def stream(self, asked: Asked, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for sequence, event in enumerate(self._events(asked, answer, number)):
            data = json.dumps(event | {"sequence_number": sequence})
            yield f"event: {event['type']}\ndata: {data}\n\n".encode()

    def _events(self, asked: Asked, answer: Answer, number: int) -> Iterator[dict[str, Any]]:
        begun = _envelope(asked, number) | {"status": "in_progress", "output": []}
        yield {"type": "response.created", "response": begun}
        yield {"type": "response.in_progress", "response": begun}
        ended = self.whole(asked, answer, number)
        for index, item in enumerate(ended["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            yield {"type": "response.output_item.added", "output_index": index, "item": _bare(item)}
            yield from (event | place for event in _growth(item))
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{ended['status']}", "response": ended}


def _turns(items: list[Object]) -> list[Turn]:
    turns: list[Turn] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            turns.append(Turn("tool", _text(item["output"]), call_id=item["call_id"]))
        elif kind == "message" and item.get("role") != "assistant":
            turns.append(_heard(item))
        elif kind in ("message", "function_call", "reasoning"):
            _add_to_assistant(turns, kind, item)
        else:
            raise Refusal(400, f"input item type {kind!r} is unknown", "input")
    return turns


def _heard(item: Object) -> Turn:
    role = item.get("role")
    if role not in ROLES:
        raise Refusal(400, f"role {role!r} is unknown", "input")
    return Turn(ROLES[role], _text(item.get("content")))  # type: ignore[arg-type]  # the table's


def _add_to_assistant(turns: list[Turn], kind: str, item: Object) -> None:
    """One turn of a model is several items: reasoning, then text, then calls."""
    opens = not turns or turns[-1].role != "assistant" or kind == "reasoning"
    if opens or (kind == "message" and (turns[-1].text or turns[-1].calls)):
        turns.append(Turn("assistant"))
    if kind == "message":
        turns[-1] = replace(turns[-1], text=_text(item.get("content")))
    if kind == "function_call":
        call = Call(item["name"], item["arguments"], item["call_id"])
        turns[-1] = replace(turns[-1], calls=(*turns[-1].calls, call))


def _text(content: object) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", part.get("refusal", ""))) for part in content)
    return content if isinstance(content, str) else ""


def _offer(tool: Object) -> Offer:
    if tool.get("type") != "function":
        raise Refusal(400, f"tool type {tool.get('type')!r} is not served here", "tools")
    return Offer(tool["name"], tool.get("description") or "", tool["parameters"])


def _envelope(asked: Asked, number: int) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": asked.model,
        "error": None,
        "incomplete_details": None,
    }


def _output(answer: Answer, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        items.append(_reasoning(answer.reasoning, number))
    if answer.text or not answer.calls:
        items.append(_message(answer, number))
    return items + [_call(call, f"fc_{number}_{i}") for i, call in enumerate(answer.calls)]


def _reasoning(text: str, number: int) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": [{"type": "summary_text", "text": text}],
        "encrypted_content": base64.b64encode(text.encode()).decode(),
    }


def _message(answer: Answer, number: int) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": []}
    if answer.finish == "refused":
        part = {"type": "refusal", "refusal": answer.text}
    return {
        "type": "message",
        "id": f"msg_{number}",
        "status": "incomplete" if answer.finish == "length" else "completed",
        "role": "assistant",
        "content": [part],
    }


def _call(call: Call, id_: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": id_,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _usage(counted: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": counted.input,
        "input_tokens_details": {"cached_tokens": counted.cached},
        "output_tokens": counted.output,
        "output_tokens_details": {"reasoning_tokens": counted.reasoning},
        "total_tokens": counted.input + counted.output,
    }


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    empty = {"content": [], "arguments": "", "summary": [], "encrypted_content": ""}
    return item | {name: empty[name] for name in item if name in empty} | {"status": "in_progress"}


def _growth(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if item["type"] == "function_call":
        for piece in slices(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", "delta": piece}
        done = {"type": "response.function_call_arguments.done", "name": item["name"]}
        yield done | {"arguments": item["arguments"]}
    for index, part in enumerate(item.get("content", ())):
        yield from (event | {"content_index": index} for event in _growth_of_part(part))


def _growth_of_part(part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    field, kind = ("refusal", "refusal") if "refusal" in part else ("text", "output_text")
    yield {"type": "response.content_part.added", "part": part | {field: ""}}
    for piece in slices(part[field]):
        yield {"type": f"response.{kind}.delta", "delta": piece}
    yield {"type": f"response.{kind}.done", field: part[field]}
    yield {"type": "response.content_part.done", "part": part}
