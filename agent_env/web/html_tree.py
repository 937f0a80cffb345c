"""A page's HTML as a tree, in time that grows with the page whatever it holds.

Guaranteed: at most 10,000,000 characters, 200,000 elements, 256 levels and 256 attributes of each
element are kept, and `Tree.cut` says which bound was met. The bound on attributes is for the
parser's sake: its tree takes time in the square of the attributes of one element, so elements are
counted in a pass that builds none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from lxml import etree  # type: ignore[import-untyped]

MOST_CHARACTERS = 10_000_000
MOST_ELEMENTS = 200_000
MOST_ATTRIBUTES = 256
DEEPEST = 256
"""The parser's own bound; it leaves out what follows."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Tree:
    """What is kept of a page."""

    root: Any
    """An element of lxml; None where the page holds nothing."""
    cut: str = ""
    """The bounds that the page met, such as `256 levels`; empty where it is whole."""


def parse(source: str) -> Tree:
    """The page's tree, without comments."""
    data = source[:MOST_CHARACTERS].encode("utf-8", "replace")
    cuts = [f"{MOST_CHARACTERS} characters"] if len(source) > MOST_CHARACTERS else []
    count = _Count()
    _parse(data, count)
    if count.elements <= MOST_ELEMENTS and count.attributes <= MOST_ATTRIBUTES:
        root, is_deep = _parse(data)
    else:
        part = _Part()
        root, _ = _parse(data, part)
        is_deep = part.is_deep
        cuts += [f"{MOST_ELEMENTS} elements"] * (part.elements > MOST_ELEMENTS)
        cuts += [f"{MOST_ATTRIBUTES} attributes"] * (count.attributes > MOST_ATTRIBUTES)
    return Tree(root, ", ".join(cuts + [f"{DEEPEST} levels"] * is_deep))


def _parse(data: bytes, target: object = None) -> tuple[Any, bool]:
    """The root, or None where there is nothing; whether the page is too deep for the parser."""
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, target=target
    )
    try:
        root = etree.fromstring(data, parser=parser)
    except (etree.LxmlError, ValueError):
        return None, False
    return root, any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log)


class _Count:
    """Counts elements, and the attributes of the one that has most; names are lxml's."""

    def __init__(self) -> None:
        self.elements = self.attributes = 0

    def start(self, tag: str, attributes: Any) -> None:
        """Count an element."""
        self.elements += 1
        self.attributes = max(self.attributes, len(attributes))

    def close(self) -> None:
        """Nothing is built."""


class _Part:
    """Builds the tree up to the bounds; names are lxml's. Attributes of odd names are left out, an
    element of an odd name is a `span`."""

    def __init__(self) -> None:
        self.elements = 0
        self.is_deep = False
        self._builder = etree.TreeBuilder()
        self._open: list[str] = []
        self._is_full = False

    def start(self, tag: str, attributes: Any) -> None:
        """An element begins."""
        if self._is_full:
            return
        self.elements += 1
        self.is_deep = len(self._open) >= DEEPEST
        self._is_full = self.is_deep or self.elements > MOST_ELEMENTS
        if not self._is_full:
            self._open.append(tag if _NAME.fullmatch(tag) else "span")
            named = ((k, v) for k, v in attributes.items() if _NAME.fullmatch(k))
            self._builder.start(self._open[-1], dict(islice(named, MOST_ATTRIBUTES)))

    def data(self, text: str) -> None:
        """Text of the element that is open."""
        if self._open and not self._is_full:
            self._builder.data(text)

    def end(self, tag: str) -> None:
        """An element ends."""
        if not self._is_full:
            self._builder.end(self._open.pop())

    def close(self) -> Any:
        """The root, with what is open ended."""
        while self._open:
            self._builder.end(self._open.pop())
        return self._builder.close() if self.elements else None
