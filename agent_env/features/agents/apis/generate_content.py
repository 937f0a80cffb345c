"""Gemini's generateContent as Google documents it: POST /v1beta/models/NAME:generateContent, and
:streamGenerateContent. Refused are fields that generate_content.toml lacks, and results that are
not those of the calls before them."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

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
from agent_env.sdk.records import Message, ToolSpec

PATH = r"/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>generateContent|streamGenerateContent)"
FIELDS = tomllib.loads(
    Path(__file__).with_name("generate_content.toml").read_text(encoding="utf-8")
)
MIN_CACHED = 1024
CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
ERRORS = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)


class GeminiApi:
    """Reads requests and writes replies of this API."""

    def read(self, body: Object, http: HttpRequest) -> ModelRequest:
        """The request; raises Refusal where a field is not as documented."""
        if not http.headers.get("x-goog-api-key"):
            raise Refusal(403, "Method doesn't allow unregistered callers. Please use API Key.")
        place = re.fullmatch(PATH, http.path)
        assert place is not None
        body = known(body, "request")
        turns = joined(body.get("contents", ()))
        _check_turns(turns)
        config = body.get("generationConfig", {})
        functions = functions_in(body)
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
            schema=config.get("responseJsonSchema") or config.get("responseSchema"),
            stop=tuple(config.get("stopSequences", ())),
        )

    def whole(self, request: ModelRequest, answer: Answer, number: int) -> Json:
        """The reply in one piece."""
        return _body(request, answer, self.parts(request, answer), is_last=True)

    def stream(self, request: ModelRequest, answer: Answer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        parts = self.parts(request, answer)
        end = self.end(answer, parts)
        pieces = [
            part | ({"text": piece} if "text" in part else {})
            for part in parts
            for piece in slices(part.get("text", "a call is whole"))
        ]
        for piece in [*pieces, end]:
            body = _body(request, answer, [piece], is_last=piece is end)
            yield b"data: " + json.dumps(body).encode() + b"\r\n\r\n"

    def error(self, refusal: Refusal) -> Any:
        """The JSON of the refusal's body."""
        word = ERRORS.get(refusal.status, "INTERNAL")
        return {"error": {"code": refusal.status, "message": str(refusal), "status": word}}

    def parts(self, request: ModelRequest, answer: Answer) -> list[Json]:
        parts: list[Json] = []
        is_forced = bool(answer.calls) and request.choice != "auto"
        if answer.text and answer.finish != "refused" and not is_forced:
            parts.append({"text": answer.text})
        for call in answer.calls:
            arguments = json.loads(call.arguments)
            parts.append({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
        return parts

    def end(self, answer: Answer, parts: Sequence[Json]) -> Json:
        return {"text": ""}


def functions_in(body: Object) -> list[Json]:
    """The functions that a request declares."""
    tools = body.get("tools", ())
    return [each for tool in tools for each in tool.get("functionDeclarations", ())]


def known(value: Any, kind: str) -> Any:
    """The value with the names of its fields in camelCase, for either form is taken; Refusal for an
    unknown one."""
    if isinstance(value, list):
        return [known(each, kind) for each in value]
    if kind not in FIELDS:
        return value
    fields = {re.sub("_(.)", lambda match: match[1].upper(), name): value[name] for name in value}
    if unknown := [name for name in fields if name not in FIELDS[kind]]:
        where = f"Unknown name \"{unknown[0]}\" at '{kind}': Cannot find field."
        raise Refusal(400, f"Invalid JSON payload received. {where}")
    return {name: known(inner, name) for name, inner in fields.items()}


def joined(contents: Sequence[Object]) -> list[Json]:
    """The turns; several contents of one role in a row are one, as the SDK keeps a stream's."""
    turns: list[Json] = []
    for content in contents:
        role = content.get("role", "user")
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"] += content["parts"]
        else:
            turns.append({"role": role, "parts": list(content["parts"])})
    return turns


def inner(turn: Json, name: str) -> list[Any]:
    """What the turn's parts of this kind hold."""
    return [part[name] for part in turn["parts"] if name in part]


def _check_turns(turns: Sequence[Json]) -> None:
    """Refusal for a wrong order, or results that are not those of the calls before."""
    roles = [turn["role"] for turn in turns]
    if not turns or not {"user", "model"}.issuperset(roles):
        problem = "Please use a valid role: user, model." if turns else "contents is not specified"
        raise Refusal(400, f"* GenerateContentRequest.contents: {problem}")
    if roles[0] != "user" or roles[-1] != "user":
        raise Refusal(400, "Please ensure that multiturn requests begin and end with a user role.")
    for before, turn in pairwise([{"parts": []}, *turns]):
        calls, results = inner(before, "functionCall"), inner(turn, "functionResponse")
        if sorted(each["name"] for each in calls) != sorted(each["name"] for each in results):
            raise Refusal(400, UNEQUAL)


def _messages(system_content: Object, turns: Sequence[Json]) -> Iterator[Message]:
    """The conversation; results find their calls by id, else by their order."""
    if system := "".join(part.get("text", "") for part in system_content.get("parts", ())):
        yield Message(role="system", content=system)
    ids: list[str] = []
    for number, turn in enumerate(turns):
        text = "".join(part.get("text", "") for part in turn["parts"] if not part.get("thought"))
        if turn["role"] == "model":
            calls = inner(turn, "functionCall")
            ids = [call.get("id") or f"{number}_{place}" for place, call in enumerate(calls)]
            arguments = [json.dumps(call.get("args") or {}) for call in calls]
            named = zip([call["name"] for call in calls], arguments, ids, strict=True)
            calls = [tool_call(*each) for each in named]
            yield Message(role="assistant", content=text, tool_calls=tuple(calls))
            continue
        for place, result in enumerate(inner(turn, "functionResponse")):
            output = result["response"].get("result", json.dumps(result["response"]))
            yield Message(role="tool", content=output, tool_call_id=result.get("id") or ids[place])
        if text:
            yield Message(role="user", content=text)


def _offer(function: Object) -> ToolSpec:
    schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
    description = function.get("description", "")
    return ToolSpec(name=function["name"], description=description, parameters=schema)


def _body(request: ModelRequest, answer: Answer, parts: Sequence[Json], is_last: bool) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        ends = {"length": "MAX_TOKENS", "refused": "SAFETY"}
        candidate["finishReason"] = ends.get(answer.finish or "", "STOP")
    body: Json = {"candidates": [candidate], "modelVersion": request.model}
    return body if answer.usage is None else body | {"usageMetadata": _usage(answer.usage)}


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
