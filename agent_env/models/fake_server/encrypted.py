"""The encrypted reasoning of the Responses API, which a client without storage sends back."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence

from agent_env.models.fake_server.seals import signature
from agent_env.models.fake_server.talk import Object, Refusal

CALL_ITEM = re.compile(r"fc_([0-9a-f]{8})(r?)_\d+")


def encrypted(nonce: str, text: str) -> str:
    """The reasoning of the reply that has this nonce, opaque to clients."""
    inner = base64.b64encode(text.encode(errors="replace")).decode()
    return f"{nonce}.{inner}.{signature('encrypted', nonce, inner)}"


def item_id(nonce: str, thought: bool, place: int) -> str:
    """The id of a function call's item, which says whether reasoning came with it."""
    return f"fc_{nonce}{'r' if thought else ''}_{place}"


def check_reasoning(items: Sequence[Object], demanded: bool) -> None:
    """Raises Refusal where encrypted reasoning is not as it was sent, where it stands before
    another reply's items, and, where it is `demanded`, where it is left out before its call."""
    nonce = ""
    for item in items:
        if item.get("type") == "reasoning":
            nonce = _checked(item)
            continue
        ours = CALL_ITEM.fullmatch(str(item.get("id") or ""))
        if ours and nonce and ours[1] != nonce:
            text = f"Item 'rs_{nonce}' of type 'reasoning' was provided without its required"
            raise Refusal(400, f"{text} following item.", "input")
        if ours and ours[2] and demanded and ours[1] != nonce:
            text = f"Item '{item['id']}' of type 'function_call' was provided without its required"
            raise Refusal(400, f"{text} 'reasoning' item: 'rs_{ours[1]}'.", "input")
        if item.get("type") != "function_call":
            nonce = "" if item.get("role") != "assistant" else nonce


def _checked(item: Object) -> str:
    nonce, _, rest = str(item.get("encrypted_content")).partition(".")
    inner, _, mark = rest.partition(".")
    if mark != signature("encrypted", nonce, inner):
        text = f"The encrypted content for item {item.get('id')} could not be verified. Reason:"
        text += " Encrypted content could not be decrypted or parsed."
        raise Refusal(400, text, code="invalid_encrypted_content")
    return nonce
