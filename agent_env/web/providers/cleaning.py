"""From what a service wrote to Hits: plain text, sound addresses, each address once."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from pydantic import JsonValue

from agent_env.records.pages import Hit
from agent_env.web.metadata import day_of
from agent_env.web.providers.api import RawHit

SNIPPET = 500
TITLE = 200
LONGEST_URL = 2000
READ = 20_000
"""Characters of one text that are looked at."""

_ADDRESS = re.compile(r"https?://[^\s/?#<>\"]++[^\s<>\"]*+", re.I)
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>.*?(</\1\s*>|$)", re.I | re.S)
_TAG = re.compile(r"<!--.*?(-->|$)|</?[a-z][^<>]*>", re.I | re.S)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SECRET = 8
"""Characters that a key has; a shorter one is a placeholder and would blot out words."""


def hits_of(raw_hits: Iterable[RawHit], key: str) -> list[Hit]:
    """The results that have an address, in their order; a missing title is the address."""
    hits: dict[str, Hit] = {}
    for each in raw_hits:
        url = blotted(each.url.strip(), key) if isinstance(each.url, str) else ""
        if url not in hits and len(url) <= LONGEST_URL and _ADDRESS.fullmatch(url):
            title = shortened(plain(each.title, key), TITLE)
            snippet = shortened(plain(each.snippet, key), SNIPPET)
            day = day_of(each.day)
            hits[url] = Hit(url=url, title=title or url, snippet=snippet, published=day)
    return list(hits.values())


def plain(value: JsonValue, key: str) -> str:
    """Text, or a list of texts, on one line without tags and entities; empty for anything else."""
    if isinstance(value, list):
        return " … ".join(text for each in value if (text := plain(each, key)))
    if not isinstance(value, str):
        return ""
    bare = _TAG.sub("", _SCRIPT.sub(" ", blotted(value, key)[:READ]))
    return blotted(" ".join(_CONTROL.sub(" ", html.unescape(bare)).split()), key)


def shortened(text: str, most: int) -> str:
    """The text's beginning, cut at a word where it is too long."""
    if len(text) <= most:
        return text
    return text[: most - 2].rsplit(" ", 1)[0] + " …"


def blotted(text: str, key: str) -> str:
    """The text without the key and without halves of letters, which no file takes."""
    if len(key) >= SECRET:
        text = text.replace(key, "***")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
