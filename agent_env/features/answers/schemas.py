"""JSON schemas of answers, as `records.json_schema` describes them."""

from __future__ import annotations

from pydantic import JsonValue

Schema = dict[str, JsonValue]
DATE: Schema = {"type": "string", "format": "date"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}


def list_of(item: Schema, most: int) -> Schema:
    return {"type": "array", "items": item, "maxItems": most}


def matching(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}
