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
NOTE = "\n\nGive the final answer, in place of any other form, as one JSON object: {shape}"
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
        return NOTE.format(shape=f'{{"answer": {_shape(self.answer)}}}')

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


def _shape(schema: Mapping[str, Any]) -> str:
    """An example of the schema, with words in place of values."""
    if "anyOf" in schema:
        return " or ".join(_shape(each) for each in schema["anyOf"])
    if "enum" in schema:
        few = len(schema["enum"]) <= _SHOWN
        return " or ".join(json.dumps(each) for each in schema["enum"]) if few else '"NAME"'
    match schema["type"]:
        case "object":
            inner = (f'"{name}": {_shape(each)}' for name, each in schema["properties"].items())
            return "{" + ", ".join(inner) + "}"
        case "array":
            return f"[{_shape(schema['items'])}, …]"
        case "string":
            return '"YYYY-MM-DD"' if schema.get("format") == "date" else '"TEXT"'
        case "integer" | "number":
            return "NUMBER"
    return "null"
