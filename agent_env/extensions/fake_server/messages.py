"""Anthropic's Messages API as its documents have it: POST /v1/messages, whole and streamed.

Refused in every mode: a request without its version or limit, unknown fields, a wrong order of
calls and results, thinking that is missing before calls or was changed, a forced call while the
model thinks, a way of thinking that the model does not have, more than four marks for the cache.
The cache holds prefixes up to a mark, from the model's least length on, and is looked up 20 blocks
back; a change of tool choice or thinking loses the messages, not the tools and the system text.
Not covered: media, expiry of the cache, beta features.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
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
    count_tokens,
    slices,
    tool_call,
    usage_of,
)
from agent_env.extensions.fake_server.modes import ErrorStyle, ThinkingBlocks
from agent_env.sdk.models import text_in
from agent_env.sdk.records import Message, ToolSpec

PATH = "/v1/messages"
FIELDS = frozenset(
    "cache_control container diagnostics inference_geo max_tokens messages metadata model"
    " output_config service_tier speed stop_sequences stream system temperature thinking"
    " tool_choice tools top_k top_p".split()
)
MOST_MARKS = 4
LOOKBACK = 20
LEAST_CACHED = ((r"opus-5|fable|mythos", 512), (r"opus-4-7", 2048), (r"(opus|haiku)-4-[56]", 4096))
"""Tokens from which on a prefix is cached, by the model's name; 1,024 for others."""
BEFORE_ADAPTIVE = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8})?$")
ONLY_ADAPTIVE = re.compile(r"claude-\w+-(4-[78]|5)|claude-(fable|mythos)")
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
STOPS = {"length": "max_tokens", "refused": "refusal", "paused": "pause_turn"}
NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
HOSTED = {"web_search": "web_search", "code_execution": "code_interpreter"}
NO_RESULT = (
    "messages.{n}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}."
    " Each `tool_use` block must have a corresponding `tool_result` block in the next message."
)
NO_CALL = (
    "messages.{n}.content.{i}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each"
    " `tool_result` block must have a corresponding `tool_use` block in the previous message."
)
NO_THINKING = (
    "messages.{n}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`."
    " When `thinking` is enabled, a final `assistant` message must start with a thinking block."
)


class MessagesApi:
    """Reads requests and writes replies of this API."""

    error_style: ErrorStyle = "anthropic"

    def __init__(self) -> None:
        self._cached: set[str] = set()
        """Digests of the prefixes that the cache holds."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if not http.headers.get("anthropic-version"):
            raise Refusal(400, "anthropic-version: header is required")
        _check_fields(body)
        thinks = _check_thinking(body)
        turns = _joined(body["messages"])
        _check_turns(turns, thinks)
        tools, system = body.get("tools") or [], body.get("system") or []
        system = [_text(system)] if isinstance(system, str) else list(system)
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
            thinks=thinks,
            reasoning_format=ThinkingBlocks() if thinks else None,
            schema=_schema(body),
            hosted=frozenset(_hosted(tool) for tool in tools if tool not in functions),
            stop=tuple(body.get("stop_sequences") or ()),
            prompt=self._prompt(body, tools, system, turns),
        )

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json:
        """The reply in one piece."""
        stop = STOPS.get(answer.finish or "", "tool_use" if answer.calls else "end_turn")
        return _envelope(request, number) | {
            "content": list(_content(request, answer, number)),
            "stop_reason": stop,
            "usage": _usage(request, answer),
        }

    def stream(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        for event in _events(self.whole(request, answer, number)):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()

    def _prompt(
        self, body: Object, tools: Sequence[Json], system: Sequence[Json], turns: Sequence[Json]
    ) -> Tokens:
        """What the prompt takes, and what of it the cache held and took in."""
        ways = {name: body.get(name) for name in ("tool_choice", "thinking")}
        blocks = [*tools, *system, ways, *(block for turn in turns for block in turn["content"])]
        digest, total = hashlib.sha256(str(body["model"]).encode()), 0
        digests, sums, marks = [], [], []
        for place, block in enumerate(blocks):
            plain = json.dumps({n: block[n] for n in block if n != "cache_control"}, sort_keys=True)
            digest.update(plain.encode())
            total += 0 if block is ways else count_tokens([plain])
            digests.append(digest.hexdigest())
            sums.append(total)
            if block.get("cache_control"):
                marks.append((place, block["cache_control"]))
        if mark := body.get("cache_control"):
            marks.append((len(blocks) - 1, mark))
        if len(marks) > MOST_MARKS:
            text = f"A maximum of {MOST_MARKS} blocks with cache_control may be provided."
            raise Refusal(400, f"{text} Found {len(marks)}.")
        looked_at = (n for place, _ in marks for n in range(max(0, place - LOOKBACK), place + 1))
        read = max((sums[n] for n in looked_at if digests[n] in self._cached), default=0)
        least = next((n for name, n in LEAST_CACHED if re.search(name, str(body["model"]))), 1024)
        end, hour = read, 0
        for place, mark in marks:
            if sums[place] >= least:
                self._cached.add(digests[place])
                hour += max(0, sums[place] - end) if mark.get("ttl") == "1h" else 0
                end = max(end, sums[place])
        return Tokens(total, 0, cached=read, written=end - read, hour_written=hour)


def _text(words: str) -> Json:
    return {"type": "text", "text": words}


def _check_fields(body: Object) -> None:
    if unknown := sorted(set(body) - FIELDS):
        raise Refusal(400, f"{unknown[0]}: Extra inputs are not permitted")
    for name in ("model", "max_tokens", "messages"):
        if body.get(name) is None:
            raise Refusal(400, f"{name}: Field required")
    if type(body["max_tokens"]) is not int or body["max_tokens"] < 1:
        raise Refusal(400, "max_tokens: Input should be greater than or equal to 1")
    if not body["messages"]:
        raise Refusal(400, "messages: at least one message is required")


def _check_thinking(body: Object) -> bool:
    """Whether the model thinks."""
    thinking, model = body.get("thinking") or {}, str(body["model"])
    kind, choice = thinking.get("type", "disabled"), body.get("tool_choice") or {}
    if kind == "disabled":
        return False
    if kind == "enabled" and ONLY_ADAPTIVE.match(model):
        what = '"thinking.type.enabled" is not supported for this model. Use'
        raise Refusal(400, f'{what} "thinking.type.adaptive" and "output_config.effort"')
    if kind == "adaptive" and BEFORE_ADAPTIVE.match(model):
        raise Refusal(400, "adaptive thinking is not supported on this model")
    if kind == "enabled" and thinking["budget_tokens"] < 1024:
        what = "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        raise Refusal(400, what)
    if kind == "enabled" and thinking["budget_tokens"] >= body["max_tokens"]:
        raise Refusal(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if choice.get("type") in ("any", "tool"):
        raise Refusal(400, "Thinking may not be enabled when tool_choice forces tool use.")
    if body.get("temperature") not in (None, 1):
        raise Refusal(400, "`temperature` may only be set to 1 when thinking is enabled.")
    return True


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


def _schema(body: Object) -> Json | None:
    form = (body.get("output_config") or {}).get("format")
    if form is None:
        return None
    _check_closed(form["schema"])
    schema: Json = form["schema"]
    return schema


def _check_closed(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            what = "For 'object' type, 'additionalProperties' must be explicitly set to false"
            raise Refusal(400, f"output_config.format.schema: {what}")
        for inner in schema.values():
            _check_closed(inner)
    elif isinstance(schema, list):
        for inner in schema:
            _check_closed(inner)


def _offer(tool: Object) -> ToolSpec:
    if not NAME.fullmatch(tool["name"]):
        raise Refusal(400, "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if tool["input_schema"].get("type") != "object":
        raise Refusal(400, "tools.0.custom.input_schema.type: Field required")
    fields = {"description": tool.get("description") or "", "parameters": tool["input_schema"]}
    return ToolSpec(name=tool["name"], **fields)


def _hosted(tool: Object) -> str:
    kind = re.sub(r"_\d{8}$", "", str(tool.get("type")))
    if kind not in HOSTED:
        raise Refusal(400, f"tools.0: Input tag '{tool.get('type')}' found using 'type' is unknown")
    return HOSTED[kind]


def _joined(messages: Sequence[Object]) -> list[Json]:
    """The conversation with contents as lists; messages of one role that follow each other are one,
    as the API takes them."""
    turns: list[Json] = []
    for n, message in enumerate(messages):
        role, content = message["role"], message["content"]
        if role not in ("user", "assistant"):
            raise Refusal(400, f"messages.{n}.role: Input should be 'user' or 'assistant'")
        blocks = [_text(content)] if isinstance(content, str) else list(content)
        if not blocks or any(b["type"] == "text" and not b["text"] for b in blocks):
            raise Refusal(400, "messages: text content blocks must be non-empty")
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    if turns[0]["role"] != "user":
        raise Refusal(400, "messages: first message must use the user role")
    return turns


def _check_turns(turns: Sequence[Json], thinks: bool) -> None:
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
        if not of_user:
            is_last = n == max(i for i, each in enumerate(turns) if each["role"] == "assistant")
            _check_thoughts(n, blocks, wanted, is_required=thinks and is_last)
    if wanted:
        raise Refusal(400, NO_RESULT.format(n=len(turns) - 1, ids=", ".join(wanted)))


def _check_thoughts(
    n: int, blocks: Sequence[Json], calls: Sequence[str], is_required: bool
) -> None:
    thoughts = [b for b in blocks if b["type"] in ("thinking", "redacted_thinking")]
    for i, block in enumerate(blocks):
        if block["type"] == "thinking" and not block.get("signature"):
            raise Refusal(400, f"messages.{n}.content.{i}.thinking.signature: Field required")
    ids = [{"id": id_} for id_ in calls]
    fault = ThinkingBlocks().fault({"thinking_blocks": thoughts, "tool_calls": ids})
    if fault == "altered":
        raise Refusal(400, f"messages.{n}.content.0: Invalid `signature` in `thinking` block")
    if fault == "missing" and is_required and calls:
        raise Refusal(400, NO_THINKING.format(n=n))


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


def _envelope(request: ModelRequest, number: int) -> Json:
    names = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.model}
    return names | {"content": [], "stop_reason": None, "stop_sequence": None}


def _content(request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[Json]:
    if request.thinks and answer.reasoning is not None:
        written = ThinkingBlocks().write({}, answer.reasoning, request.nonce)
        yield from written["thinking_blocks"]
    for place, call in enumerate(answer.hosted):
        if call.tool not in request.hosted:
            raise Refusal(400, f"the reply uses {call.tool}, which was not offered")
        yield from _hosted_blocks(call, f"srvtoolu_{number}_{place}")
    if answer.text:
        note = {"type": "web_search_result_location", "cited_text": "", "encrypted_index": "E"}
        notes = [note | {"url": url, "title": url} for url in answer.cited]
        yield _text(answer.text) | ({"citations": notes} if notes else {})
    for each in answer.calls:
        inputs = json.loads(each.arguments)
        yield {"type": "tool_use", "id": each.id, "name": each.name, "input": inputs}


def _hosted_blocks(call: HostedCall, id_: str) -> Iterator[Json]:
    use = {"type": "server_tool_use", "id": id_}
    if call.kind == "code":
        yield use | {"name": "code_execution", "input": {"code": call.about}}
        gave = {"stdout": "".join(call.gave), "stderr": "", "return_code": 0, "content": []}
        content: Any = {"type": "code_execution_result"} | gave
        yield {"type": "code_execution_tool_result", "tool_use_id": id_, "content": content}
        return
    yield use | {"name": "web_search", "input": {"query": call.about}}
    hit = {"type": "web_search_result", "encrypted_content": "E", "page_age": None}
    content = [hit | {"url": url, "title": url} for url in call.gave]
    yield {"type": "web_search_tool_result", "tool_use_id": id_, "content": content}


def _usage(request: ModelRequest, answer: ScriptedAnswer) -> Json:
    tokens = usage_of(request, answer) or Tokens(0, 0)
    read, written, hour = tokens.cached or 0, tokens.written or 0, tokens.hour_written
    kept = {"ephemeral_5m_input_tokens": written - hour, "ephemeral_1h_input_tokens": hour}
    return {
        "input_tokens": tokens.input - read - written,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "cache_creation": kept,
        "output_tokens": tokens.output,
        "service_tier": "standard",
    }


def _events(body: Json) -> Iterator[Json]:
    opening = body | {"content": [], "stop_reason": None}
    yield {"type": "message_start", "message": opening | {"usage": body["usage"]}}
    yield {"type": "ping"}
    for index, block in enumerate(body["content"]):
        empty = {"text": "", "thinking": "", "signature": "", "input": {}}
        begun = block | {n: empty[n] for n in block if n in empty}
        begun |= {"citations": []} if "citations" in block else {}
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    counts = {n: v for n, v in body["usage"].items() if n.endswith("_tokens")}
    yield {"type": "message_delta", "delta": end, "usage": counts}
    yield {"type": "message_stop"}


def _deltas(block: Json) -> Iterator[Json]:
    for name in ("text", "thinking"):
        for piece in slices(block.get(name, "")):
            yield {"type": f"{name}_delta", name: piece}
    for note in block.get("citations", ()):
        yield {"type": "citations_delta", "citation": note}
    if "signature" in block:
        yield {"type": "signature_delta", "signature": block["signature"]}
    if "input" in block:
        for piece in slices(json.dumps(block["input"])):
            yield {"type": "input_json_delta", "partial_json": piece}
