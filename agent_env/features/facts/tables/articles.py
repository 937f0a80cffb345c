"""Titles and addresses of the sealed web's pages, and which of them prove what.

Of a temporal table there is a page for the rows that share one value, or two values of different
columns, where they are not too many to be read. Nothing else of the table is looked at: neither
questions nor answers.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from agent_env.sdk.records import MaterialTable

if TYPE_CHECKING:
    from agent_env.features.facts.tables.tables import EventRow

Edge = Literal["start", "end"]
ENCYCLOPEDIA = "https://encyclopedia.example/article/"
ALMANAC = "https://almanac.example/"
GAZETTE = "https://gazette.example/"
NOTES = "https://notes.example/"
EDGE_WORDS: dict[Edge, str] = {"start": "begins", "end": "ends"}
_SEVERAL = re.compile(r"\b(?:Games|Olympics|[Tt]alks)\b")
_AUTHORS = ("tess", "old-miller", "rook", "b-lantern", "quillfeather", "the-attic", "harrow")


def event_title(event: str) -> str:
    """The title of the article on an event: its phrase without the article, capitalised."""
    bare = event.removeprefix("the ").removeprefix("a ").removeprefix("an ")
    return bare[0].upper() + bare[1:]


def presidency_title(person: str) -> str:
    """The title of the article on a US president's time in office."""
    return f"Presidency of {person}"


@cache
def article_url(title: str) -> str:
    return ENCYCLOPEDIA + quote(title.replace(" ", "_"), safe="")


def almanac_url(kind: str, year: int) -> str:
    """The list of events of a kind that began in the decade of the year, with their dates."""
    return f"{ALMANAC}{slug(kind)}/{year // 10 * 10}s"


def report_url(event: str, edge: Edge, day: date) -> str:
    """The news of the day on which an event began or ended, printed the day after."""
    printed = day + timedelta(days=1)
    return f"{GAZETTE}{printed:%Y/%m/%d}/{slug(event_title(event))}-{EDGE_WORDS[edge]}"


def report_title(row: EventRow, edge: Edge) -> str:
    """Such as `Yalta Conference begins`, `Austerity Games end`, `Report of the Seneca Falls …`."""
    if row.start == row.end:
        return f"Report of {row.event}"
    title, word = event_title(row.event), EDGE_WORDS[edge]
    return f"{title} {word[:-1] if _SEVERAL.search(title) else word}"


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


TABLES = "https://tables.example/"
TIME = ("start", "end")
MOST = 60
"""Rows of a page; what more rows share has none of its own."""

ColumnValues = tuple[tuple[str, str], ...]
"""Columns and values, in the order of the table's columns."""


@dataclass(frozen=True, slots=True)
class RowPage:
    table: str
    values: ColumnValues
    rows: tuple[int, ...]
    """Places in the table, by start."""

    @property
    def title(self) -> str:
        return ", ".join(value for _, value in self.values)

    @property
    def url(self) -> str:
        """Two pages never share one."""
        key = json.dumps([self.table, self.values], ensure_ascii=False)
        name = slug(" ".join(value for _, value in self.values))[:80]
        return f"{TABLES}{self.table}/{name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def time_places(table: MaterialTable) -> tuple[int, int]:
    """Where the start and the end stand."""
    names = [column.lower() for column in table.columns]
    return names.index("start"), names.index("end")


class TablePages:
    def __init__(self, table: MaterialTable) -> None:
        self.table = table
        self.columns = tuple(c for c in table.columns if c.lower() not in TIME)
        self.passed_over = 0
        """Groups of more rows than a page has."""
        start, _ = time_places(table)
        order = sorted(range(len(table.rows)), key=lambda n: (str(table.rows[n][start]), n))
        places = [(name, table.columns.index(name)) for name in self.columns]
        self._pages: dict[ColumnValues, RowPage] = {}
        self._urls: dict[ColumnValues, str] = {}
        for size, least in ((1, 1), (2, 2)):
            for columns in combinations(places, size):
                groups: dict[ColumnValues, list[int]] = defaultdict(list)
                for number in order:
                    cells = [(name, table.rows[number][place]) for name, place in columns]
                    if all(cell not in (None, "") for _, cell in cells):
                        groups[tuple((name, str(cell)) for name, cell in cells)].append(number)
                for values, rows in groups.items():
                    if least <= len(rows) <= MOST:
                        self._pages[values] = RowPage(table.name, values, tuple(rows))
                    self.passed_over += len(rows) > MOST

    def __iter__(self) -> Iterator[RowPage]:
        yield from self._pages.values()

    def stating(self, values: Mapping[str, str]) -> tuple[str, ...]:
        """Addresses of the pages that have every row with these values, narrow ones first."""
        pairs = tuple((name, values[name]) for name in self.columns if name in values)
        some = (part for size in (2, 1) for part in combinations(pairs, size))
        return tuple(self._url(part) for part in some if part in self._pages)

    def _url(self, values: ColumnValues) -> str:
        """Made once: many questions are about the same rows."""
        if values not in self._urls:
            self._urls[values] = self._pages[values].url
        return self._urls[values]
