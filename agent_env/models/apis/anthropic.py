"""The Messages API of Anthropic, whole and streamed.

The blocks of a reply (thinking with its signature, redacted thinking, text with citations, calls,
what hosted tools did) go back as they came, to the model and server that sent them; another gets
the texts and calls alone. Results of tools are in one user's message behind the calls.

Prompt caching: the last tool, the system text, and by the request's own `cache_control` the end of
the conversation, which grows with each step. A breakpoint finds an earlier one at most 20 blocks
before it, so a step of many calls gets one more. Nothing moves in what was sent before.

`--reasoning-effort`: `none`; a number of tokens to think with; or the API's own levels, with
adaptive thinking, which older models have as a number of tokens. A first call cannot be forced
while a model thinks. There is no seed.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from agent_env.models.api import Api, Exchange, Fault, RequestParts
from agent_env.models.chat import Json, read_arguments, record, records, text, with_unique_ids
from agent_env.models.usage import anthropic_usage
from agent_env.records.schema import Message, PageRef, ProviderFields, Reply, ToolCall, ToolSpec

VERSION = "2023-06-01"
"""Of the API, as each request names it."""
MOST_TOKENS = 16_000
"""Of a reply, where the user sets no limit: the API wants one. Thinking comes on top."""
LOOKBACK = 20
"""Blocks that a breakpoint of the cache looks back at."""
CACHED: Json = {"type": "ephemeral"}
HOSTED: dict[str, Json] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "code_interpreter": {"type": "code_execution_20250825", "name": "code_execution"},
}
"""The provider's own tools, in the versions that all models have."""
KINDS = {"web_search": "search", "web_fetch": "open_page"}
"""Calls of hosted tools as our counts name them; all others run code."""

FinishReason = Literal["stop", "tool_calls", "length", "refused", "paused"]
FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "paused",
}

BUDGET_MODELS = re.compile(r"claude-3|claude-(opus|sonnet|haiku)-4(-[0-5])?(-\d{8}|-latest)?$")
"""Models before adaptive thinking."""
BUDGETS = {"low": 2_048, "medium": 8_192, "high": 16_384, "xhigh": 24_576, "max": 32_000}
LEAST_BUDGET = 1_024


def _request(parts: RequestParts) -> Json:
    chosen, options = parts.parameters, parts.options
    system = "\n\n".join(each.content for each in parts.messages if each.role == "system")
    mark = CACHED | record(dict(chosen.extra_body), "cache_control")  # one time to live for all
    system_block: Json = {"type": "text", "text": system, "cache_control": mark}
    tools = [_tool(tool) for tool in parts.tools]
    if tools:
        tools[-1] = tools[-1] | {"cache_control": mark}
    limit, thinking, effort = _thinking(parts)
    schema = options.schema
    form: Json | None = {"type": "json_schema", "schema": dict(schema)} if schema else None
    output: Json = {"effort": effort, "format": form}
    # The conversation, alternating; with a breakpoint where the last one would be too far away
    turns: list[tuple[str, list[Json]]] = []
    for message in parts.messages:
        blocks = list(_blocks(message, parts))
        role = "assistant" if message.role == "assistant" else "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    if len(turns) > 2 and sum(len(blocks) for _, blocks in turns[-2:]) >= LOOKBACK:
        before = turns[-3][1]
        before[-1] = before[-1] | {"cache_control": mark}
    return {
        "model": parts.model,
        "max_tokens": limit,
        "tools": list(tools) or None,
        "system": [system_block] if system else None,
        "messages": [{"role": role, "content": list(blocks)} for role, blocks in turns],
        "cache_control": mark,
        "tool_choice": _tool_choice(parts) if tools else None,
        "thinking": thinking,
        "output_config": {name: value for name, value in output.items() if value} or None,
        "stop_sequences": list(options.stop) or None,
        "temperature": chosen.temperature,
        "top_p": chosen.top_p,
    }


def _tool(tool: ToolSpec) -> Json:
    if tool.hosted is not None:
        return HOSTED[tool.hosted]
    schema: Json = {"type": "object", **tool.parameters}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _tool_choice(parts: RequestParts) -> Json | None:
    match parts.options.tool_choice:
        case "none":
            return {"type": "none"}
        case "required":
            return {"type": "any"}
        case _:
            return None


def _thinking(parts: RequestParts) -> tuple[int, Json | None, str | None]:
    """The limit of the reply, how the model thinks, and its effort."""
    limit, effort = parts.parameters.max_output_tokens, parts.parameters.reasoning_effort
    budget = int(effort) if effort and effort.isdecimal() else None
    if effort in BUDGETS and BUDGET_MODELS.match(parts.model):
        budget = BUDGETS[effort]
    if budget is not None:
        budget = max(LEAST_BUDGET, budget if limit is None else min(budget, limit - 1))
        limit = budget + MOST_TOKENS if limit is None else limit
        return limit, {"type": "enabled", "budget_tokens": budget}, None
    limit = MOST_TOKENS if limit is None else limit
    if not effort:
        return limit, None, None
    if effort == "none":
        return limit, {"type": "disabled"}, None
    return limit, {"type": "adaptive", "display": "summarized"}, effort


def _blocks(message: Message, parts: RequestParts) -> Iterator[Json]:
    match message.role:
        case "system":
            return
        case "tool":
            of: Json = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id or "")}
            yield of | {"content": message.content}
            return
        case "assistant" if message.provider_items and parts.dialect.is_echoed(message):
            for block in message.provider_items:  # a text without words is refused
                if block.get("type") != "text" or text(block, "text"):
                    yield block
            return
    if message.content:
        yield {"type": "text", "text": message.content}
    for call in message.tool_calls:
        arguments = read_arguments(call.arguments or "{}")
        yield {
            "type": "tool_use",
            "id": _id(call.id),
            "name": call.name,
            "input": {"unreadable": call.arguments} if arguments is None else arguments,
        }


def _id(call_id: str) -> str:
    """The id of another provider's call, in the letters that are taken here."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id)


def _whole(events: Sequence[Json]) -> Json | Fault:
    body: Json = {}
    blocks: dict[str, Json] = {}
    inputs: dict[str, str] = {}
    for event in events:
        kind, index = text(event, "type"), str(event.get("index"))
        if kind == "error":
            return Fault(event.get("error"))
        if kind == "message_start":
            body = dict(record(event, "message"))
        elif kind == "content_block_start":
            blocks[index] = dict(record(event, "content_block"))
        elif kind == "content_block_delta" and index in blocks:
            _add(blocks[index], record(event, "delta"))
            inputs[index] = inputs.get(index, "") + text(record(event, "delta"), "partial_json")
        elif kind == "message_delta":
            body |= record(event, "delta")
            counts = record(event, "usage")  # of all that was said so far
            told: Json = {name: count for name, count in counts.items() if count is not None}
            body["usage"] = record(body, "usage") | told
    for index, written in inputs.items():
        if written:
            arguments = read_arguments(written)
            blocks[index]["input"] = {"unreadable": written} if arguments is None else arguments
    body["content"] = list(blocks.values())
    return body if body.get("stop_reason") else Fault(answer=body)


def _add(block: Json, delta: Json) -> None:
    for name in ("text", "thinking", "signature"):
        if piece := text(delta, name):
            block[name] = text(block, name) + piece
    if citation := record(delta, "citation"):
        block["citations"] = [*records(block, "citations"), citation]


def _reply(body: Json, exchange: Exchange) -> Reply | Fault:
    if not isinstance(body.get("content"), list):
        return Fault(what="sent no message with content", answer=body)
    blocks = with_unique_ids(records(body, "content"), "tool_use", "id", exchange.messages)
    calls = tuple(_call(block) for block in blocks if block.get("type") == "tool_use")
    reason = FINISH_REASONS.get(text(body, "stop_reason"))
    refusal = text(record(body, "stop_details"), "explanation") if reason == "refused" else ""
    usage = anthropic_usage(record(body, "usage"))
    most = exchange.request.get("max_tokens")
    if reason == "stop" and isinstance(most, int) and (usage.output_tokens or 0) >= most:
        reason = "length"  # which litellm does not tell
    thoughts = [text(block, "thinking") for block in blocks if block.get("type") == "thinking"]
    notes = (note for block in blocks for note in records(block, "citations"))
    return Reply(
        message=Message(
            role="assistant",
            content="".join(text(block, "text") for block in blocks if block.get("type") == "text")
            or refusal,
            tool_calls=calls,
            reasoning="\n".join(filter(None, thoughts)) or None,
            provider_items=tuple(blocks),
            provider_fields=ProviderFields(origin=exchange.origin),
        ),
        finish_reason="tool_calls" if calls and reason in (None, "stop") else reason,
        usage=usage.model_copy(update={"hosted_calls": _hosted_calls(blocks)}),
        model=text(body, "model") or None,
        citations=tuple(dict.fromkeys(url for note in notes if (url := text(note, "url")))),
        hosted_pages=_pages(blocks),
    )


def _call(block: Json) -> ToolCall:
    arguments = json.dumps(record(block, "input"), ensure_ascii=False)
    return ToolCall(id=text(block, "id"), name=text(block, "name"), arguments=arguments)


def _hosted_calls(blocks: Sequence[Json]) -> dict[str, int] | None:
    names = [text(block, "name") for block in blocks if block.get("type") == "server_tool_use"]
    return dict(Counter(KINDS.get(name, "code_interpreter") for name in names)) or None


def _pages(blocks: Sequence[Json]) -> tuple[PageRef, ...]:
    """The pages that searches listed, and those that were fetched."""
    refs: dict[PageRef, None] = {}
    for block in blocks:
        hits = records(block, "content") if block.get("type") == "web_search_tool_result" else []
        for hit in hits:
            if url := text(hit, "url"):
                refs[PageRef(url=url, how="returned")] = None
        fetched = block.get("type") == "web_fetch_tool_result"
        if fetched and (url := text(record(block, "content"), "url")):
            refs[PageRef(url=url, how="opened")] = None
    return tuple(refs)


API = Api(
    path="/v1/messages",
    request=_request,
    whole=_whole,
    reply=_reply,
    cut=lambda events: {"type": "message_delta", "delta": {"stop_reason": "repetition"}},
    refuses={"seed": "the Messages API takes no seed; leave --model-seed out"},
    own_url="https://api.anthropic.com",
    url_variable="ANTHROPIC_BASE_URL",
    key_variable="ANTHROPIC_API_KEY",
    batches="anthropic",
    headers=lambda key: {"x-api-key": key, "anthropic-version": VERSION},
    has_hosted_tools=True,
    own_names="claude-",
    own_keys="sk-ant-",
)
