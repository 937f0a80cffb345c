"""The pieces in which a chat message is streamed.

Texts come in slices; lists of blocks item by item, their texts in slices; calls first without
arguments, then with slices of them; anything else once and complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_env.models.fake_server.conversation import Json, slices

LAST = ("refusal", "content", "annotations", "tool_calls")


def deltas(message: Json, whole_calls: bool) -> Iterator[Json]:
    """The pieces; with `whole_calls` each call is one piece without index, as Gemini sends it."""
    yield {"role": "assistant", "content": ""}
    first = [name for name in message if name not in ("role", *LAST)]
    for name in (*first, *LAST[:2]):
        yield from _pieces_of(name, message.get(name))
    if message.get("annotations"):
        yield {"annotations": message["annotations"]}
    for index, call in enumerate(message.get("tool_calls") or ()):
        if whole_calls:
            yield {"tool_calls": [call]}
        else:
            yield from _pieces_of_call(index, call)


def _pieces_of(name: str, value: Any) -> Iterator[Json]:
    match value:
        case None:
            return
        case str():
            yield from ({name: piece} for piece in slices(value))
        case [dict(), *_]:
            for block in value:
                yield from ({name: [piece]} for piece in _pieces_of_block(block))
        case _:
            yield {name: value}


def _pieces_of_block(block: Json) -> Iterator[Json]:
    if "text" not in block:
        yield block
        return
    late = {name: value for name, value in block.items() if name == "signature"}
    frame = {name: value for name, value in block.items() if name not in ("text", *late)}
    for piece in slices(block["text"]):
        yield frame | {"text": piece}
    if late:
        yield frame | late


def _pieces_of_call(index: int, call: Json) -> Iterator[Json]:
    function = call["function"]
    bare = call | {"function": function | {"arguments": ""}}
    yield {"tool_calls": [{"index": index} | bare]}
    for piece in slices(function["arguments"]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
