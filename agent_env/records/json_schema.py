"""JSON schemas in what OpenAI's strict mode, vLLM and llama.cpp have in common: closed objects
whose properties are all required; a text is bounded by its pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

Json = dict[str, JsonValue]
LONGEST = 200
TEXT: Json = {"type": "string", "pattern": f'^[^"\\\\\\n]{{1,{LONGEST}}}$'}
"""One line; a weak model would write on for ever."""
_CODE = 4000
_KEPT = ("type", "enum", "description", "minimum", "maximum", "minItems", "maxItems")


def closed(properties: Mapping[str, JsonValue]) -> Json:
    """An object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def one_of(names: Sequence[str]) -> Json:
    """One of these texts."""
    return {"type": "string", "enum": list(names)}


def any_of(*schemas: Json) -> Json:
    """A value of one of these schemas."""
    return schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}


def or_null(schema: Json) -> Json:
    return any_of(schema, {"type": "null"})


def strict(schema: Mapping[str, Any]) -> Json:
    """A tool's parameters in that common part: what was optional may be null; a `$ref` and what
    else is not in it is any text."""
    if "anyOf" in schema:
        return any_of(*(strict(each) for each in schema["anyOf"]))
    common: Json = {name: schema[name] for name in _KEPT if name in schema}
    if schema.get("type") == "object":
        required = schema.get("required", ())
        inner = {name: strict(each) for name, each in schema.get("properties", {}).items()}
        return closed(
            {name: each if name in required else or_null(each) for name, each in inner.items()}
        )
    if schema.get("type") == "array":
        return common | {"items": strict(schema.get("items", {}))}
    if "enum" not in common and (
        "type" not in common
        or (schema.get("type") == "string" and schema.get("maxLength", _CODE) < _CODE)
    ):
        return common | TEXT
    return common
