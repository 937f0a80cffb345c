"""Marks around the words of others, so that a model can tell them from ours."""

from __future__ import annotations


def with_markers(what: str, text: str, digest: str, notice: str) -> str:
    """The text between two lines that are named after its digest, which it cannot contain of
    itself."""
    mark = f"{what} {digest[:12]}"
    return f"[{mark} begins: {notice}]\n{text}\n[{mark} ends]"
