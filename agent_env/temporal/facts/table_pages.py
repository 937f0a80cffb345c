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

ColumnValues = tuple[tuple[str, str], ...]
"""Columns and values, in the order of the table's columns."""


@dataclass(frozen=True, slots=True)
class RowPage:
    """The rows of a table that have these values."""

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
