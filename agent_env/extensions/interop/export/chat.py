"""Messages and tools as chat completions have them; training formats are made of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic_core import from_json

from agent_env.sdk.records import Message, ToolCall, ToolSpec


def chat_message(message: Message) -> dict[str, Any]:
    """One message; reasoning stands in `reasoning_content` where the server gave it."""
    made: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning is not None:
        made["reasoning_content"] = message.reasoning
    if message.tool_calls:
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        made["tool_call_id"] = message.tool_call_id
    return made


def chat_tools(specs: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    """Function tools as they are offered."""
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            },
        }
        for spec in specs
    ]


def as_line(value: dict[str, Any]) -> str:
    """One JSON line; characters beyond ASCII are escaped, so any text can be written."""
    return json.dumps(value, ensure_ascii=True) + "\n"


def as_document(value: object) -> bytes:
    """A JSON file as strict readers take it: UTF-8, and no numbers that JSON does not have."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2)
    return text.encode("utf-8", "replace") + b"\n"


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
