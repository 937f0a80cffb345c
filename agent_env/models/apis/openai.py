"""The Responses API, used statelessly: nothing is stored at the server between steps.

What the model put out goes back as it was (Message.provider_items) to the server it came from, so
that a reasoning model keeps its thread; another server gets the texts and calls alone. The API has
no seed; asking for one is refused when the model is made. The provider runs hosted tools (web
search, code interpreter) inside one reply: none of it passes through our toolbox.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from agent_env.models.addresses import OPENAI_URL
from agent_env.models.api import Api, Exchange, Fault, RequestParts, openai_request
from agent_env.models.chat import (
    Json,
    arguments_as_object,
    record,
    records,
    text,
    with_unique_ids,
)
from agent_env.models.settings import SERVICE_TIERS
from agent_env.models.usage import read_usage
from agent_env.records.schema import (
    Message,
    PageRef,
    ProviderFields,
    Reply,
    ToolCall,
    ToolSpec,
)

REASONING_MODELS = re.compile(r"(o\d|gpt-[5-9]|codex)(?!.{0,200}chat)")
"""By their names, as far as anything tells."""
LAST_EVENTS = ("response.completed", "response.incomplete", "response.failed")


def _conversation(parts: RequestParts) -> Json:
    hosted = [tool.hosted for tool in parts.tools if tool.hosted in INCLUDED]
    included: list[JsonValue] = [INCLUDED[name] for name in hosted]
    # other models answer 400 when they are asked for their reasoning
    if parts.parameters.reasoning_effort or REASONING_MODELS.match(parts.model):
        included.insert(0, "reasoning.encrypted_content")
    return {
        "input": [item for each in parts.messages for item in _items(each, parts)],
        "store": False,
        "include": included or None,
    }


def _settings(parts: RequestParts) -> Json:
    effort, schema = parts.parameters.reasoning_effort, parts.options.schema
    named: Json = {"type": "json_schema", "name": "answer", "strict": True}
    return {
        "text": None if schema is None else {"format": named | {"schema": dict(schema)}},
        "max_output_tokens": parts.parameters.max_output_tokens,
        "reasoning": {"effort": effort} if effort else None,
    }


def _items(message: Message, parts: RequestParts) -> list[Json]:
    match message.role:
        case "tool":
            return [
                {
                    "type": "function_call_output",
                    "call_id": message.tool_call_id,
                    "output": message.content,
                }
            ]
        case "assistant" if message.provider_items and parts.dialect.is_echoed(message):
            # The items as they came; without their ids where reasoning among them came
            # unencrypted, which the server does not remember: it would look for what the ids name
            items = [item for item in message.provider_items if not _is_lost(item)]
            if len(items) < len(message.provider_items):
                items = [{name: item[name] for name in item if name != "id"} for item in items]
            return [
                {**item, "arguments": arguments_as_object(text(item, "arguments"))}
                if item.get("type") == "function_call"
                else item
                for item in items
            ]
        case "assistant":
            texts = [_text_item("assistant", message.content)] if message.content else []
            return texts + [_call_item(call) for call in message.tool_calls]
        case "system":
            return [_text_item(parts.parameters.system_role, message.content)]
    return [_text_item(message.role, message.content)]


def _whole(events: Sequence[Json]) -> Json | Fault:
    done: list[Json] = []
    for event in events:
        kind = text(event, "type")
        if kind == "error":
            return Fault(event)
        if kind == "response.output_item.done":
            done.append(record(event, "item"))
        if kind in LAST_EVENTS:
            body = record(event, "response")
            return body if records(body, "output") else {**body, "output": list(done)}
    return Fault()


def _cut(events: Sequence[Json]) -> Json:
    """With the items that were done, and what came of the one after them."""
    done: list[Json] = []
    texts: dict[str, str] = {}
    model = ""
    for event in events:
        model = model or text(record(event, "response"), "model")
        kind = text(event, "type")
        if kind == "response.output_item.done":
            done.append(record(event, "item"))
            texts = {}
        elif kind.endswith(".delta"):
            texts[kind] = texts.get(kind, "") + text(event, "delta")
    for kind, piece in texts.items():
        if "reasoning" in kind:
            part: Json = {"type": "reasoning_text", "text": piece}
            done.append({"type": "reasoning", "content": [part]})
        elif kind == "response.output_text.delta":
            part = {"type": "output_text", "text": piece, "annotations": []}
            done.append({"type": "message", "role": "assistant", "content": [part]})
    body: Json = {"status": "incomplete", "model": model, "output": list(done)}
    return {"type": "response.incomplete", "response": body}


def _reply(body: Json, exchange: Exchange) -> Reply | Fault:
    if body.get("error"):
        return Fault(body["error"], answer=body)
    status = text(body, "status") or "completed"
    items = with_unique_ids(records(body, "output"), "function_call", "call_id", exchange.messages)
    if status not in ("completed", "incomplete") or (status == "completed" and not items):
        return Fault(what=f"sent a response that is {status} and has no output", answer=body)
    texts = [item for item in items if item.get("type") == "message"]
    parts = [part for item in texts for part in records(item, "content")]
    tokens = read_usage(record(body, "usage"), "input_tokens", "output_tokens")
    # Whether the reply is as long as it may be; llama.cpp and others call it `completed` then
    most = exchange.request.get("max_output_tokens")
    notes = [note for part in parts for note in records(part, "annotations")]
    cited = [text(note, "url") for note in notes if note.get("type") == "url_citation"]
    # By kind (search, open_page, find_in_page, code_interpreter), and the containers that ran code
    counts = Counter(kind for item in items if (kind := _kind(item)) is not None)
    containers = {text(item, "container_id") for item in items} - {""}
    if containers:
        counts["container"] = len(containers)
    return Reply(
        message=Message(
            role="assistant",
            content="".join(text(part, "text", "refusal") for part in parts),
            tool_calls=tuple(_call(item) for item in items if item.get("type") == "function_call"),
            reasoning=_reasoning(items),
            provider_items=tuple(items),
            provider_fields=ProviderFields(origin=exchange.origin),
        ),
        finish_reason=_finish_reason(
            body, items, parts, isinstance(most, int) and (tokens.output_tokens or 0) >= most
        ),
        usage=tokens.model_copy(update={"hosted_calls": dict(counts) or None}),
        model=text(body, "model") or None,
        citations=tuple(dict.fromkeys(url for url in cited if url)),
        hosted_pages=pages(items),
    )


def _text_item(role: str, content: str) -> Json:
    return {"role": role, "content": content}


def _call_item(call: ToolCall) -> Json:
    return {
        "type": "function_call",
        "call_id": call.id,
        "name": call.name,
        "arguments": arguments_as_object(call.arguments),
    }


def _is_lost(item: Json) -> bool:
    return item.get("type") == "reasoning" and not item.get("encrypted_content")


def _tool(tool: ToolSpec) -> Json:
    if tool.hosted is not None:
        if tool.hosted == "code_interpreter":
            return {"type": tool.hosted, "container": {"type": "auto"}}
        return {"type": tool.hosted}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": False,  # strict schemas forbid optional parameters
    }


def _call(item: Json) -> ToolCall:
    return ToolCall(
        id=text(item, "call_id"), name=text(item, "name"), arguments=text(item, "arguments")
    )


def _reasoning(items: list[Json]) -> str | None:
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    parts = [
        part for item in thoughts for part in records(item, "content") or records(item, "summary")
    ]
    return "\n".join(text(part, "text") for part in parts) or None


def _finish_reason(
    answer: Json, items: list[Json], parts: list[Json], at_limit: bool
) -> Literal["stop", "tool_calls", "length", "refused"]:
    why = text(record(answer, "incomplete_details"), "reason")
    if why == "content_filter" or any(part.get("type") == "refusal" for part in parts):
        return "refused"
    if answer.get("status") == "incomplete":
        return "length"
    calls = [item for item in items if item.get("type") == "function_call"]
    if at_limit and not (calls and all(_is_complete(call) for call in calls)):
        return "length"
    return "tool_calls" if calls else "stop"


def _is_complete(call: Json) -> bool:
    arguments = text(call, "arguments")
    return arguments_as_object(arguments) == arguments


API = Api(
    path="/responses",
    request=openai_request(_conversation, _tool, _settings),
    whole=_whole,
    cut=_cut,
    reply=_reply,
    refuses={"seed": "the Responses API takes no seed; leave --model-seed out"},
    own_url=OPENAI_URL,
    url_variable="OPENAI_BASE_URL",
    key_variable="OPENAI_API_KEY",
    batches="openai",
    tiers=SERVICE_TIERS,
    is_openai=True,
    has_hosted_tools=True,
    own_names=r"gpt-|chatgpt-|codex|o\d",
    own_keys=r"sk-(?!ant-)",
)


INCLUDED: dict[str, str] = {
    "web_search": "web_search_call.action.sources",
    "code_interpreter": "code_interpreter_call.outputs",
}
"""What must be asked for by name, or the reply leaves it out."""


def pages(items: Sequence[Json]) -> tuple[PageRef, ...]:
    """The pages that were opened or looked through, and the sources that searches consulted."""
    refs: dict[PageRef, None] = {}
    for item in items:
        action = record(item, "action")
        if item.get("type") != "web_search_call":
            continue
        if (url := text(action, "url")) and action.get("type") != "search":
            refs[PageRef(url=url, how="opened")] = None
        for source in records(action, "sources"):
            if url := text(source, "url"):
                refs[PageRef(url=url, how="returned")] = None
    return tuple(refs)


def _kind(item: Json) -> str | None:
    match item.get("type"):
        case "web_search_call":
            return text(record(item, "action"), "type") or "search"
        case "code_interpreter_call":
            return "code_interpreter"
    return None
