"""From a page's HTML to the text that a model reads: headings, paragraphs, tables and links."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

_BLOCKS = ("h1", "h2", "h3", "p", "li", "tr", "blockquote", "pre")
_NOISE = ("script", "style", "nav", "header", "footer", "aside", "form", "noscript")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A page's readable part."""

    title: str
    text: str
    """Blocks, one per line; table rows as `key: value`, links followed by their address."""


def extract(html: bytes) -> Extracted:
    """The main part of a page; navigation, scripts and the like are left out."""
    soup = BeautifulSoup(html, "lxml")
    title = _clean(soup.title.get_text()) if soup.title else ""
    root = soup.find("main") or soup.find("article") or soup.body or soup
    assert isinstance(root, Tag)
    for noise in root.find_all(_NOISE):
        noise.decompose()
    for link in root.find_all("a", href=True):
        link.append(f" <{link['href']}>")
    lines = [_line(block) for block in root.find_all(_BLOCKS) if block.find(_BLOCKS) is None]
    return Extracted(title, "\n".join(line for line in lines if line))


def _line(block: Tag) -> str:
    if block.name == "tr":
        cells = [_clean(cell.get_text(" ")) for cell in block.find_all(["th", "td"])]
        return f"{cells[0]}: {' | '.join(cells[1:])}" if len(cells) > 1 else " ".join(cells)
    text = _clean(block.get_text(" "))
    return f"- {text}" if block.name == "li" and text else text


def _clean(text: str) -> str:
    return re.sub(r"\s+([,.;:)])", r"\1", _SPACE.sub(" ", text).strip())
