"""Messages as Anthropic documents it: POST /v1/messages. Refused are a request without its version
or limit, and a wrong order of calls and results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from agent_env.features.agents.apis.exchange import (
    Answer,
    HttpRequest,
    Json,
    ModelRequest,
    Object,
    Refusal,
    Tokens,
    slices,
    tool_call,
)
from agent_env.sdk.models import text_in
from agent_env.sdk.records import Message, ToolSpec

PATH = "/v1/messages"
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
STOPS = {"length": "max_tokens", "refused": "refusal", "paused": "pause_turn"}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ERRORS = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
NO_RESULT = (
    "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}."
    " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
NO_CALL = (
    "messages.{n}.content.{i}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each"
    " `tool_result` block must have a corresponding `tool_use` block in the previous message."
)


class MessagesApi:
    """Reads requests and writes replies of this API."""

    opening: ClassVar[Mapping[str, Any]] = {"text": "", "input": {}}
    """What fields of a block are when a stream opens it."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if not http.headers.get("anthropic-version"):
            raise Refusal(400, "anthropic-version: header is required")
        for name in ("model", "max_tokens", "messages"):
            if body.get(name) is None:
                raise Refusal(400, f"{name}: Field required")
        if type(body["max_tokens"]) is not int or body["max_tokens"] < 1:
            raise Refusal(400, "max_tokens: Input should be greater than or equal to 1")
        if not body["messages"]:
            raise Refusal(400, "messages: at least one message is required")
        turns = joined(body["messages"])
        wanted: list[str] = []
        for n, turn in enumerate(turns):
            blocks, of_user = turn["content"], turn["role"] == "user"
            results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
            first = blocks[: len(results)] if of_user else []
            for i, id_ in enumerate(results):
                if id_ not in wanted or id_ in results[:i] or not of_user:
                    raise Refusal(400, NO_CALL.format(n=n, i=i, id=id_))
            if set(wanted) - {b.get("tool_use_id") for b in first}:
                raise Refusal(400, NO_RESULT.format(n=n - 1, ids=", ".join(wanted)))
            wanted = [b["id"] for b in blocks if b["type"] == "tool_use"]
        if wanted:
            raise Refusal(400, NO_RESULT.format(n=len(turns) - 1, ids=", ".join(wanted)))
        tools, system = body.get("tools") or [], body.get("system") or []
        system = [text(system)] if isinstance(system, str) else list(system)
        choice = _choice(body, tools)
        functions = [tool for tool in tools if "input_schema" in tool]
        messages = [Message(role="system", content=text_in(system))] if system else []
        return ModelRequest(
            model=str(body["model"]),
            turns=tuple(messages) + tuple(each for turn in turns for each in _messages(turn)),
            offers=() if choice == "none" else tuple(map(_offer, functions)),
            stream=body.get("stream") is True,
            wants_usage=True,
            choice=choice,
            parallel=(body.get("tool_choice") or {}).get("disable_parallel_tool_use") is not True,
            max_tokens=body["max_tokens"],
            tool_texts=tuple(map(json.dumps, functions)),
            stop=tuple(body.get("stop_sequences") or ()),
        )

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        names = {"id": f"msg_{number}", "type": "message", "role": "assistant"}
        return names | {
            "model": request.model,
            "content": list(self.content(request, answer, number)),
            "stop_reason": STOPS.get(
                answer.finish or "", "tool_use" if answer.calls else "end_turn"
            ),
            "stop_sequence": None,
            "usage": self.usage(answer.usage or Tokens(0, 0)),
        }

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for event in self._events(self.whole(request, answer, number)):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def error(self, refusal: Refusal) -> Any:
        """The JSON of the refusal's body."""
        usual = "api_error" if refusal.status >= 500 else "invalid_request_error"
        kind = ERRORS.get(refusal.status, usual)
        return {"type": "error", "error": {"type": kind, "message": str(refusal)}}

    def content(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[Json]:
        """The blocks of the reply."""
        if answer.text:
            yield text(answer.text)
        for each in answer.calls:
            inputs = json.loads(each.arguments)
            yield {"type": "tool_use", "id": each.id, "name": each.name, "input": inputs}

    def usage(self, tokens: Tokens) -> Json:
        read = tokens.cached or 0
        return {
            "input_tokens": tokens.input - read,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": tokens.output,
            "service_tier": "standard",
        }

    def deltas(self, block: Json) -> Iterator[Json]:
        """What a stream says of a block that is open."""
        for piece in slices(block.get("text", "")):
            yield {"type": "text_delta", "text": piece}
        if "input" in block:
            for piece in slices(json.dumps(block["input"])):
                yield {"type": "input_json_delta", "partial_json": piece}

    def _events(self, body: Json) -> Iterator[Json]:
        opening = body | {"content": [], "stop_reason": None}
        yield {"type": "message_start", "message": opening}
        yield {"type": "ping"}
        for index, block in enumerate(body["content"]):
            begun = block | {n: value for n, value in self.opening.items() if n in block}
            yield {"type": "content_block_start", "index": index, "content_block": begun}
            for delta in self.deltas(block):
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        end = {"stop_reason": body["stop_reason"], "stop_sequence": None}
        counts = {n: v for n, v in body["usage"].items() if n.endswith("_tokens")}
        yield {"type": "message_delta", "delta": end, "usage": counts}
        yield {"type": "message_stop"}


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def joined(messages: Sequence[Object]) -> list[Json]:
    """The conversation with contents as lists; messages of one role that follow each other are one,
    as the API takes them."""
    turns: list[Json] = []
    for n, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role not in ("user", "assistant"):
            raise Refusal(400, f"messages.{n}.role: Input should be 'user' or 'assistant'")
        blocks = [text(content)] if isinstance(content, str) else list(content)
        if not blocks or any(b["type"] == "text" and not b["text"] for b in blocks):
            raise Refusal(400, "messages: text content blocks must be non-empty")
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns[0]["role"] != "user":
        raise Refusal(400, "messages: first message must use the user role")
    return turns


def _choice(body: Object, tools: Sequence[Object]) -> str:
    choice = body.get("tool_choice")
    if choice is None:
        return "auto"
    if not tools:
        raise Refusal(400, "tool_choice: may only be specified while providing tools")
    if choice["type"] != "tool":
        return CHOICES[choice["type"]]
    if choice["name"] not in [tool.get("name") for tool in tools]:
        raise Refusal(400, f"Tool '{choice['name']}' not found in provided tools")
    return str(choice["name"])


def _offer(tool: Object) -> ToolSpec:
    if not NAME.fullmatch(tool["name"]):
        raise Refusal(400, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if tool["input_schema"].get("type") != "object":
        raise Refusal(400, "tools.0.custom.input_schema.type: Field required")
    fields = {"description": tool.get("description") or "", "parameters": tool["input_schema"]}
    return ToolSpec(name=tool["name"], **fields)


def _messages(turn: Json) -> Iterator[Message]:
    blocks = turn["content"]
    if turn["role"] == "assistant":
        calls = [b for b in blocks if b["type"] == "tool_use"]
        asked = tuple(tool_call(b["name"], json.dumps(b["input"]), b["id"]) for b in calls)
        texts = [b for b in blocks if b["type"] == "text"]
        yield Message(role="assistant", content=text_in(texts), tool_calls=asked)
        return
    for block in blocks:
        if block["type"] == "tool_result":
            output = text_in(block.get("content"))
            yield Message(role="tool", content=output, tool_call_id=block["tool_use_id"])
        else:
            yield Message(role="user", content=block["text"])
