"""Gemini's generateContent as Google documents it: POST /v1beta/models/NAME:generateContent, and
:streamGenerateContent, whose events end with the signature on an empty text.

Refused in every mode: fields that gemini.toml lacks, results that are not those of the calls before
them, a key elsewhere than in its header. In mode `gemini` replies have thoughts where a request
asks for them; the first call of each step of this turn must carry its signature, and none may be
changed. The cache is implicit: usage tells what an earlier request of the conversation had, from
MIN_CACHED tokens on. Not covered: media, cached contents, further candidates,
hosted tools, which are taken and never called.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from agent_env.extensions.fake_server.channel import HttpRequest
from agent_env.extensions.fake_server.conversation import (
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
from agent_env.extensions.fake_server.modes import (
    CallSignature,
    ErrorStyle,
    Mode,
    binding,
    signature,
)
from agent_env.sdk.records import Message, ToolSpec

PATH = r"/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)"
FIELDS = tomllib.loads(Path(__file__).with_name("gemini.toml").read_text(encoding="utf-8"))
MIN_CACHED = 1024
STANDARD = str.maketrans("-_", "+/")
"""From the alphabet of base64 in which the SDK sends a signature back."""
UNCHECKED = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Taken for the signature of a call that another model made."""
CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
HOSTED = frozenset({"googleSearch", "codeExecution"})
UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools"
    " to work correctly, and missing thought_signature may lead to degraded model performance."
    " Additional data, function call `default_api:{name}` , position {position}."
)


class GeminiApi:
    """Reads requests and writes replies of this API."""

    def __init__(self, mode: Mode) -> None:
        self.error_style: ErrorStyle = "google"
        self._signs = isinstance(mode.reasoning, CallSignature)

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if not http.headers.get("x-goog-api-key"):
            raise Refusal(403, "Method doesn't allow unregistered callers. Please use API Key.")
        place = re.fullmatch(PATH, http.path)
        assert place is not None
        body = _known(body, "request")
        turns = _joined(body.get("contents", ()))
        _check_turns(turns, self._signs)
        tools, config = body.get("tools", ()), body.get("generationConfig", {})
        functions = [each for tool in tools for each in tool.get("functionDeclarations", ())]
        _check_options(body, functions, any(HOSTED & tool.keys() for tool in tools), place["model"])
        choosing = body.get("toolConfig", {}).get("functionCallingConfig", {})
        choice = CHOICES[choosing.get("mode", "AUTO")]
        allowed: Sequence[str] = choosing.get("allowedFunctionNames") or ()
        return ModelRequest(
            model=place["model"],
            turns=tuple(_messages(body.get("systemInstruction", {}), turns)),
            offers=() if choice == "none" else tuple(map(_offer, functions)),
            stream=place["method"] == "streamGenerateContent",
            wants_usage=True,
            choice=allowed[0] if choice == "required" and len(allowed) == 1 else choice,
            max_tokens=config.get("maxOutputTokens"),
            tool_texts=tuple(map(json.dumps, functions)),
            thinks=self._signs and config.get("thinkingConfig", {}).get("includeThoughts") is True,
            reasoning_format=CallSignature() if self._signs else None,
            schema=config.get("responseJsonSchema") or config.get("responseSchema"),
            stop=tuple(config.get("stopSequences", ())),
            caches=True,
        )

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json:
        """The reply in one piece."""
        if answer.hosted:
            raise Refusal(400, "hosted tools are not played over this API")
        parts = _parts(request, answer)
        if parts and not answer.calls and self._signs:
            parts[-1]["thoughtSignature"] = _text_signature(parts)
        return self._body(request, answer, parts, is_last=True)

    def stream(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        parts, end = _parts(request, answer), {"text": ""}
        if self._signs and not answer.calls:
            end["thoughtSignature"] = _text_signature(parts)
        pieces = [
            part | ({"text": piece} if "text" in part else {})
            for part in parts
            for piece in slices(part.get("text", "a call is whole"))
        ]
        for piece in [*pieces, end]:
            body = self._body(request, answer, [piece], is_last=piece is end)
            yield b"data: " + json.dumps(body).encode() + b"\r\n\r\n"

    def _body(
        self, request: ModelRequest, answer: ScriptedAnswer, parts: list[Json], is_last: bool
    ) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        if is_last:
            ends = {"length": "MAX_TOKENS", "refused": "SAFETY"}
            candidate["finishReason"] = ends.get(answer.finish or "", "STOP")
        body: Json = {"candidates": [candidate], "modelVersion": request.model}
        if (usage := usage_of(request, answer)) is None:
            return body
        thoughts = count_tokens([answer.reasoning or ""])
        return body | {
            "usageMetadata": _usage(replace(usage, reasoning=usage.reasoning or thoughts))
        }


def _known(value: Any, kind: str) -> Any:
    """The value with the names of its fields in camelCase, for either form is taken; Refusal for an
    unknown one."""
    if isinstance(value, list):
        return [_known(each, kind) for each in value]
    if kind not in FIELDS:
        return value
    fields = {re.sub("_(.)", lambda match: match[1].upper(), name): value[name] for name in value}
    if unknown := [name for name in fields if name not in FIELDS[kind]]:
        where = f"Unknown name \"{unknown[0]}\" at '{kind}': Cannot find field."
        raise Refusal(400, f"Invalid JSON payload received. {where}")
    return {name: _known(inner, name) for name, inner in fields.items()}


def _joined(contents: Sequence[Object]) -> list[Json]:
    """The turns; several contents of one role in a row are one, as the SDK keeps a stream's."""
    turns: list[Json] = []
    for content in contents:
        role = content.get("role", "user")
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"] += content["parts"]
        else:
            turns.append({"role": role, "parts": list(content["parts"])})
    return turns


def _check_turns(turns: Sequence[Json], signs: bool) -> None:
    """Refusal for a wrong order, results that are not those of the calls before, and, where the
    model `signs`, for a signature that lacks on a call of this turn, or was changed."""
    roles = [turn["role"] for turn in turns]
    if not turns or not {"user", "model"}.issuperset(roles):
        problem = "Please use a valid role: user, model." if turns else "contents is not specified"
        raise Refusal(400, f"* GenerateContentRequest.contents: {problem}")
    if roles[0] != "user" or roles[-1] != "user":
        raise Refusal(400, "Please ensure that multiturn requests begin and end with a user role.")
    for before, turn in pairwise([{"parts": []}, *turns]):
        calls, results = _inner(before, "functionCall"), _inner(turn, "functionResponse")
        if sorted(each["name"] for each in calls) != sorted(each["name"] for each in results):
            raise Refusal(400, UNEQUAL)
    texts = [n for n, turn in enumerate(turns) if roles[n] == "user" and _inner(turn, "text")]
    for number, turn in enumerate(turns if signs else ()):
        calls = [part for part in turn["parts"] if "functionCall" in part]
        if calls and number > max(texts, default=-1) and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise Refusal(400, UNSIGNED.format(name=name, position=number + 1))
        id_ = str(calls[0]["functionCall"].get("id")) if calls else ""
        if calls and binding({"tool_calls": [{"id": id_}]}) is None:
            continue  # another model's call
        right = signature(id_) if calls else _text_signature(turn["parts"])
        marks = frozenset(_inner(turn, "thoughtSignature")) - UNCHECKED
        if {mark.translate(STANDARD) for mark in marks} - {right}:
            raise Refusal(400, "Corrupted thought signature.")


def _inner(turn: Json, name: str) -> list[Any]:
    return [part[name] for part in turn["parts"] if name in part]


def _text_signature(parts: Sequence[Object]) -> str:
    return signature("text", *(part["text"] for part in parts if part.get("text")))


def _check_options(body: Object, functions: Sequence[Object], has_hosted: bool, model: str) -> None:
    """Refusal for options that do not go together, or that this generation does not take."""
    config, tool_config = body.get("generationConfig", {}), body.get("toolConfig", {})
    choosing = tool_config.get("functionCallingConfig", {})
    allowed = frozenset(choosing.get("allowedFunctionNames") or ())
    unknown = allowed - {function["name"] for function in functions}
    thinking = config.get("thinkingConfig", {})
    is_old = re.match(r"gemini-[12]\b", model) is not None
    is_json = config.get("responseMimeType") == "application/json"
    has_schema = bool({"responseJsonSchema", "responseSchema"} & config.keys())
    invokes = tool_config.get("includeServerSideToolInvocations") is True
    faults = {
        "Invalid value at 'tool_config.function_calling_config.mode'": choosing.get("mode", "AUTO")
        not in CHOICES,
        "Allowed function names should only be set when function calling mode is ANY.": allowed
        and choosing.get("mode") not in ("ANY", "VALIDATED"),
        f"allowed_function_names has what is not declared: {', '.join(unknown)}": unknown,
        "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with"
        " Function calling.": functions and has_hosted and not invokes,
        "response_schema is only allowed when response_mime_type is application/json.": has_schema
        and not is_json,
        "Function calling with a response mime type: 'application/json' is unsupported": is_json
        and functions
        and is_old,
        "You can only set one of thinking budget and thinking level.": {
            "thinkingBudget", "thinkingLevel"
        } <= thinking.keys(),
        "Thinking level is not supported for this model.": "thinkingLevel" in thinking and is_old,
        "max_output_tokens must be positive.": config.get("maxOutputTokens", 1) < 1,
        "The number of stop sequences must be at most 5.": len(config.get("stopSequences", ())) > 5,
    }  # fmt: skip
    if problem := next((text for text, is_there in faults.items() if is_there), None):
        raise Refusal(400, problem)


def _messages(system_content: Object, turns: Sequence[Json]) -> Iterator[Message]:
    """The conversation as policies read it; results find their calls by id, else by their order."""
    if system := "".join(part.get("text", "") for part in system_content.get("parts", ())):
        yield Message(role="system", content=system)
    ids: list[str] = []
    for number, turn in enumerate(turns):
        text = "".join(part.get("text", "") for part in turn["parts"] if not part.get("thought"))
        if turn["role"] == "model":
            calls = _inner(turn, "functionCall")
            ids = [call.get("id") or f"{number}_{place}" for place, call in enumerate(calls)]
            arguments = [json.dumps(call.get("args") or {}) for call in calls]
            named = zip([call["name"] for call in calls], arguments, ids, strict=True)
            calls = [tool_call(*each) for each in named]
            yield Message(role="assistant", content=text, tool_calls=tuple(calls))
            continue
        for place, result in enumerate(_inner(turn, "functionResponse")):
            output = result["response"].get("result", json.dumps(result["response"]))
            yield Message(role="tool", content=output, tool_call_id=result.get("id") or ids[place])
        if text:
            yield Message(role="user", content=text)


def _offer(function: Object) -> ToolSpec:
    schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
    description = function.get("description", "")
    return ToolSpec(name=function["name"], description=description, parameters=schema)


def _parts(request: ModelRequest, answer: ScriptedAnswer) -> list[Json]:
    """The parts without the signature of a text, which stands elsewhere in a stream."""
    parts: list[Json] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    is_forced = bool(answer.calls) and request.choice != "auto"
    if answer.text and answer.finish != "refused" and not is_forced:
        parts.append({"text": answer.text})
    for call in answer.calls:
        arguments = json.loads(call.arguments)
        parts.append({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
    if answer.calls and request.reasoning_format is not None:
        parts[-len(answer.calls)]["thoughtSignature"] = signature(answer.calls[0].id)
    return parts


def _usage(tokens: Tokens) -> Json:
    """As Google counts: thoughts beside the text, and no count that is 0."""
    thoughts, cached = tokens.reasoning or 0, tokens.cached or 0
    counts = {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": tokens.output - thoughts,
        "totalTokenCount": tokens.input + tokens.output,
        "thoughtsTokenCount": thoughts,
        "cachedContentTokenCount": cached if cached >= MIN_CACHED else 0,
    }
    return {name: count for name, count in counts.items() if count}
