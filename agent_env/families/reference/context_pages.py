"""Reads the pages that a prompt contains, by the marks in the message itself."""

from __future__ import annotations

import re

_FIRST = re.compile(r"=== ([0-9a-f]{12}) pages found on the web\n")


def split_pages(content: str) -> tuple[dict[str, str], str]:
    """The pages by address, each in the form of open_page, and the question."""
    first = _FIRST.match(content)
    if first is None:
        return {}, content
    mark = f"=== {first[1]}"
    pages, _, question = content.partition(f"{mark} end of the pages; the question follows\n")
    blocks = re.findall(
        rf"^{mark} page \d+\n((?:(?!^{mark} page).)*?)\n{mark} end of page \d+$", pages, re.M | re.S
    )
    return {block.split("\n", 2)[1]: block for block in blocks}, question.removeprefix("\n")
