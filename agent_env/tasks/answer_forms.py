"""Answer formats: the form that a server with constrained decoding holds a final answer to.

`schema`: each reply that can be the answer is one JSON object of the sample's schema. Under the
text protocol a tool call is too; with native tools the model is free until it calls none, and its
answer is a further reply without tools. `schema-last`: always so, which leaves room to reason.

The family's parser reads the answer by the same road as a free one, from the text that
`AnswerForm.text` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agent_env.records.json_schema import Json, closed
from agent_env.records.schema import Message

AnswerFormat = Literal["free", "schema", "schema-last"]
FORMATS: tuple[AnswerFormat, ...] = ("free", "schema", "schema-last")
NOTE = (
    "\n\nGive the final answer, in place of any other form, as one JSON object with the key "
    '"answer"{value}.'
)
LAST = Message(
    role="user",
    content="Now give your final answer: the JSON object asked for, and nothing else.",
)
"""Asks for the reply that is held to the form, where the one before was free."""
_SHOWN = 6
"""Values of an enumeration that the prompt lists."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """The form of the answer to one sample."""

    answer: Json
    """JSON schema of the answer."""
    text: Callable[[Any], str]
    """The answer as the free prompt asks for it, from a value of that schema."""

    @property
    def schema(self) -> Json:
        """Of the whole reply."""
        return closed({"answer": self.answer})

    @property
    def note(self) -> str:
        """What the prompt says of the form."""
        return NOTE.format(value=_described(self.answer))

    def read(self, reply: str) -> str | None:
        """The answer's text; None for a reply that is no such object, as one that was cut."""
        try:
            value = json.loads(reply.rpartition("</think>")[2])
        except (ValueError, RecursionError):
            return None
        if isinstance(value, dict) and isinstance(step := value.get("step"), dict):
            value = step  # as the text protocol asks for it, beside calls
        if not isinstance(value, dict) or "answer" not in value:
            return None
        try:
            return self.text(value["answer"])
        except (TypeError, ValueError, KeyError, AttributeError):  # not of the schema
            return None


FormOf = Callable[[Any], AnswerForm | None]
"""The form of the answer to a sample; None where its answer has none."""


def _described(schema: Mapping[str, Any]) -> str:
    """The value in words. No example: a weak model would copy it as its answer."""
    if "anyOf" in schema:
        words = _described(schema["anyOf"][0])
        return f"{words or ': a text'}, or null"
    if "enum" in schema:
        few = len(schema["enum"]) <= _SHOWN
        return f": {' or '.join(map(json.dumps, schema['enum']))}" if few else ""
    match schema["type"]:
        case "object":
            return f": an object with the keys {', '.join(map(json.dumps, schema['properties']))}"
        case "array":
            words = _described(schema["items"]).removeprefix(": ")
            return f": a list, each {words}" if words else ": a list of texts"
        case "string" if schema.get("format") == "date":
            return ": a date as YYYY-MM-DD"
        case "integer" | "number":
            return ": a number"
    return ""
