"""Opaque signatures in a reply that the client must send back unchanged.

A signature is computed from the content it belongs to: a restarted server recognises its own, and a
signature that was changed, or moved to another message, is detected. Encrypted reasoning of the
Responses API, which a client without storage sends back, is one of them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_env.models.fake_server.conversation import Object, Refusal

SECRET = b"the fake server's own"
CALL_ITEM = re.compile(r"fc_([0-9a-f]{8})(r?)_\d+")
CALL_ID = re.compile(r"call_([0-9a-f]{8})_([0-9a-f]{12})_\d+")


def seal(*parts: str) -> str:
    """A digest of these parts, 12 hexadecimal digits."""
    text = "\0".join(parts).encode(errors="replace")
    return hmac.new(SECRET, text, hashlib.sha256).hexdigest()[:12]


def signature(*parts: str) -> str:
    """A long signature of these parts, in base64 as providers write theirs."""
    text = "\0".join(parts).encode(errors="replace")
    return base64.b64encode(hmac.new(SECRET, text, hashlib.sha512).digest()).decode()


def nonce_of(body: bytes) -> str:
    """Eight hexadecimal digits for a request; equal requests get equal ones."""
    return hashlib.sha256(body).hexdigest()[:8]


def call_id(nonce: str, reasoning: str, index: int) -> str:
    """The id of a tool call, which binds the reasoning that came with it."""
    return f"call_{nonce}_{seal(nonce, reasoning)}_{index}"


def binding(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """The nonce and the reasoning's seal in the id of a message's first call; None without a call
    or where the id is not ours."""
    calls = message.get("tool_calls") or [{}]
    ours = CALL_ID.fullmatch(str(calls[0].get("id", "")))
    return (ours[1], ours[2]) if ours else None


def encrypt(nonce: str, text: str) -> str:
    """The reasoning of the reply with this nonce, opaque to clients."""
    inner = base64.b64encode(text.encode(errors="replace")).decode()
    return f"{nonce}.{inner}.{signature('encrypted', nonce, inner)}"


def item_id(nonce: str, has_reasoning: bool, place: int) -> str:
    """The id of a function call's item, which says whether reasoning came with it."""
    return f"fc_{nonce}{'r' if has_reasoning else ''}_{place}"


def check_reasoning(items: Sequence[Object], is_required: bool) -> None:
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


def _nonce_in(item: Object) -> str:
    nonce, _, rest = str(item.get("encrypted_content")).partition(".")
    inner, _, mark = rest.partition(".")
    if mark != signature("encrypted", nonce, inner):
        text = f"The encrypted content for item {item.get('id')} could not be verified. Reason:"
        text += " Encrypted content could not be decrypted or parsed."
        raise Refusal(400, text, code="invalid_encrypted_content")
    return nonce
