"""Gemini's generateContent as Google documents it: POST /v1beta/models/NAME:generateContent, and
:streamGenerateContent, whose events end with the signature on an empty text.

Refused in every mode: unknown fields, turns whose roles do not alternate, results that are not as
many as the calls before them, a key elsewhere than in its header. In mode `gemini` replies have
thoughts; the first call of each step of this turn must carry its signature, and none may be
changed. The cache is implicit: usage tells what an earlier request of the conversation had, from
MIN_CACHED tokens on. Not covered: media, cached contents, candidates beside the first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
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
MIN_CACHED = 1024
STANDARD = str.maketrans("-_", "+/")
"""From the alphabet of base64 in which the SDK sends a signature back."""
UNCHECKED = frozenset({"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"})
"""Taken for the signature of a call that another model made."""
KNOWN = {
    "": "cachedContent contents generationConfig labels model safetySettings serviceTier store"
    " systemInstruction toolConfig tools",
    "contents[]": "parts role",
    "contents[].parts[]": "codeExecutionResult executableCode fileData functionCall"
    " functionResponse inlineData mediaResolution partMetadata text thought thoughtSignature"
    " toolCall toolResponse videoMetadata",
    "contents[].parts[].functionCall": "args id name",
    "contents[].parts[].functionResponse": "id name parts response scheduling willContinue",
    "tools[]": "codeExecution computerUse fileSearch functionDeclarations googleMaps googleSearch"
    " googleSearchRetrieval urlContext",
    "tools[].functionDeclarations[]": "behavior description name parameters parametersJsonSchema"
    " response responseJsonSchema",
    "toolConfig": "functionCallingConfig includeServerSideToolInvocations retrievalConfig",
    "toolConfig.functionCallingConfig": "allowedFunctionNames mode",
    "generationConfig": "candidateCount enableEnhancedCivicAnswers frequencyPenalty imageConfig"
    " logprobs maxOutputTokens mediaResolution presencePenalty responseJsonSchema responseLogprobs"
    " responseMimeType responseModalities responseSchema seed speechConfig stopSequences"
    " temperature thinkingConfig topK topP",
    "generationConfig.thinkingConfig": "includeThoughts thinkingBudget thinkingLevel",
}
"""The fields of a request by their place, in camelCase; the other form is taken too."""
LISTS = frozenset({"contents", "parts", "tools", "functionDeclarations"})
FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "ANY": "required", "NONE": "none"}
MIXED = (
    "Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with"
    " Function calling."
)
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
            text = "Method doesn't allow unregistered callers. Please use API Key."
            raise Refusal(403, text)
        place = re.fullmatch(PATH, http.path)
        assert place is not None
        body = _known(body, "")
        config, turns = body.get("generationConfig", {}), _joined(body.get("contents", ()))
        _check_turns(turns)
        if self._signs:
            _check_signatures(turns)
        declared = [
            f for tool in body.get("tools", ()) for f in tool.get("functionDeclarations", ())
        ]
        hosted = _hosted(body.get("tools", ()))
        invokes = body.get("toolConfig", {}).get("includeServerSideToolInvocations")
        if declared and hosted and invokes is not True:
            raise Refusal(400, MIXED)
        choice = _choice(body, [function.get("name") for function in declared])
        schema = _schema(config, bool(declared), place["model"])
        thinks = _thinks(config.get("thinkingConfig", {}), place["model"]) and self._signs
        return ModelRequest(
            model=place["model"],
            turns=tuple(_messages(body.get("systemInstruction", {}), turns)),
            offers=() if choice == "none" else tuple(map(_offer, declared)),
            stream=place["method"] == "streamGenerateContent",
            wants_usage=True,
            choice=choice,
            max_tokens=_limit(config),
            tool_texts=tuple(json.dumps(function) for function in declared),
            thinks=thinks,
            reasoning_format=CallSignature() if self._signs else None,
            schema=schema,
            hosted=frozenset(hosted),
            stop=tuple(config.get("stopSequences", ())),
            caches=True,
        )

    def whole(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Json:
        """The reply in one piece."""
        parts = _parts(request, answer)
        if parts and "functionCall" not in parts[-1] and self._signs:
            parts[-1] |= {"thoughtSignature": _text_signature(parts)}
        return self._body(request, answer, parts, _finish_reason(answer))

    def stream(self, request: ModelRequest, answer: ScriptedAnswer, number: int) -> Iterator[bytes]:
        """The reply as server-sent events."""
        parts = _parts(request, answer)
        pieces = [
            part | {"text": piece} if "text" in part else part
            for part in parts
            for piece in (slices(part["text"]) if "text" in part else [""])
        ]
        end: list[Json] = [{"text": ""}]
        if self._signs and not answer.calls:
            end[0]["thoughtSignature"] = _text_signature(parts)
        for piece in pieces:
            yield _event(self._body(request, answer, [piece], None))
        yield _event(self._body(request, answer, end, _finish_reason(answer)))

    def _body(
        self, request: ModelRequest, answer: ScriptedAnswer, parts: list[Json], reason: str | None
    ) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason is not None:
            candidate |= {"finishReason": reason} | _grounding(answer)
        body: Json = {"candidates": [candidate], "modelVersion": request.model}
        if (usage := usage_of(request, answer)) is None:
            return body
        if usage.reasoning is None:
            usage = replace(usage, reasoning=count_tokens([answer.reasoning or ""]))
        return body | {"usageMetadata": _usage(usage)}


def _known(value: Any, place: str) -> Any:
    """The value with names in camelCase; Refusal for an unknown one."""
    if isinstance(value, list):
        return [_known(each, place) for each in value]
    kind = (
        "contents[]"
        if place == "systemInstruction"
        else place.replace("systemInstruction", "contents[]")
    )
    if kind not in KNOWN or not isinstance(value, Mapping):
        return value
    fields: Json = {}
    for given, inner in value.items():
        name = re.sub(r"_([a-z])", lambda match: match[1].upper(), given)
        if name not in KNOWN[kind].split():
            where = f" at '{place}'" if place else ""
            text = (
                f'Invalid JSON payload received. Unknown name "{given}"{where}: Cannot find field.'
            )
            raise Refusal(400, text)
        below = f"{place}.{name}" if place else name
        fields[name] = _known(inner, f"{below}[]" if name in LISTS else below)
    return fields


def _joined(contents: Sequence[Object]) -> list[Json]:
    """The turns; several contents of one role in a row are one, as the SDK keeps a stream's."""
    turns: list[Json] = []
    for content in contents:
        role, parts = content.get("role", "user"), content.get("parts")
        if role not in ("user", "model"):
            raise Refusal(400, "Please use a valid role: user, model.")
        if not parts:
            raise Refusal(400, "* GenerateContentRequest.contents.parts: must not be empty.")
        if turns and turns[-1]["role"] == role:
            turns[-1]["parts"] += parts
        else:
            turns.append({"role": role, "parts": list(parts)})
    return turns


def _check_turns(turns: Sequence[Object]) -> None:
    """Refusal where the first is not the user's, or results are not those of the calls before."""
    if not turns:
        raise Refusal(400, "* GenerateContentRequest.contents: contents is not specified")
    if turns[0]["role"] != "user" or turns[-1]["role"] != "user":
        raise Refusal(400, "Please ensure that multiturn requests begin and end with a user role.")
    for before, turn in pairwise([{}, *turns]):
        calls, results = _inner(before, "functionCall"), _inner(turn, "functionResponse")
        names = [
            sorted(str(each.get("name")) for each in each_side) for each_side in (calls, results)
        ]
        if names[0] != names[1]:
            raise Refusal(400, UNEQUAL)


def _check_signatures(turns: Sequence[Object]) -> None:
    """Of this turn's calls the first of each step has one; none is another than was given."""
    asked = [
        number
        for number, turn in enumerate(turns)
        if turn["role"] == "user" and any("text" in part for part in turn["parts"])
    ]
    for number, turn in enumerate(turns):
        calls = [part for part in turn["parts"] if "functionCall" in part]
        if calls and number > max(asked, default=-1) and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"].get("name")
            raise Refusal(400, UNSIGNED.format(name=name, position=number + 1))
        ids = [{"id": call["functionCall"].get("id")} for call in calls]
        if calls and binding({"tool_calls": ids}) is None:
            continue  # not a call of ours
        right = signature(ids[0]["id"]) if calls else _text_signature(turn["parts"])
        marks = {str(part.get("thoughtSignature", right)) for part in turn["parts"]} - UNCHECKED
        if {mark.translate(STANDARD) for mark in marks} - {right}:
            raise Refusal(400, "Corrupted thought signature.")


def _text_signature(parts: Sequence[Object]) -> str:
    return signature("text", *(part["text"] for part in parts if part.get("text")))


def _inner(content: Object, name: str) -> list[Object]:
    return [part[name] for part in content.get("parts", ()) if name in part]


def _hosted(tools: Sequence[Object]) -> list[str]:
    names = {"googleSearch": "web_search", "codeExecution": "code_interpreter"}
    return [names[name] for tool in tools for name in tool if name in names]


def _choice(body: Object, names: Sequence[Any]) -> str:
    """The tool choice; raises Refusal where it or a function's name is invalid."""
    for name in names:
        if not FUNCTION.fullmatch(str(name)):
            text = f"Invalid function name {name!r}. Must start with a letter or an underscore."
            raise Refusal(400, f"* GenerateContentRequest.tools[0].function_declarations: {text}")
    config = body.get("toolConfig", {}).get("functionCallingConfig", {})
    mode, allowed = config.get("mode", "AUTO"), config.get("allowedFunctionNames") or []
    if mode not in CHOICES:
        raise Refusal(400, f"Invalid value at 'tool_config.function_calling_config.mode': {mode!r}")
    if config and not names:
        text = "Function calling config is set without function_declarations."
        raise Refusal(400, text)
    if allowed and mode not in ("ANY", "VALIDATED"):
        text = "Allowed function names should only be set when function calling mode is ANY."
        raise Refusal(400, text)
    if unknown := [name for name in allowed if name not in names]:
        raise Refusal(400, f"allowed_function_names has {unknown[0]!r}, which is not declared.")
    return str(allowed[0]) if len(allowed) == 1 and mode == "ANY" else CHOICES[mode]


def _schema(config: Object, has_functions: bool, model: str) -> Json | None:
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    is_json = config.get("responseMimeType") == "application/json"
    if schema is not None and not is_json:
        text = "response_schema is only allowed when response_mime_type is application/json."
        raise Refusal(400, text)
    if is_json and has_functions and re.match(r"gemini-[12]\b", model):
        text = "Function calling with a response mime type: 'application/json' is unsupported"
        raise Refusal(400, text)
    return schema if is_json else None


def _thinks(config: Object, model: str) -> bool:
    """Whether the reply shows thoughts; Refusal for what this generation does not take."""
    if "thinkingBudget" in config and "thinkingLevel" in config:
        raise Refusal(400, "You can only set one of thinking budget and thinking level.")
    if "thinkingLevel" in config and re.match(r"gemini-[12]\b", model):
        raise Refusal(400, "Thinking level is not supported for this model.")
    return config.get("includeThoughts") is True


def _limit(config: Object) -> int | None:
    limit = config.get("maxOutputTokens")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise Refusal(400, "max_output_tokens must be positive.")
    if len(config.get("stopSequences", ())) > 5:
        raise Refusal(400, "The number of stop sequences must be at most 5.")
    return limit


def _messages(system_content: Object, turns: Sequence[Object]) -> Iterator[Message]:
    """The conversation as policies read it; results find their calls by id, else by their order."""
    if system := "".join(part.get("text", "") for part in system_content.get("parts", ())):
        yield Message(role="system", content=system)
    ids: list[str] = []
    for number, content in enumerate(turns):
        text = "".join(p.get("text", "") for p in content["parts"] if not p.get("thought"))
        if content["role"] == "model":
            calls = [
                tool_call(
                    c["name"], json.dumps(c.get("args") or {}), c.get("id") or f"{number}_{n}"
                )
                for n, c in enumerate(_inner(content, "functionCall"))
            ]
            ids = [call.id for call in calls]
            yield Message(role="assistant", content=text, tool_calls=tuple(calls))
            continue
        for place, result in enumerate(_inner(content, "functionResponse")):
            output = result["response"].get("result", json.dumps(result["response"]))
            yield Message(role="tool", content=output, tool_call_id=result.get("id") or ids[place])
        if text:
            yield Message(role="user", content=text)


def _offer(function: Object) -> ToolSpec:
    if "parameters" in function and "parametersJsonSchema" in function:
        raise Refusal(400, "parameters and parameters_json_schema are mutually exclusive.")
    schema = function.get("parametersJsonSchema") or function.get("parameters") or {}
    return ToolSpec(
        name=function["name"], description=function.get("description", ""), parameters=schema
    )


def _parts(request: ModelRequest, answer: ScriptedAnswer) -> list[Json]:
    """The parts without the signature of a text, which stands elsewhere in a stream."""
    parts: list[Json] = []
    if answer.reasoning:
        parts.append({"text": answer.reasoning, "thought": True})
    for used in answer.hosted:
        if used.tool not in request.hosted:
            raise Refusal(400, f"the reply uses {used.tool}, which was not offered")
        if used.kind == "code":
            parts.append({"executableCode": {"language": "PYTHON", "code": used.about}})
            output = {"outcome": "OUTCOME_OK", "output": "".join(used.gave)}
            parts.append({"codeExecutionResult": output})
    is_forced = bool(answer.calls) and request.choice != "auto"
    if answer.text and answer.finish != "refused" and not is_forced:
        parts.append({"text": answer.text})
    for place, call in enumerate(answer.calls):
        arguments = json.loads(call.arguments)
        part: Json = {"functionCall": {"id": call.id, "name": call.name, "args": arguments}}
        if place == 0 and request.reasoning_format is not None:
            part["thoughtSignature"] = signature(call.id)
        parts.append(part)
    return parts


def _finish_reason(answer: ScriptedAnswer) -> str:
    return {"length": "MAX_TOKENS", "refused": "SAFETY"}.get(answer.finish or "", "STOP")


def _grounding(answer: ScriptedAnswer) -> Json:
    searches = [call for call in answer.hosted if call.kind == "search"]
    if not searches:
        return {}
    redirect = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
    chunks = [
        {"web": {"uri": f"{redirect}{signature(url)}", "title": url.split("/")[2]}}
        for call in searches
        for url in call.gave
    ]
    queries = [call.about for call in searches]
    return {"groundingMetadata": {"webSearchQueries": queries, "groundingChunks": chunks}}


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


def _event(body: Json) -> bytes:
    return b"data: " + json.dumps(body).encode() + b"\r\n\r\n"
