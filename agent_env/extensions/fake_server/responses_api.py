"""POST /v1/responses, as documented by OpenAI, without storage; hosted tools are played.

As at the real server, reasoning without its encrypted content is refused, and a reply holds that
content only where the request's `include` names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from agent_env.extensions.fake_server.conversation import (
    Answer,
    Call,
    HostedCall,
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
from agent_env.extensions.fake_server.reasoning import check_reasoning, encrypt, item_id
from agent_env.extensions.fake_server.request_options import held, request_of, schema_in
from agent_env.extensions.fake_server.validation import RESPONSES, check_items, refuse_unknown

HOSTED = ("web_search", "web_search_2025_08_26", "code_interpreter")
HOSTED_CALLS = ("web_search_call", "code_interpreter_call")


class ResponsesApi:
    """Reads requests and writes replies of this API."""

    def __init__(self, mode: Mode, hides_truncation: bool = False) -> None:
        self._mode = mode
        self._hides_truncation = hides_truncation

    def read(self, body: Object) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if self._mode.strict_fields:
            refuse_unknown(body, RESPONSES)
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not isinstance(items, list) or not items:
            raise Refusal(400, "input must be text or a list that is not empty", "input")
        tools, instructions = body.get("tools") or (), body.get("instructions")
        opening = [Turn("system", instructions)] if isinstance(instructions, str) else []
        turns = tuple(opening + _turns(items))
        check_items(turns)
        check_reasoning(items, is_required=self._mode.strict_fields)
        functions = [tool for tool in tools if tool.get("type") not in HOSTED]
        offers = [_offer(tool) for tool in functions]
        request = request_of(body, turns, functions, offers, "max_output_tokens")
        return replace(
            held(request, self._mode, schema_in(self._mode, body)),
            thinks=self._mode.strict_fields,
            hosted=frozenset(_hosted(tool) for tool in tools if tool.get("type") in HOSTED),
            include=frozenset(body.get("include") or ()),
        )

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        is_incomplete = answer.finish == "length" and not self._hides_truncation
        usage = usage_of(request, answer)
        if answer.finish == "length" and not is_incomplete:
            answer = replace(answer, finish=None)
        return _envelope(request, number) | {
            "status": "incomplete" if is_incomplete else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_incomplete else None,
            "output": _output(request, answer, number),
            "usage": None if usage is None else _usage(usage),
        }

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for sequence, event in enumerate(self._events(request, answer, number)):
            data = json.dumps(event | {"sequence_number": sequence})
            yield f"event: {event['type']}\ndata: {data}\n\n".encode()

    def _events(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[Json]:
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


def _turns(items: list[Object]) -> list[Turn]:
    turns: list[Turn] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "function_call_output":
            turns.append(Turn("tool", text_of(item["output"]), call_id=item["call_id"]))
        elif kind == "message" and item.get("role") != "assistant":
            turns.append(turn_of(item.get("role"), item.get("content"), "input"))
        elif kind == "reasoning" and not item.get("encrypted_content"):
            what = f"Item with id {item.get('id')!r} not found; items are not persisted"
            raise Refusal(404, f"{what} when `store` is set to false", "input")
        elif kind in ("message", "function_call", "reasoning", *HOSTED_CALLS):
            _add_to_assistant(turns, kind, item)
        else:
            raise Refusal(400, f"input item type {kind!r} is unknown", "input")
    return turns


def _add_to_assistant(turns: list[Turn], kind: str, item: Object) -> None:
    """Adds to the assistant's turn; one turn is several items: reasoning, then text, then calls."""
    opens = not turns or turns[-1].role != "assistant" or kind == "reasoning"
    if opens or (kind == "message" and (turns[-1].text or turns[-1].calls)):
        turns.append(Turn("assistant"))
    if kind == "message":
        turns[-1] = replace(turns[-1], text=text_of(item.get("content")))
    if kind == "function_call":
        call = Call(item["name"], item["arguments"], item["call_id"])
        turns[-1] = replace(turns[-1], calls=(*turns[-1].calls, call))


def _offer(tool: Object) -> Offer:
    if tool.get("type") != "function":
        raise Refusal(400, f"tool type {tool.get('type')!r} is not served here", "tools")
    return Offer(tool["name"], tool.get("description") or "", tool["parameters"])


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


def _output(request: ModelRequest, answer: Answer, number: int) -> list[Json]:
    items: list[Json] = []
    if answer.reasoning is not None:
        items.append(_reasoning(request, answer.reasoning))
    items += [_hosted_call(request, call, f"{number}_{i}") for i, call in enumerate(answer.hosted)]
    if answer.text or not answer.calls:
        items.append(_message(answer, number))
    has_reasoning = answer.reasoning is not None
    ids = [item_id(request.nonce, has_reasoning, place) for place in range(len(answer.calls))]
    return items + [_call(call, id_) for call, id_ in zip(answer.calls, ids, strict=True)]


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


def _message(answer: Answer, number: int) -> Json:
    notes = [
        {"type": "url_citation", "start_index": 0, "end_index": 0, "title": url, "url": url}
        for url in answer.cited
    ]
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


def _call(call: Call, id_: str) -> Json:
    return {
        "type": "function_call",
        "id": id_,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _usage(tokens: Tokens) -> Json:
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.input + tokens.output,
    }


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
