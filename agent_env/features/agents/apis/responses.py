"""Responses as OpenAI documents it: POST /v1/responses. Nothing is stored: reasoning without its
encrypted content is refused, as by the real server."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agent_env.features.agents.apis.chat import offer, read_turn, request_of, schema_in
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
    tool_call,
)
from agent_env.sdk.models import text_in
from agent_env.sdk.records import Message, ToolCall

PATH = "/v1/responses"
HOSTED_CALLS = ("web_search_call", "code_interpreter_call")


class ResponsesApi:
    """Reads requests and writes replies of this API."""

    opening: ClassVar[Mapping[str, Any]] = {"content": [], "arguments": ""}
    """What fields of an item are when a stream opens it."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        items = body.get("input")
        if isinstance(items, str):
            items = [{"role": "user", "content": items}]
        if not isinstance(items, list) or not items:
            raise Refusal(400, "input must be text or a list that is not empty", "input")
        instructions = body.get("instructions")
        turns = tuple(_turns_of(items))
        if isinstance(instructions, str):
            turns = (Message(role="system", content=instructions), *turns)
        # raises Refusal where a call lacks its result, or a result its call
        calls = [call.id for turn in turns for call in turn.tool_calls]
        outputs = [str(turn.tool_call_id) for turn in turns if turn.role == "tool"]
        for number, id_ in enumerate(outputs):
            if id_ not in calls:
                text = f"No tool call found for function call output with call_id {id_}."
                raise Refusal(400, text, "input")
            if id_ in outputs[:number]:
                raise Refusal(400, f"Duplicate function call output with call_id {id_}.", "input")
        for id_ in calls:
            if id_ not in outputs:
                raise Refusal(400, f"No tool output found for function call {id_}.", "input")
        tools = [tool for tool in body.get("tools") or () if tool.get("type") == "function"]
        offers = [offer(tool, tool) for tool in tools]
        request = request_of(body, turns, tools, offers, "max_output_tokens")
        return replace(request, schema=schema_in(body))

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        is_cut = answer.finish == "length"
        return _envelope(request, number) | {
            "status": "incomplete" if is_cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if is_cut else None,
            "output": list(self.items(request, answer, number)),
            "usage": None if answer.usage is None else _usage(answer.usage),
        }

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for sequence, event in enumerate(self._events(request, answer, number)):
            data = json.dumps(event | {"sequence_number": sequence})
            yield f"event: {event['type']}\ndata: {data}\n\n".encode()

    def error(self, refusal: Refusal) -> Any:
        """The JSON of the refusal's body."""
        return openai_error(refusal)

    def items(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[Json]:
        """The items of the reply: a text, and calls."""
        if answer.text or not answer.calls:
            yield self.message(answer, number)
        for place, call in enumerate(answer.calls):
            yield call_item(call, f"fc_{place}")

    def message(self, answer: Answer, number: int) -> Json:
        """The item of the reply's text."""
        part: Json = {"type": "output_text", "text": answer.text, "annotations": []}
        if answer.finish == "refused":
            part = {"type": "refusal", "refusal": answer.text}
        return {
            "type": "message",
            "id": f"msg_{number}",
            "status": "incomplete" if answer.finish == "length" else "completed",
            "role": "assistant",
            "content": [part],
        }

    def item_events(self, item: Json) -> Iterator[Json]:
        """The events between an item's first and its last."""
        if item["type"] == "function_call":
            for piece in slices(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": piece}
            last = {"type": "response.function_call_arguments.done", "name": item["name"]}
            yield last | {"arguments": item["arguments"]}
        for index, part in enumerate(item.get("content", ())):
            yield from (event | {"content_index": index} for event in _part_events(part))

    def _events(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[Json]:
        opening = _envelope(request, number) | {"status": "in_progress", "output": []}
        yield {"type": "response.created", "response": opening}
        yield {"type": "response.in_progress", "response": opening}
        body = self.whole(request, answer, number)
        for index, item in enumerate(body["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            begun = {name: value for name, value in self.opening.items() if name in item}
            yield {
                "type": "response.output_item.added",
                "output_index": index,
                "item": item | begun | {"status": "in_progress"},
            }
            yield from (event | place for event in self.item_events(item))
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        yield {"type": f"response.{body['status']}", "response": body}


def call_item(call: ToolCall, id_: str) -> Json:
    return {
        "type": "function_call",
        "id": id_,
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _turns_of(items: Sequence[Object]) -> list[Message]:
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
            # adds to the assistant's turn; one turn is several items: reasoning, then text, then
            # calls
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
        else:
            raise Refusal(400, f"input item type {kind!r} is unknown", "input")
    return turns


def _envelope(request: ModelRequest, number: int) -> Json:
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": request.model,
        "error": None,
        "incomplete_details": None,
    }


def _usage(tokens: Tokens) -> Json:
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


def _part_events(part: Json) -> Iterator[Json]:
    field, kind = ("refusal", "refusal") if "refusal" in part else ("text", "output_text")
    yield {"type": "response.content_part.added", "part": part | {field: ""}}
    for piece in slices(part[field]):
        yield {"type": f"response.{kind}.delta", "delta": piece}
    yield {"type": f"response.{kind}.done", field: part[field]}
    yield {"type": "response.content_part.done", "part": part}
