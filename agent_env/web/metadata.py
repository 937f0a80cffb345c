"""What a page says of itself: its language and the days it was published and changed.

Read from the html element, meta elements, JSON-LD and, where these are silent, a single `time`
element inside the only article. Not covered: dates that stand in the text alone, and what a page
says wrongly; a site may date its pages as it likes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from email.utils import parsedate_to_datetime
from typing import Any

from agent_env.temporal.written import SHORT_MONTH, month_number

_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "date", "dc.date",
    "dc.date.issued", "dcterms.created", "dcterms.issued", "citation_publication_date",
    "citation_date", "pubdate", "publishdate", "parsely-pub-date", "sailthru.date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified",
    "dc.date.modified", "lastmod",
)  # fmt: skip
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_WORDED = re.compile(rf"({SHORT_MONTH})[a-z]{{0,9}}\.? (\d{{1,2}}), (\d{{4}})", re.I)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}")
_LONGEST_DATE = 200
_LONGEST_JSON = 200_000
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of a page beside its text."""

    language: str | None = None
    published: str | None = None
    """YYYY-MM-DD."""
    modified: str | None = None
    """YYYY-MM-DD."""


NOTHING = Metadata()


def metadata_of(document: Any) -> Metadata:
    """What the parsed document says; what it does not say is None."""
    named = _named(document)
    linked = _linked(document)
    published = _first(named, _PUBLISHED) or linked.get("datePublished") or _only_time(document)
    modified = _first(named, _MODIFIED) or linked.get("dateModified")
    return Metadata(_language(document, named), published, modified)


def day_of(text: object) -> str | None:
    """The day in a written date or time as YYYY-MM-DD; None where none can be read."""
    if not isinstance(text, str):
        return None
    if len(text) > _LONGEST_DATE:
        return None
    match = _DAY.match(text.strip())
    try:
        if match is not None:
            return date(*map(int, match.groups())).isoformat()
        if (worded := _WORDED.fullmatch(text.strip())) is not None:
            month = month_number(worded[1]) or 0
            return date(int(worded[3]), month, int(worded[2])).isoformat()
        return parsedate_to_datetime(text.strip()).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return None


def _named(document: Any) -> dict[str, str]:
    """Contents of meta elements by name, the first of each."""
    named: dict[str, str] = {}
    for meta in document.iter("meta"):
        for key in ("property", "name", "itemprop", "http-equiv"):
            if (name := meta.get(key)) and (content := meta.get("content")):
                named.setdefault(name.strip().lower(), content[:200])
    return named


def _first(named: dict[str, str], names: tuple[str, ...]) -> str | None:
    days = (day_of(named.get(name)) for name in names)
    return next((day for day in days if day is not None), None)


def _linked(document: Any) -> dict[str, str]:
    """The first dates of each kind in JSON-LD."""
    days: dict[str, str] = {}
    for script in document.iter("script"):
        if script.get("type", "").strip().lower() != "application/ld+json" or not script.text:
            continue
        try:
            value = json.loads(script.text[:_LONGEST_JSON])
        except (ValueError, RecursionError):
            continue
        for item in _objects(value, _DEEPEST):
            for name in ("datePublished", "dateModified"):
                if (day := day_of(item.get(name))) is not None:
                    days.setdefault(name, day)
    return days


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = value.get("@graph")
    if isinstance(value, list) and depth:
        for item in value:
            yield from _objects(item, depth - 1)


def _only_time(document: Any) -> str | None:
    articles = document.findall(".//article")
    times = articles[0].findall(".//time[@datetime]") if len(articles) == 1 else []
    return day_of(times[0].get("datetime")) if len(times) == 1 else None


def _language(document: Any, named: dict[str, str]) -> str | None:
    lang = document.get("lang") or document.get("xml:lang") or named.get("content-language") or ""
    language = str(lang).strip().lower().replace("_", "-").partition(",")[0]
    return language if _LANGUAGE.fullmatch(language) else None
