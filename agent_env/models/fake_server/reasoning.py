"""How providers write the reasoning of a reply, and whether a client sent it back unchanged.

Each format writes an assistant message and reports what is wrong with one that was sent back:
`missing`, `altered`, or None. The original is known from the ids of the message's tool calls; for a
message without one of our ids, such as a few-shot example, only presence is checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent_env.models.fake_server.conversation import Object
from agent_env.models.fake_server.signatures import binding, seal, signature

Fault = Literal["missing", "altered"]
Fields = dict[str, Any]
THOUGHT = re.compile(r"<think>\n(.*?)\n</think>\n\n", re.S)


@dataclass(frozen=True, slots=True)
class TextField:
    """Plain text in a field of its own."""

    name: str

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        return message | {self.name: reasoning}

    def fault(self, message: Object) -> Fault | None:
        if self.name not in message:
            return "missing"
        return _fault_of_text(message, message[self.name] or "")  # null where there was none


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """Text between tags, at the head of the content."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        content = message.get("content") or ""
        return message | {"content": f"<think>\n{reasoning}\n</think>\n\n{content}"}

    def fault(self, message: Object) -> Fault | None:
        thought = THOUGHT.match(str(message.get("content") or ""))
        return _fault_of_text(message, thought[1] if thought else None)


@dataclass(frozen=True, slots=True)
class ThinkingParts:
    """A part at the head of the content, as Mistral writes it."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": reasoning}]}
        text = {"type": "text", "text": message.get("content") or ""}
        return message | {"content": [thinking, text]}

    def fault(self, message: Object) -> Fault | None:
        return None


@dataclass(frozen=True, slots=True)
class ThinkingBlocks:
    """Signed text and an opaque block, which litellm repeats among `provider_specific_fields`."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        blocks = [
            {"type": "thinking", "thinking": reasoning, "signature": signature(nonce, reasoning)},
            {"type": "redacted_thinking", "data": signature("redacted", nonce)},
        ]
        again = {"citations": None, "thinking_blocks": blocks}
        fields = {"reasoning_content": reasoning, "thinking_blocks": blocks}
        return message | fields | {"provider_specific_fields": again}

    def fault(self, message: Object) -> Fault | None:
        blocks = message.get("thinking_blocks")
        if not isinstance(blocks, list) or not blocks:
            return "missing"
        link = binding(message)
        if link is None:
            return None
        text = str(blocks[0].get("thinking"))
        is_whole = blocks == self.write({}, text, link[0])["thinking_blocks"]
        return None if is_whole and seal(link[0], text) == link[1] else "altered"


@dataclass(frozen=True, slots=True)
class Details:
    """A list of typed blocks, of which some are opaque; all of them, in this order."""

    format: str
    encrypts: bool
    plain_too: bool
    """Whether the text also stands in the field `reasoning`, which need not come back."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        plain = {"reasoning": reasoning} if self.plain_too else {}
        return message | plain | {"reasoning_details": self._blocks(reasoning, nonce)}

    def fault(self, message: Object) -> Fault | None:
        blocks = message.get("reasoning_details")
        if not isinstance(blocks, list) or not blocks:
            return "missing"
        link = binding(message)
        if link is None:
            return None
        joined = _join_pieces(blocks)
        text = str(joined[0].get("text"))
        whole = joined == self._blocks(text, link[0])
        return None if whole and seal(link[0], text) == link[1] else "altered"

    def _blocks(self, reasoning: str, nonce: str) -> list[Fields]:
        text: Fields = {
            "type": "reasoning.text",
            "id": f"reasoning-text-{nonce}",
            "format": self.format,
            "index": 0,
            "text": reasoning,
        }
        if not self.encrypts:
            return [text]
        data = {"data": signature("data", nonce), "id": f"rs_{nonce}", "format": self.format}
        return [
            text | {"signature": signature("text", nonce, reasoning)},
            {"type": "reasoning.encrypted", "index": 1} | data,
        ]


@dataclass(frozen=True, slots=True)
class CallSignature:
    """No text, but an opaque signature on the first tool call of a message."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        first, *rest = message.get("tool_calls") or [None]
        if first is None:
            return message
        mark = {"google": {"thought_signature": signature(first["id"])}}
        return message | {"tool_calls": [first | {"extra_content": mark}, *rest]}

    def fault(self, message: Object) -> Fault | None:
        calls = message.get("tool_calls") or []
        if not calls:
            return None
        extra = calls[0].get("extra_content") or {}
        mark = (extra.get("google") or {}).get("thought_signature")
        if not mark:
            return "missing"
        return "altered" if binding(message) and mark != signature(calls[0]["id"]) else None


@dataclass(frozen=True, slots=True)
class UndocumentedFields:
    """Fields of every kind, at every level, that nobody has documented yet."""

    def write(self, message: Fields, reasoning: str, nonce: str) -> Fields:
        calls = [
            call | _call_extra(call["id"]) | {"function": call["function"] | _sum_of(call["id"])}
            for call in message.get("tool_calls") or ()
        ]
        return message | _message_extra(nonce, reasoning) | ({"tool_calls": calls} if calls else {})

    def fault(self, message: Object) -> Fault | None:
        link = binding(message)
        if link is None:
            return None
        log = message.get("deliberation_log")
        pairs = [(_message_extra(link[0], log if isinstance(log, str) else ""), message)]
        for call in message["tool_calls"]:
            pairs += [(_call_extra(call["id"]), call), (_sum_of(call["id"]), call["function"])]
        if any(name not in actual for expected, actual in pairs for name in expected):
            return "missing"
        is_equal = all(
            _whole(actual[name]) == value
            for expected, actual in pairs
            for name, value in expected.items()
        )
        return None if is_equal and seal(link[0], str(log)) == link[1] else "altered"


def _fault_of_text(message: Object, text: str | None) -> Fault | None:
    if text is None:
        return "missing"
    link = binding(message)
    return None if link is None or seal(link[0], text) == link[1] else "altered"


def _whole(value: Any) -> Any:
    blocks = isinstance(value, list) and value and isinstance(value[0], dict)
    return _join_pieces(value) if blocks else value


def _join_pieces(blocks: Sequence[Mapping[str, Any]]) -> list[Fields]:
    """The blocks of a reply in one piece: clients may send back a stream's pieces."""
    joined: list[Fields] = []
    for block in blocks:
        if joined and joined[-1].get("index") == block.get("index"):
            text = str(joined[-1].get("text", "")) + str(block.get("text", ""))
            joined[-1] |= dict(block) | ({"text": text} if "text" in joined[-1] else {})
        else:
            joined.append(dict(block))
    return joined


def _message_extra(nonce: str, reasoning: str) -> Fields:
    return {
        "deliberation_log": reasoning,
        "cognition": {"state": signature("state", nonce), "depth": 3, "path": [None, True, {}]},
        "confidence": 0.25,
        "fragments": [
            {"index": 0, "text": signature("fragment", nonce)},
            {"index": 1, "kind": "x"},
        ],
    }


def _call_extra(id_: str) -> Fields:
    return {"provenance": {"ticket": signature("call", id_)}}


def _sum_of(id_: str) -> Fields:
    return {"checksum": signature("function", id_)}
