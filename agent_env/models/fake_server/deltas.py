"""The pieces in which a chat message is streamed.

Texts come in slices; lists of blocks item by item, their texts in slices; calls first without
arguments, then with slices of them; anything else once and complete. Thinking blocks come as
litellm sends them: in pieces without index, each twice, and the signature with an empty text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent_env.models.fake_server.conversation import Json, slices

LAST = ("refusal", "content", "annotations", "tool_calls")


def deltas(message: Json, whole_calls: bool) -> Iterator[Json]:
    """The pieces; with `whole_calls` each call is one piece without index, as Gemini sends it."""
    first = [name for name in message if name not in ("role", *LAST)]
    yield {"role": "assistant", "content": ""} | {n: None for n in first if message[n] is None}
    if "thinking_blocks" in message:
        yield from map(_repeated, _pieces_of("thinking_blocks", message["thinking_blocks"]))
        first = []
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


def _repeated(delta: Json) -> Json:
    """A piece of thinking blocks, as litellm writes it three times."""
    text = delta["thinking_blocks"][0].get("thinking")
    plain = {} if text is None else {"reasoning_content": text}
    return plain | delta | {"provider_specific_fields": delta}


def _pieces_of_block(block: Json) -> Iterator[Json]:
    name = next((n for n in ("text", "thinking") if n in block), None)
    if name is None:
        yield block
        return
    late = {each: value for each, value in block.items() if each == "signature"}
    frame = {each: value for each, value in block.items() if each not in (name, *late)}
    if isinstance(block[name], list):
        for inner in block[name]:
            yield from (frame | {name: [piece]} for piece in _pieces_of_block(inner))
        return
    for piece in slices(block[name]):
        yield frame | {name: piece}
    if late:
        yield frame | ({name: ""} if name == "thinking" else {}) | late


def _pieces_of_call(index: int, call: Json) -> Iterator[Json]:
    function = call["function"]
    bare = call | {"function": function | {"arguments": ""}}
    yield {"tool_calls": [{"index": index} | bare]}
    for piece in slices(function["arguments"]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
