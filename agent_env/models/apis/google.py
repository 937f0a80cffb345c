"""Gemini's generateContent, as Google's Gemini API speaks it (v1beta).

A reply's parts go back as they came (Message.provider_items) to the server they came from, each
thought signature on the very part that it stood on: Gemini 3 refuses a function call of the current
turn without it. A stream's pieces of text become one part, but never across a signature. A call
that another model made goes out with the mark that the documents name for it.

Google's terms forbid to keep or to analyse the links of its search: of `google_search` the queries
are counted, and no address is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from pydantic import JsonValue

from agent_env.models.api import Api, Exchange, Fault, RequestParts
from agent_env.models.chat import (
    Json,
    arguments_as_object,
    ids_in,
    record,
    records,
    text,
    unique_id,
    written,
)
from agent_env.models.usage import gemini_usage
from agent_env.records.schema import Message, ProviderFields, Reply, ToolCall, ToolSpec

THINKING_MODELS = re.compile(r"gemini-(?:2\.5-(?!flash-lite)|[3-9])(?!.{0,100}(?:image|tts|live))")
"""By their names: others answer 400 when they are asked for their thoughts."""
BUDGET_MODELS = re.compile(r"gemini-2\.5")
"""Those whose thinking is bounded in tokens; later ones have levels."""
BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576}
"""Tokens for a reasoning effort, as Google's own route for OpenAI's clients has them."""
SIGNING_MODELS = re.compile(r"gemini-[3-9]")
UNSIGNED = "skip_thought_signature_validator"
"""In place of a signature, on a call that this model did not make."""
MODES = {"required": "ANY", "none": "NONE"}
"""Of function calling; AUTO is what a server does anyway."""
HOSTED = {"web_search": "googleSearch", "code_interpreter": "codeExecution"}
"""Google's names of the hosted tools."""
BLOCKED = "PROMPT_BLOCKED"
"""Our finish reason for a prompt that was refused before the model read it."""
FinishReason = Literal["stop", "length", "refused"]
FINISH_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(
        f"{BLOCKED} SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII ESCALATION"
        " IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION PUP_LIMITED_DISABLED"
        " MODEL_ARMOR".split(),
        "refused",
    ),
}
FAILED_CALLS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS")
"""Reasons that tell of a call which the model wrote badly."""


def _request(parts: RequestParts) -> Json:
    systems = [message.content for message in parts.messages if message.role == "system"]
    functions = [_function(tool) for tool in parts.tools if tool.hosted is None]
    hosted: list[JsonValue] = [{HOSTED[tool.hosted]: {}} for tool in parts.tools if tool.hosted]
    declared: list[JsonValue] = [{"functionDeclarations": functions}] if functions else []
    mode = MODES.get(parts.options.tool_choice) if functions else None
    tool_config = _sent(
        functionCallingConfig=None if mode is None else {"mode": mode},
        includeServerSideToolInvocations=True if functions and hosted else None,
    )
    chosen, options = parts.parameters, parts.options
    return {
        "systemInstruction": {"parts": [{"text": each} for each in systems]} if systems else None,
        "contents": _contents(parts),
        "tools": declared + hosted or None,
        "toolConfig": tool_config or None,
        "generationConfig": _sent(
            temperature=chosen.temperature,
            topP=chosen.top_p,
            seed=chosen.seed_of(options),
            maxOutputTokens=chosen.max_output_tokens,
            stopSequences=list(options.stop) or None,
            responseMimeType=None if options.schema is None else "application/json",
            responseJsonSchema=None if options.schema is None else dict(options.schema),
            thinkingConfig=_thinking_config(parts.model, chosen.reasoning_effort) or None,
        )
        or None,
    }


def _function(tool: ToolSpec) -> JsonValue:
    schema = {"parametersJsonSchema": tool.parameters} if tool.parameters else {}
    return {"name": tool.name, "description": tool.description, **schema}


def _sent(**fields: JsonValue) -> Json:
    """The fields that are set."""
    return {name: value for name, value in fields.items() if value is not None}


def _thinking_config(model: str, effort: str | None) -> Json:
    """An effort is a number of tokens, or a word that stands for one or for a level."""
    if effort is None:
        return {"includeThoughts": True} if THINKING_MODELS.match(model) else {}
    budget = BUDGETS.get(effort) if BUDGET_MODELS.match(model) else None
    budget = int(effort) if effort.isdecimal() else budget
    if budget is None:
        return {"thinkingLevel": effort.upper(), "includeThoughts": True}
    return {"thinkingBudget": budget, "includeThoughts": True} if budget else {"thinkingBudget": 0}


def _contents(parts: RequestParts) -> list[JsonValue]:
    """The turns, by roles that alternate: results of one step's calls are one turn, with what the
    user says behind them."""
    contents: list[Json] = []
    calls: dict[str, Json] = {}
    for message in parts.messages:
        if message.role == "system":
            continue
        role = "model" if message.role == "assistant" else "user"
        if message.role == "assistant":
            pieces = _parts_of(message, parts)
            sent = [record(each, "functionCall") for each in pieces if "functionCall" in each]
            calls |= {
                call.id: fields for call, fields in zip(message.tool_calls, sent, strict=False)
            }
        elif message.role == "tool":
            pieces = [_response(message, calls.get(message.tool_call_id or "", {}))]
        else:
            pieces = [{"text": message.content}]
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] = [*records(contents[-1], "parts"), *pieces]
        else:
            contents.append({"role": role, "parts": list(pieces)})
    return list(contents)


def _parts_of(message: Message, parts: RequestParts) -> list[Json]:
    if message.provider_items and parts.dialect.is_echoed(message):
        return list(message.provider_items)
    pieces: list[Json] = [{"text": message.content}] if message.content else []
    for call in message.tool_calls:
        arguments: JsonValue = json.loads(arguments_as_object(call.arguments))
        pieces.append({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
    if message.tool_calls and SIGNING_MODELS.match(parts.model):
        first = len(pieces) - len(message.tool_calls)
        pieces[first] = pieces[first] | {"thoughtSignature": UNSIGNED}
    return pieces or [{"text": ""}]


def _response(message: Message, call: Json) -> Json:
    """The result of the call, with its id if the model gave it one; of results without, the order
    says whose they are."""
    response: Json = {"name": text(call, "name"), "response": {"result": message.content}}
    return {"functionResponse": {"id": call["id"]} | response if call.get("id") else response}


def _whole(events: Sequence[Json]) -> Json | Fault:
    """The body that the server would have sent in one piece."""
    body: Json = {}
    candidate: Json = {}
    pieces: list[Json] = []
    for event in events:
        body |= event
        for each in records(event, "candidates")[:1]:
            pieces += records(record(each, "content"), "parts")
            candidate |= each
    joined: list[Json] = []
    for piece in pieces:
        if joined and _is_plain(piece) and _is_plain(joined[-1]):
            last = joined[-1]
            if last.get("thought") == piece.get("thought"):
                joined[-1] = last | {"text": text(last, "text") + text(piece, "text")}
                continue
        joined.append(piece)
    content: Json = {"role": "model", "parts": list(joined)}
    body["candidates"] = [candidate | {"content": content}] if candidate else []
    is_blocked = bool(record(body, "promptFeedback").get("blockReason"))
    return body if is_blocked or candidate.get("finishReason") else Fault(answer=body)


def _is_plain(part: Json) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _reply(body: Json, exchange: Exchange) -> Reply | Fault:
    candidate = next(iter(records(body, "candidates")), None)
    if candidate is None:
        blocked = record(body, "promptFeedback")
        if not blocked.get("blockReason"):
            return Fault(what="sent no candidate", answer=body)
        candidate = {"finishReason": BLOCKED, "finishMessage": blocked["blockReason"]}
    reason, why = text(candidate, "finishReason"), text(candidate, "finishMessage")
    if reason in FAILED_CALLS:
        failed: Json = {"code": reason, "failed_generation": why or reason}
        return Fault(failed, answer=body)
    if reason == "MALFORMED_RESPONSE":  # may succeed when it is made again
        return Fault(what=f"gave up a reply of the model ({reason}) {why[:200]}", answer=body)
    items, calls = _with_ids(records(record(candidate, "content"), "parts"), exchange.messages)
    ours = FINISH_REASONS.get(reason)
    end: Json = {"finishReason": reason, "finishMessage": why}
    usage = gemini_usage(record(body, "usageMetadata"))
    return Reply(
        message=Message(
            role="assistant",
            content="".join(_texts(items, is_thought=False)),
            tool_calls=calls,
            reasoning="".join(_texts(items, is_thought=True)) or None,
            provider_items=tuple(items),
            provider_fields=ProviderFields(
                origin=exchange.origin, message={} if ours in ("stop", "length") else end
            ),
        ),
        finish_reason="tool_calls" if calls and ours in ("stop", None) else ours,
        usage=usage.model_copy(update={"hosted_calls": _hosted_calls(candidate, items)}),
        model=text(body, "modelVersion") or None,
    )


def _with_ids(
    parts: Iterable[Json], messages: Sequence[Message]
) -> tuple[list[Json], tuple[ToolCall, ...]]:
    """The parts and their calls. A call without an id, as of Gemini 2, gets one among us alone; one
    whose id was there before gets another one everywhere."""
    taken = ids_in(messages)
    items: list[Json] = []
    calls: list[ToolCall] = []
    for part in parts:
        if "functionCall" in part:
            sent = record(part, "functionCall")
            id_ = unique_id(text(sent, "id"), taken, len(messages))
            taken.add(id_)
            arguments = written(sent.get("args") or {})
            calls.append(ToolCall(id=id_, name=text(sent, "name"), arguments=arguments))
            if text(sent, "id") not in ("", id_):
                part = {**part, "functionCall": {**sent, "id": id_}}
        items.append(part)
    return items, tuple(calls)


def _texts(parts: Iterable[Json], is_thought: bool) -> Iterator[str]:
    return (text(part, "text") for part in parts if (part.get("thought") is True) is is_thought)


def _hosted_calls(candidate: Json, parts: Iterable[Json]) -> dict[str, int] | None:
    """Queries of the provider's search and runs of its interpreter; None where there were none."""
    queries = record(candidate, "groundingMetadata").get("webSearchQueries")
    counts = {
        "search": len(queries) if isinstance(queries, list) else 0,
        "code_interpreter": sum("executableCode" in part for part in parts),
    }
    return {name: count for name, count in counts.items() if count} or None


API = Api(
    path="/models/{model}:generateContent",
    stream_path="/models/{model}:streamGenerateContent?alt=sse",
    stream_fields={},
    request=_request,
    whole=_whole,
    cut=lambda events: {"candidates": [{"finishReason": "MAX_TOKENS"}]},
    reply=_reply,
    own_url="https://generativelanguage.googleapis.com/v1beta",
    url_variable="GEMINI_BASE_URL",
    key_variable="GEMINI_API_KEY",
    batches="google",
    headers=lambda key: {"x-goog-api-key": key},
    has_hosted_tools=True,
    own_names="gemini-",
    own_keys=r"AIza|AQ\.",
)
