"""Opaque marks that a reply carries and that must come back unchanged.

A mark is computed from what it belongs to, so a server that was started anew still knows its own,
and a mark that was changed, or moved to another message, is seen.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any

SECRET = b"the fake server's own"
CALL_ID = re.compile(r"call_([0-9a-f]{8})_([0-9a-f]{12})_\d+")


def seal(*parts: str) -> str:
    """Twelve letters that only these parts give."""
    return hmac.new(SECRET, "\0".join(parts).encode(errors="replace"), hashlib.sha256).hexdigest()[
        :12
    ]


def signature(*parts: str) -> str:
    """A long opaque mark of these parts, in base64 as providers write theirs."""
    text = "\0".join(parts).encode(errors="replace")
    return base64.b64encode(hmac.new(SECRET, text, hashlib.sha512).digest()).decode()


def nonce_of(body: bytes) -> str:
    """Eight letters for a request: the same request always gets the same."""
    return hashlib.sha256(body).hexdigest()[:8]


def call_id(nonce: str, reasoning: str, index: int) -> str:
    """The id of a tool call, which binds the reasoning that came with it."""
    return f"call_{nonce}_{seal(nonce, reasoning)}_{index}"


def binding(message: Mapping[str, Any]) -> tuple[str, str] | None:
    """The nonce and the reasoning's seal in a message's first call; None where the id is not one
    of ours, or there is no call."""
    calls = message.get("tool_calls") or [{}]
    ours = CALL_ID.fullmatch(str(calls[0].get("id", "")))
    return (ours[1], ours[2]) if ours else None
