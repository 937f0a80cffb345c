"""Whose rules the server enforces, as data, and how each provider writes the reasoning of a reply.

Errors have the provider's own words. Where a provider documents only worse replies without the
reasoning (GLM, MiniMax, OpenRouter, vLLM), this server refuses, so that a rehearsal shows it.

A format of reasoning writes an assistant message and reports what is wrong with one that was sent
back: `missing`, `altered`, or None. The original is known from the ids of the message's tool calls;
for a message without one of our ids, such as a few-shot example, only presence is checked.
Signatures are computed from the content they belong to, so that a restarted server recognises its
own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tests.fake_server.conversation import Refusal

SECRET = b"the fake server's own"
CALL_ITEM = re.compile(r"fc_([0-9a-f]{8})(r?)_\d+")
CALL_ID = re.compile(r"call_([0-9a-f]{8})_([0-9a-f]{12})_\d+")


def seal(*parts):
    """A digest of these parts, 12 hexadecimal digits."""
    text = "\0".join(parts).encode(errors="replace")
    return hmac.new(SECRET, text, hashlib.sha256).hexdigest()[:12]


def signature(*parts):
    """A long signature of these parts, in base64 as providers write theirs."""
    text = "\0".join(parts).encode(errors="replace")
    return base64.b64encode(hmac.new(SECRET, text, hashlib.sha512).digest()).decode()


def nonce_of(body):
    """Eight hexadecimal digits for a request; equal requests get equal ones."""
    return hashlib.sha256(body).hexdigest()[:8]


def call_id(nonce, reasoning, index):
    """The id of a tool call, which binds the reasoning that came with it."""
    return f"call_{nonce}_{seal(nonce, reasoning)}_{index}"


def binding(message):
    """The nonce and the reasoning's seal in the id of a message's first call; None without a call
    or where the id is not ours."""
    calls = message.get("tool_calls") or [{}]
    ours = CALL_ID.fullmatch(str(calls[0].get("id", "")))
    return (ours[1], ours[2]) if ours else None


def encrypt(nonce, text):
    """The reasoning of the reply with this nonce, opaque to clients."""
    inner = base64.b64encode(text.encode(errors="replace")).decode()
    return f"{nonce}.{inner}.{signature('encrypted', nonce, inner)}"


def item_id(nonce, has_reasoning, place):
    """The id of a function call's item, which says whether reasoning came with it."""
    return f"fc_{nonce}{'r' if has_reasoning else ''}_{place}"


def check_reasoning(items, is_required):
    """Raises Refusal where encrypted reasoning was changed, precedes another reply's items, or,
    where it `is_required`, is missing before its call."""
    nonce = ""
    for item in items:
        if item.get("type") == "reasoning":
            nonce = _nonce_in(item)
            continue
        match = CALL_ITEM.fullmatch(str(item.get("id") or ""))
        if match and nonce and match[1] != nonce:
            text = f"Item 'rs_{nonce}' of type 'reasoning' was provided without its required"
            raise Refusal(400, f"{text} following item.", "input")
        if match and match[2] and is_required and match[1] != nonce:
            text = f"Item '{item['id']}' of type 'function_call' was provided without its required"
            raise Refusal(400, f"{text} 'reasoning' item: 'rs_{match[1]}'.", "input")
        if item.get("type") != "function_call":
            nonce = "" if item.get("role") != "assistant" else nonce


def _nonce_in(item):
    nonce, _, rest = str(item.get("encrypted_content")).partition(".")
    inner, _, mark = rest.partition(".")
    if mark != signature("encrypted", nonce, inner):
        text = f"The encrypted content for item {item.get('id')} could not be verified. Reason:"
        text += " Encrypted content could not be decrypted or parsed."
        raise Refusal(400, text, code="invalid_encrypted_content")
    return nonce


Fault = Literal["missing", "altered"]
Fields = dict[str, Any]
THOUGHT = re.compile(r"<think>\n(.*?)\n</think>\n\n", re.S)


@dataclass(frozen=True, slots=True)
class TextField:
    """Plain text in a field of its own."""

    name: str

    def write(self, message, reasoning, nonce):
        return message | {self.name: reasoning}

    def fault(self, message):
        if self.name not in message:
            return "missing"
        return _fault_of_text(message, message[self.name] or "")  # null where there was none


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """Text between tags, at the head of the content."""

    def write(self, message, reasoning, nonce):
        content = message.get("content") or ""
        return message | {"content": f"<think>\n{reasoning}\n</think>\n\n{content}"}

    def fault(self, message):
        thought = THOUGHT.match(str(message.get("content") or ""))
        return _fault_of_text(message, thought[1] if thought else None)


@dataclass(frozen=True, slots=True)
class ThinkingParts:
    """A part at the head of the content, as Mistral writes it."""

    def write(self, message, reasoning, nonce):
        thinking = {"type": "thinking", "thinking": [{"type": "text", "text": reasoning}]}
        text = {"type": "text", "text": message.get("content") or ""}
        return message | {"content": [thinking, text]}

    def fault(self, message):
        return None


@dataclass(frozen=True, slots=True)
class ThinkingBlocks:
    """Signed text and an opaque block, which litellm repeats among `provider_specific_fields`."""

    def write(self, message, reasoning, nonce):
        blocks = [
            {"type": "thinking", "thinking": reasoning, "signature": signature(nonce, reasoning)},
            {"type": "redacted_thinking", "data": signature("redacted", nonce)},
        ]
        again = {"citations": None, "thinking_blocks": blocks}
        fields = {"reasoning_content": reasoning, "thinking_blocks": blocks}
        return message | fields | {"provider_specific_fields": again}

    def fault(self, message):
        blocks = message.get("thinking_blocks")
        if not isinstance(blocks, list) or not blocks:
            return "missing"
        text = str(blocks[0].get("thinking"))
        whole = lambda nonce: self.write({}, text, nonce)["thinking_blocks"]  # noqa: E731
        return _fault_of_text(message, text, blocks, whole)


@dataclass(frozen=True, slots=True)
class Details:
    """A list of typed blocks, of which some are opaque; all of them, in this order."""

    format: str
    encrypts: bool
    plain_too: bool
    """Whether the text also stands in the field `reasoning`, which need not come back."""

    def write(self, message, reasoning, nonce):
        plain = {"reasoning": reasoning} if self.plain_too else {}
        return message | plain | {"reasoning_details": self._blocks(reasoning, nonce)}

    def fault(self, message):
        blocks = message.get("reasoning_details")
        if not isinstance(blocks, list) or not blocks:
            return "missing"
        joined = join_pieces(blocks)
        text = str(joined[0].get("text"))
        return _fault_of_text(message, text, joined, lambda nonce: self._blocks(text, nonce))

    def _blocks(self, reasoning, nonce):
        kind = {"format": self.format, "index": 0}
        text = {"type": "reasoning.text", "id": f"reasoning-text-{nonce}", "text": reasoning} | kind
        if not self.encrypts:
            return [text]
        data = {
            "type": "reasoning.encrypted",
            "id": f"rs_{nonce}",
            "data": signature("data", nonce),
        }
        sign = {"signature": signature("text", nonce, reasoning)}
        return [text | sign, kind | data | {"index": 1}]


@dataclass(frozen=True, slots=True)
class CallSignature:
    """No text, but an opaque signature on the first tool call of a message."""

    def write(self, message, reasoning, nonce):
        first, *rest = message.get("tool_calls") or [None]
        if first is None:
            return message
        mark = {"google": {"thought_signature": signature(first["id"])}}
        return message | {"tool_calls": [first | {"extra_content": mark}, *rest]}

    def fault(self, message):
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

    def write(self, message, reasoning, nonce):
        calls = [
            call | _call_extra(call["id"]) | {"function": call["function"] | _sum_of(call["id"])}
            for call in message.get("tool_calls") or ()
        ]
        return message | _message_extra(nonce, reasoning) | ({"tool_calls": calls} if calls else {})

    def fault(self, message):
        link = binding(message)
        if link is None:
            return None
        log = message.get("deliberation_log")
        pairs = [(_message_extra(link[0], log if isinstance(log, str) else ""), message)]
        for call in message["tool_calls"]:
            pairs += [(_call_extra(call["id"]), call), (_sum_of(call["id"]), call["function"])]
        if any(expected.keys() - actual.keys() for expected, actual in pairs):
            return "missing"
        whole = [{name: _whole(actual[name]) for name in expected} for expected, actual in pairs]
        return _fault_of_text(message, str(log), whole, lambda _: [each for each, _ in pairs])


def _whole(value):
    blocks = isinstance(value, list) and value and isinstance(value[0], dict)
    return join_pieces(value) if blocks else value


def _message_extra(nonce, reasoning):
    fragments = [{"index": 0, "text": signature("fragment", nonce)}, {"index": 1, "kind": "x"}]
    state = {"state": signature("state", nonce), "depth": 3, "path": [None, True, {}]}
    fields = {"deliberation_log": reasoning, "confidence": 0.25}
    return fields | {"cognition": state, "fragments": fragments}


def _call_extra(id_):
    return {"provenance": {"ticket": signature("call", id_)}}


def _sum_of(id_):
    return {"checksum": signature("function", id_)}


def _fault_of_text(message, text, sent=None, whole=lambda nonce: None):
    """What is wrong with the text of a thought, and with what was sent beside it, of which `whole`
    gives the original."""
    if text is None:
        return "missing"
    link = binding(message)
    if link is None or (seal(link[0], text) == link[1] and sent == whole(link[0])):
        return None
    return "altered"


def join_pieces(blocks):
    """The blocks of a reply in one piece: clients may send back a stream's pieces."""
    joined = []
    for block in blocks:
        if joined and joined[-1].get("index") == block.get("index"):
            text = str(joined[-1].get("text", "")) + str(block.get("text", ""))
            joined[-1] |= dict(block) | ({"text": text} if "text" in joined[-1] else {})
        else:
            joined.append(dict(block))
    return joined


WORSE = (
    "{field} of messages[{index}] is {fault}: it must be passed back complete and unmodified"
    " (the provider would go on with a worse reply; the fake server refuses)"
)


@dataclass(frozen=True, slots=True)
class Mode:
    """One provider's or server's rules; modes.toml says what each field means."""

    about: str
    reasoning: Any = None
    split: Any = None
    field: str = "reasoning"
    demand: str = "none"
    missing: str = WORSE
    altered: str = WORSE
    refuses_echo: str | None = None
    forced_choice: str = "obeyed"
    refuses_forced: str | None = None
    strict_fields: bool = False
    forbids: frozenset[str] = frozenset()
    stop: str = "obeyed"
    user_after_tool: str | None = None
    short_ids: bool = False
    has_gaps: bool = False
    cache: str = "none"
    token_limit: str = "any"
    structured: str = "held"
    error_style: str = "openai"


def _read_modes():
    """The modes of the file beside this one, by name."""

    def value(entry):
        if isinstance(entry, dict):
            return globals()[entry.pop("class")](**entry)
        return frozenset(entry) if isinstance(entry, list) else entry

    modes = tomllib.loads(Path(__file__).with_name("modes.toml").read_text(encoding="utf-8"))
    return {name: Mode(**{k: value(v) for k, v in own.items()}) for name, own in modes.items()}


MODES = _read_modes()
