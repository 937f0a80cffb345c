"""POST /v1/responses, as documented by OpenAI, without storage; hosted tools are played.

As there is no storage, reasoning that comes back without its encrypted content is refused, as the
real server does, and that content is given only to those who ask for it by `include`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_env.models.fake_server.encrypted import check_reasoning, encrypted, item_id
from agent_env.models.fake_server.fields import RESPONSES, refuse_unknown
from agent_env.models.fake_server.modes import Mode
from agent_env.models.fake_server.obedience import limit_in
from agent_env.models.fake_server.order import check_items
from agent_env.models.fake_server.talk import (
    Answer,
    Asked,
    Call,
    HostedCall,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    choice_in,
    slices,
    tokens,
)

HOSTED = ("web_search", "web_search_2025_08_26", "code_interpreter")
HOSTED_CALLS = ("web_search_call", "code_interpreter_call")
ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


class ResponsesApi:
    """Reads requests and writes replies of this API."""

    def __init__(self, mode: Mode, hides_truncation: bool = False) -> None:
        self._mode = mode
        self._hides_truncation = hides_truncation

    def read(self, body: Object) -> Asked:
        """The request in neutral words; raises Refusal where a field is not as documented."""
        if self._mode.strict_fields:
            refuse_unknown(body, RESPONSES)
        given = body.get("input")
        if isinstance(given, str):
            given = [{"role": "user", "content": given}]
        if not isinstance(given, list) or not given:
            raise Refusal(400, "input must be text or a list that is not empty", "input")
        choice, tools = choice_in(body), body.get("tools") or ()
        told = body.get("instructions")
        opening = [Turn("system", told)] if isinstance(told, str) else []
        turns = tuple(opening + _turns(given))
        check_items(turns)
        check_reasoning(given, demanded=self._mode.strict_fields)
        functions = [tool for tool in tools if tool.get("type") not in HOSTED]
        offers = tuple(_offer(tool) for tool in functions)
        return Asked(
            model=str(body.get("model", "")),
            turns=turns,
            offers=() if choice == "none" else offers,
            stream=body.get("stream") is True,
            wants_usage=True,
            choice=choice,
            parallel=body.get("parallel_tool_calls") is not False,
            max_tokens=limit_in(body, "max_output_tokens"),
            tool_texts=tuple(json.dumps(tool) for tool in functions),
            thinks=self._mode.strict_fields,
            hosted=frozenset(_hosted(tool) for tool in tools if tool.get("type") in HOSTED),
            include=frozenset(body.get("include") or ()),
        )

    def whole(self, asked: Asked, answer: Answer, number: int) -> dict[str, Any]:
        """The reply in one piece."""
        short = answer.finish == "length" and not self._hides_truncation
        counted = tokens(asked, answer)
        return _envelope(asked, number) | {
            "status": "incomplete" if short else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if short else None,
            "output": _output(asked, answer if short else _ended(answer), number),
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


def _ended(answer: Answer) -> Answer:
    return replace(answer, finish=None) if answer.finish == "length" else answer


def _turns(items: list[Object]) -> list[Turn]:
    turns: list[Turn] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            turns.append(Turn("tool", _text(item["output"]), call_id=item["call_id"]))
        elif kind == "message" and item.get("role") != "assistant":
            turns.append(_heard(item))
        elif kind == "reasoning" and not item.get("encrypted_content"):
            what = f"Item with id {item.get('id')!r} not found; items are not persisted"
            raise Refusal(404, f"{what} when `store` is set to false", "input")
        elif kind in ("message", "function_call", "reasoning", *HOSTED_CALLS):
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


def _hosted(tool: Object) -> str:
    if tool["type"] == "code_interpreter" and not tool.get("container"):
        raise Refusal(400, "code_interpreter needs a container", "tools")
    return str(tool["type"])


def _envelope(asked: Asked, number: int) -> dict[str, Any]:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": asked.model,
        "error": None,
        "incomplete_details": None,
    }


def _output(asked: Asked, answer: Answer, number: int) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if answer.reasoning is not None:
        items.append(_reasoning(asked, answer.reasoning))
    items += [_hosted_call(asked, call, f"{number}_{i}") for i, call in enumerate(answer.hosted)]
    if answer.text or not answer.calls:
        items.append(_message(answer, number))
    thought = answer.reasoning is not None
    ids = [item_id(asked.nonce, thought, place) for place in range(len(answer.calls))]
    return items + [_call(call, id_) for call, id_ in zip(answer.calls, ids, strict=True)]


def _reasoning(asked: Asked, text: str) -> dict[str, Any]:
    item: dict[str, Any] = {
        "type": "reasoning",
        "id": f"rs_{asked.nonce}",
        "summary": [{"type": "summary_text", "text": text}],
    }
    if "reasoning.encrypted_content" in asked.include:
        item["encrypted_content"] = encrypted(asked.nonce, text)
    return item


def _hosted_call(asked: Asked, call: HostedCall, id_: str) -> dict[str, Any]:
    if call.tool not in asked.hosted:
        raise Refusal(400, f"the reply uses {call.tool}, which was not offered", "tools")
    if call.kind == "code":
        wanted = "code_interpreter_call.outputs" in asked.include
        return {
            "type": "code_interpreter_call",
            "id": f"ci_{id_}",
            "status": "completed",
            "container_id": f"cntr_{id_.partition('_')[0]}",
            "code": call.about,
            "outputs": [{"type": "logs", "logs": text} for text in call.gave] if wanted else None,
        }
    action: dict[str, Any] = {"type": call.kind, "url": call.about}
    if call.kind == "find_in_page":
        action["pattern"] = call.pattern
    if call.kind == "search":
        action = {"type": "search", "query": call.about, "queries": [call.about]}
        if "web_search_call.action.sources" in asked.include:
            action["sources"] = [{"type": "url", "url": url} for url in call.gave]
    return {"type": "web_search_call", "id": f"ws_{id_}", "status": "completed", "action": action}


def _message(answer: Answer, number: int) -> dict[str, Any]:
    notes = [
        {"type": "url_citation", "start_index": 0, "end_index": 0, "title": url, "url": url}
        for url in answer.cited
    ]
    part: dict[str, Any] = {"type": "output_text", "text": answer.text, "annotations": notes}
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
    empty: dict[str, Any] = {"content": [], "arguments": "", "summary": [], "code": ""}
    empty |= {"encrypted_content": "", "action": {}, "outputs": None}
    return item | {name: empty[name] for name in item if name in empty} | {"status": "in_progress"}


def _growth(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
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
