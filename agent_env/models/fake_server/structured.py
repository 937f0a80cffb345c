"""Replies held to a JSON schema: what is refused, as providers document it, and the value made.

OpenAI's strict mode: the root is an object and no `anyOf`; every object is closed and requires all
of its properties; some keywords, such as `allOf` and lengths of texts, are refused. DeepSeek has no
JSON schema. llama.cpp and vLLM hold the whole reply, so that no tool is called; llama.cpp reads no
`text.format` over Responses, and says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_env.models.fake_server.conversation import (
    Answer,
    Json,
    ModelRequest,
    Object,
    Refusal,
)
from agent_env.models.fake_server.modes import Mode

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
