"""Titles and addresses of the sealed web's pages, and so what proves a fact."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date, timedelta
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

if TYPE_CHECKING:
    from agent_env.temporal.facts.tables import EventRow

Edge = Literal["start", "end"]
ENCYCLOPEDIA = "https://encyclopedia.example/article/"
ALMANAC = "https://almanac.example/"
GAZETTE = "https://gazette.example/"
NOTES = "https://notes.example/"
EDGE_WORDS: dict[Edge, str] = {"start": "begins", "end": "ends"}
_AUTHORS = ("tess", "old-miller", "rook", "b-lantern", "quillfeather", "the-attic", "harrow")


def event_title(event: str) -> str:
    """The title of the article on an event: its phrase without the article, capitalised."""
    bare = event.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return bare[0].upper() + bare[1:]


def presidency_title(person: str) -> str:
    """The title of the article on a US president's time in office."""
    return f"Presidency of {person}"


def article_url(title: str) -> str:
    """The address of the article with this title."""
    return ENCYCLOPEDIA + quote(title.replace(" ", "_"), safe="")


def almanac_url(kind: str, year: int) -> str:
    """The list of events of a kind that began in the decade of the year, with their dates."""
    return f"{ALMANAC}{slug(kind)}/{year // 10 * 10}s"


def report_url(event: str, edge: Edge, day: date) -> str:
    """The news of the day on which an event began or ended, printed the day after."""
    printed = day + timedelta(days=1)
    return f"{GAZETTE}{printed:%Y/%m/%d}/{slug(event_title(event))}-{EDGE_WORDS[edge]}"


def notes_url(name: str) -> str | None:
    """Someone's page of notes on an event or a person; a third of them have one."""
    if hashlib.sha256(f"notes/{name}".encode()).digest()[0] % 3:
        return None
    return f"{NOTES}~{_AUTHORS[len(name) % len(_AUTHORS)]}/{slug(event_title(name))}.html"


def event_urls(row: EventRow, edge: Edge | None) -> tuple[str, ...]:
    """Every page that states the first day, the last day, or (None) both."""
    urls = [article_url(event_title(row.event))]
    if edge is None and row.years:
        return tuple(urls)  # no other page lists years with gaps
    if row.start is not None and row.end is not None:
        urls += [almanac_url(row.kind, row.start.year)]
        urls += [notes] if (notes := notes_url(row.event)) else []
    one_day = row.start == row.end
    reported_edge = "start" if one_day else edge  # one report covers what lasted a day
    if reported_edge is not None and (day := reported_day(row, reported_edge)) is not None:
        urls.append(report_url(row.event, reported_edge, day))
    return tuple(urls)


def life_urls(person: str) -> tuple[str, ...]:
    """Every page that states both days of a life."""
    notes = notes_url(person)
    return (article_url(person), *([notes] if notes else []))


def reported_day(row: EventRow, edge: Edge) -> date | None:
    """The day of which a report tells; None where it is not known to the day."""
    bound = row.start if edge == "start" else row.end
    if bound is None or bound.day is None:
        return None
    return bound.first


def slug(text: str) -> str:
    """Lower-case letters and digits joined by hyphens, for addresses."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return (
        "-".join(re.findall(r"[a-z0-9]+", plain)) or hashlib.sha256(text.encode()).hexdigest()[:12]
    )
