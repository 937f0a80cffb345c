"""Texts, lines and arguments as files of other tools can hold them."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import from_json

from agent_env.sdk.records import ToolCall


def as_line(value: dict[str, Any]) -> str:
    """One JSON line; characters beyond ASCII are escaped, so any text can be written."""
    return json.dumps(value, ensure_ascii=True) + "\n"


def arguments_of(call: ToolCall) -> tuple[dict[str, Any], str | None]:
    """The arguments as an object; what is none is kept as text, with the reason."""
    try:
        value = from_json(storable(call.arguments), allow_inf_nan=False)
        json.dumps(value, allow_nan=False)  # 1e999 is read as infinite
    except ValueError as exc:
        return {"arguments": call.arguments}, f"not JSON: {exc}"
    if not isinstance(value, dict):
        return {"arguments": call.arguments}, "not a JSON object"
    return value, None


def storable(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
