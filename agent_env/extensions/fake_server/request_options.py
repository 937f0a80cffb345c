"""A request's options, applied to an answer: tool choice, stop, length limit, JSON schema.

OpenAI's strict mode of schemas: the root is an object and no `anyOf`; every object is closed and
requires all of its properties; some keywords, such as `allOf` and lengths of texts, are refused.
DeepSeek has no JSON schema. llama.cpp and vLLM hold the whole reply, so that no tool is called;
llama.cpp ignores `text.format` over Responses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent_env.extensions.fake_server.conversation import (
    Answer,
    Call,
    Json,
    ModelRequest,
    Object,
    Offer,
    Refusal,
    Tokens,
    Turn,
    count_tokens,
    output_texts,
)
from agent_env.extensions.fake_server.modes import Mode


def request_of(
    body: Object,
    turns: Sequence[Turn],
    functions: Sequence[Object],
    offers: Sequence[Offer],
    *limits: str,
) -> ModelRequest:
    """The request with the options that both APIs share; `limits` name the fields of the length
    limit. Raises Refusal where an option is invalid."""
    choice = choice_in(body)
    return ModelRequest(
        model=str(body.get("model", "")),
        turns=tuple(turns),
        offers=() if choice == "none" else tuple(offers),
        stream=body.get("stream") is True,
        wants_usage=True,
        choice=choice,
        parallel=body.get("parallel_tool_calls") is not False,
        max_tokens=_limit_in(body, *limits),
        tool_texts=tuple(json.dumps(tool) for tool in functions),
    )


def choice_in(body: Object) -> str:
    """The tool choice; raises Refusal where it is not valid for the request's tools."""
    choice, tools = body.get("tool_choice"), body.get("tools") or ()
    if choice is None:
        return "auto"
    if isinstance(choice, Mapping):
        return _tool_in(choice, tools)
    if choice not in ("auto", "required", "none"):
        raise Refusal(400, f"tool_choice {choice!r} is unknown", "tool_choice")
    if not tools:
        raise Refusal(400, "tool_choice is only allowed when tools are specified", "tool_choice")
    return str(choice)


def _tool_in(choice: Object, tools: Sequence[Object]) -> str:
    if choice.get("type", "function") != "function":
        return "auto"  # a hosted tool, or a choice among several
    name = (choice.get("function") or choice).get("name")
    if name not in [(tool.get("function") or tool).get("name") for tool in tools]:
        text = f"Tool choice '{name}' not found in 'tools' parameter."
        raise Refusal(400, text, "tool_choice")
    return str(name)


def _limit_in(body: Object, *names: str) -> int | None:
    """The limit of output tokens; raises Refusal where it is no positive number."""
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if type(value) is not int or value < 1:
            text = f"Invalid '{name}': integer below minimum value. Expected a value >= 1."
            raise Refusal(400, text, name, code="integer_below_min_value")
        return value
    return None


def apply_tool_choice(request: ModelRequest, answer: Answer) -> Answer:
    """The answer with only the calls that the tool choice allows, or one call that it requires."""
    calls = answer.calls
    if request.choice == "none":
        calls = ()
    elif request.choice == "required" and not (calls or answer.hosted) and request.offers:
        calls = (_any_call(request, request.offers[0]),)
    elif request.choice not in ("auto", "required"):
        offer = next(offer for offer in request.offers if offer.name == request.choice)
        calls = tuple(c for c in calls if c.name == offer.name) or (_any_call(request, offer),)
    if not request.parallel:
        calls = calls[:1]
    return answer if calls == answer.calls else replace(answer, calls=calls)


def stop(request: ModelRequest, answer: Answer) -> Answer:
    """The answer up to the first stop sequence in its text."""
    ends = [at for text in request.stop if (at := answer.text.find(text)) >= 0]
    return replace(answer, text=answer.text[: min(ends)]) if ends else answer


def truncate(request: ModelRequest, answer: Answer) -> Answer:
    """The answer cut at the token limit; reasoning comes first, then text, then calls."""
    limit = request.max_tokens
    if limit is None or count_tokens(output_texts(answer)) <= limit:
        return answer
    reasoning, rest = _first(answer.reasoning or "", limit)
    text, rest = _first(answer.text, rest)
    calls: list[Call] = []
    for call in answer.calls:
        rest -= count_tokens([call.name])
        if rest <= 0:
            break
        arguments, rest = _first(call.arguments, rest)
        calls.append(replace(call, arguments=arguments))
    usage = answer.usage
    return replace(
        answer,
        reasoning=reasoning if answer.reasoning is not None else None,
        text=text,
        calls=tuple(calls),
        finish="length",
        usage=replace(usage, output=limit) if isinstance(usage, Tokens) else usage,
    )


def _first(text: str, tokens: int) -> tuple[str, int]:
    head = text.encode(errors="replace")[: 4 * tokens].decode(errors="ignore")
    return head, tokens - count_tokens([head])


def _any_call(request: ModelRequest, offer: Offer) -> Call:
    question = next((turn.text for turn in reversed(request.turns) if turn.role == "user"), "")
    value = _smallest(offer.parameters, " ".join(question.split())[:60])
    return Call(offer.name, json.dumps(value, ensure_ascii=False))


def _smallest(schema: Mapping[str, Any], text: str) -> Any:
    """The smallest value that a JSON schema allows; texts are the beginning of the question."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            names = schema.get("required", ())
            return {name: _smallest(schema["properties"][name], text) for name in names}
        case "array":
            return [_smallest(schema.get("items", {}), text)] * schema.get("minItems", 0)
        case "string":
            return text
        case "boolean":
            return False
        case "integer" | "number":
            return schema.get("minimum", 0)
    return None


NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
REFUSED = frozenset(
    "allOf not if then else dependentRequired dependentSchemas patternProperties minLength"
    " maxLength oneOf uniqueItems".split()
)
DEEPEST = 10
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_NUMBER = re.compile(r"-?\d+")
_SPARE = ("2000-01-01", "2000-01", "2000", "Jan, 2000", "January 2000", "00:00:00")
"""Texts of which one matches most patterns."""


def schema_in(mode: Mode, body: Object) -> Json | None:
    """The schema that a request of either API names; None for a free text. Refusal where the mode
    does not take it."""
    at_chat = "response_format" in body
    place = body if at_chat else body.get("text") or {}
    given = place.get("response_format" if at_chat else "format") or {}
    kind = given.get("type", "text")
    if kind == "text" or (kind == "json_schema" and mode.structured == "unread" and not at_chat):
        return None
    field = "response_format" if at_chat else "text.format"
    if kind == "json_object":
        return {"type": "object"}
    if kind != "json_schema" or mode.structured == "refused":
        raise Refusal(400, "This response_format type is unavailable now", field)
    named = given.get("json_schema") if at_chat else given
    if not isinstance(named, dict) or not isinstance(named.get("schema"), dict):
        where = f"{field}.json_schema" if at_chat else f"{field}.schema"
        raise Refusal(400, f"Missing required parameter: '{where}'.", where)
    if not NAME.fullmatch(str(named.get("name"))):
        text = f"Invalid '{field}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'."
        raise Refusal(400, text, f"{field}.name")
    if named.get("strict") is True and mode.structured == "strict":
        for fault in faults(named["schema"], (), is_root=True):
            text = f"Invalid schema for {field} '{named['name']}': {fault}"
            raise Refusal(400, text, field, code="invalid_json_schema")
    schema: Json = named["schema"]
    return schema


def faults(schema: Any, path: tuple[str, ...], is_root: bool = False) -> Iterator[str]:
    context = f"In context={path}, "
    if is_root and (schema.get("type") != "object" or "anyOf" in schema):
        yield "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'."
    if len(path) > DEEPEST * 2:
        yield f"{context}schema exceeds {DEEPEST} levels of nesting."
    for keyword in sorted(REFUSED & set(schema)):
        yield f"{context}'{keyword}' is not permitted."
    if schema.get("type") == "object":
        inner = schema.get("properties", {})
        if schema.get("additionalProperties") is not False:
            yield f"{context}'additionalProperties' is required to be supplied and to be false."
        if missing := [name for name in inner if name not in schema.get("required", ())]:
            yield (
                f"{context}'required' is required to be supplied and to be an array including every"
                f" key in properties. Missing '{missing[0]}'."
            )
        for name, each in inner.items():
            yield from faults(each, (*path, "properties", name))
    if isinstance(schema.get("items"), dict):
        yield from faults(schema["items"], (*path, "items"))
    for number, each in enumerate(schema.get("anyOf", ())):
        yield from faults(each, (*path, "anyOf", str(number)))


def held(request: ModelRequest, mode: Mode, schema: Json | None) -> ModelRequest:
    """The request under the schema; in the modes that hold the whole reply, without its tools."""
    is_whole = mode.structured in ("whole reply", "unread") and request.choice == "auto"
    offers = () if schema is not None and is_whole else request.offers
    return replace(request, schema=schema, offers=offers)


def hold(request: ModelRequest, answer: Answer) -> Answer:
    """The answer with a text of the request's schema, made of what it says."""
    if request.schema is None or answer.calls or answer.finish == "refused":
        return answer
    try:
        value = json.loads(answer.text)
    except ValueError:
        value = None
    if isinstance(value, dict) and set(value) == set(request.schema.get("properties", value)):
        return answer
    text = answer.text.rpartition("ANSWER:")[2].strip()
    return replace(answer, text=json.dumps(_value(request.schema, text), ensure_ascii=False))


def _value(schema: Json, text: str) -> Any:
    """A value of the schema, with what the text says of it."""
    if "anyOf" in schema:
        answers = [each for each in schema["anyOf"] if "answer" in each.get("properties", ())]
        return _value((answers or schema["anyOf"])[0], text)
    if "enum" in schema:
        return next((each for each in schema["enum"] if str(each) in text), schema["enum"][0])
    match schema.get("type"):
        case "object":
            inner = schema.get("properties", {})
            return {name: _value(each, text) for name, each in inner.items()}
        case "array":
            return _values(schema["items"], text)[: schema.get("maxItems", 10)]
        case "integer" | "number":
            return int(found[0]) if (found := _NUMBER.search(text)) else 0
        case "boolean":
            return False
        case "string":
            return _text(schema, text)
    return None


def _values(item: Json, text: str) -> list[Any]:
    if item.get("format") == "date":
        return _DATE.findall(text)
    if "enum" in item:
        return [each for each in item["enum"] if re.search(rf"\b{re.escape(each)}\b", text)]
    return [_value(item, part.strip()) for part in text.split(",") if part.strip()]


def _text(schema: Json, text: str) -> str:
    if schema.get("format") == "date":
        return found[0] if (found := _DATE.search(text)) else _SPARE[0]
    pattern = str(schema.get("pattern", ""))
    if not pattern:
        return text
    if found := re.search(pattern.removeprefix("^").removesuffix("$"), text):
        return found[0]
    return next((each for each in _SPARE if re.fullmatch(pattern, each)), text)
