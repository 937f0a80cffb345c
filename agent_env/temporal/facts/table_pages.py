"""Which pages the sealed web has of a temporal table, and so which of them prove what.

There is a page for the rows that share one value, or two values of different columns, where they
are not too many to be read. Nothing else of the table is looked at: neither questions nor answers.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from agent_env.records.schema import MaterialTable
from agent_env.temporal.facts.articles import slug

TABLES = "https://tables.example/"
TIME = ("start", "end")
MOST = 60
"""Rows of a page; what more rows share has none of its own."""

Asked = tuple[tuple[str, str], ...]
"""Columns and values, in the order of the table's columns."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """The rows of a table that have these values."""

    table: str
    asked: Asked
    rows: tuple[int, ...]
    """Places in the table, by start."""

    @property
    def title(self) -> str:
        return ", ".join(value for _, value in self.asked)

    @property
    def url(self) -> str:
        """Two pages never share one."""
        key = json.dumps([self.table, self.asked], ensure_ascii=False)
        name = slug(" ".join(value for _, value in self.asked))[:80]
        return f"{TABLES}{self.table}/{name}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def is_temporal(table: MaterialTable) -> bool:
    """Whether its rows say from when to when they held."""
    return set(TIME) <= {column.lower() for column in table.columns}


def time_places(table: MaterialTable) -> tuple[int, int]:
    """Where the start and the end stand."""
    names = [column.lower() for column in table.columns]
    return names.index("start"), names.index("end")


class TablePages:
    """The pages of one table."""

    def __init__(self, table: MaterialTable) -> None:
        self.table = table
        self.columns = tuple(c for c in table.columns if c.lower() not in TIME)
        self.passed_over = 0
        """Groups of more rows than a page has."""
        start, _ = time_places(table)
        order = sorted(range(len(table.rows)), key=lambda n: (str(table.rows[n][start]), n))
        places = [(name, table.columns.index(name)) for name in self.columns]
        self._pages: dict[Asked, RowPage] = {}
        self._urls: dict[Asked, str] = {}
        for size, least in ((1, 1), (2, 2)):
            for chosen in combinations(places, size):
                found: dict[Asked, list[int]] = defaultdict(list)
                for number in order:
                    cells = [(name, table.rows[number][place]) for name, place in chosen]
                    if all(cell not in (None, "") for _, cell in cells):
                        found[tuple((name, str(cell)) for name, cell in cells)].append(number)
                for asked, rows in found.items():
                    if least <= len(rows) <= MOST:
                        self._pages[asked] = RowPage(table.name, asked, tuple(rows))
                    self.passed_over += len(rows) > MOST

    def __iter__(self) -> Iterator[RowPage]:
        yield from self._pages.values()

    def stating(self, asked: Mapping[str, str]) -> tuple[str, ...]:
        """Addresses of the pages that have every row with these values, narrow ones first."""
        pairs = tuple((name, asked[name]) for name in self.columns if name in asked)
        some = (part for size in (2, 1) for part in combinations(pairs, size))
        return tuple(self._url(part) for part in some if part in self._pages)

    def _url(self, asked: Asked) -> str:
        """Made once: many questions are about the same rows."""
        if asked not in self._urls:
            self._urls[asked] = self._pages[asked].url
        return self._urls[asked]
