"""Reads the pages that came with a question, by the marks that stand in the message itself."""

from __future__ import annotations

import re

_FIRST = re.compile(r"=== ([0-9a-f]{12}) pages found on the web\n")


def split_given(content: str) -> tuple[dict[str, str], str]:
    """The pages by address, title and address first as open_page shows them, and the question."""
    first = _FIRST.match(content)
    if first is None:
        return {}, content
    mark = f"=== {first[1]}"
    pages, _, question = content.partition(f"{mark} end of the pages; the question follows\n")
    blocks = re.findall(
        rf"^{mark} page \d+\n((?:(?!^{mark} page).)*?)\n{mark} end of page \d+$", pages, re.M | re.S
    )
    return {block.split("\n", 2)[1]: block for block in blocks}, question.removeprefix("\n")
