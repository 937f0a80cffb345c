"""Reads TDBench's published layout: CSV tables with Start and End, and questions with their SQL.

A question file is JSON (an array) or JSONL with `idx, op, qtype, sql_for_db, correct_rows,
incorrect_rows` and, where it is worded, `questions`. Each stored statement is run on the table that
it fits and compared with its stored rows. A fill-in file is a CSV with `statement` (with ___ where
the answer goes), `answer`, `start` and, if known, `former` (values that held before, by `;`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from agent_env.errors import DatasetError, first_problem
from agent_env.families.tdbench.published_sql import (
    Columns,
    Database,
    Reading,
    Refused,
    Row,
    same_rows,
    table_name,
    told,
)
from agent_env.records.schema import Stored

RELATIONS = {
    "meet": "meets",
    "overlap": "overlaps",
    "equal": "equals",
    "start": "starts",
    "finish": "finishes",
    "contain": "contains",
}
"""Allen's names for those that the published files shorten."""


class PublishedQuestion(Stored):
    """One entry of a question file."""

    idx: int
    op: str = ""
    qtype: str
    sql_for_db: str
    correct_rows: tuple[dict[str, str | int | float | None], ...]
    incorrect_rows: tuple[dict[str, str | int | float | None], ...] = ()
    questions: tuple[str, ...] = Field(default=())

    @property
    def relation(self) -> str:
        """Allen's name, `current` or `hops`."""
        if self.qtype.startswith("now"):
            return "current"
        if self.qtype.startswith("join"):
            return "hops"
        name = self.op.strip().lower()
        return RELATIONS.get(name, name)

    @property
    def reading(self) -> Reading:
        """How its rows write days."""
        midnight = "00:00:00" in self.sql_for_db or any(
            "00:00:00" in str(cell) for row in self.correct_rows for cell in row.values()
        )
        return Reading(midnight, fill_end=self.qtype.startswith("basic"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored statement that does not give its stored rows."""

    file: str
    idx: int
    relation: str
    reason: str
    """`other rows`, or why it could not be run."""
    missing: tuple[str, ...] = ()
    """Stored, but not found."""
    extra: tuple[str, ...] = ()
    """Found, but not stored."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A question, where its rows stand, and whether they are right."""

    file: str
    question: PublishedQuestion
    table: Columns | None
    found: tuple[Row, ...] | None
    """What its statement gives now; None where it cannot be run."""
    difference: Difference | None


@dataclass(slots=True)
class Published:
    """All of a folder."""

    tables: tuple[Columns, ...]
    checked: list[Checked] = field(default_factory=list)
    blanks: list[Blank] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Files that are none of these, with why."""


@dataclass(frozen=True, slots=True)
class Blank:
    """A statement with a gap."""

    file: str
    line: int
    statement: str
    answer: str
    start: str
    former: tuple[str, ...]


def read_published(folder: Path, now: date) -> Published:
    """Everything in the folder and below, checked; DatasetError for a question file that breaks off
    or a folder without any."""
    if not folder.is_dir():
        raise DatasetError(folder, None, "is no folder")
    found = Published(())
    tables: list[Columns] = []
    for file in sorted(folder.rglob("*.csv")):
        _read_csv(file, folder, tables, found)
    found.tables = tuple(tables)
    with Statements(tables, now) as statements:
        for file in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
            name = str(file.relative_to(folder))
            questions = _questions(file)
            if questions is None:
                found.ignored.append(f"{name}: no entries with sql_for_db")
                continue
            found.checked += [statements.check(name, question) for question in questions]
    if not found.checked and not found.blanks:
        raise DatasetError(folder, None, "holds no questions: no JSON with sql_for_db, no ___")
    return found


def _read_csv(file: Path, folder: Path, tables: list[Columns], found: Published) -> None:
    name = str(file.relative_to(folder))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        try:
            rows = list(csv.reader(lines))
        except (csv.Error, UnicodeDecodeError) as exc:
            raise DatasetError(file, None, f"is no CSV: {exc}") from exc
    head = [column.strip() for column in rows[0]] if rows else []
    folded = [column.casefold() for column in head]
    if {"statement", "answer", "start"} <= set(folded):
        found.blanks += _blanks(file, name, [dict(zip(folded, r, strict=False)) for r in rows[1:]])
    elif {"start", "end"} <= set(folded):
        ragged = next((n for n, r in enumerate(rows[1:], 2) if len(r) != len(head)), None)
        if ragged is not None:
            raise DatasetError(file, ragged, f"has not the {len(head)} cells of the head")
        cells = tuple(tuple(cell.strip() or None for cell in row) for row in rows[1:])
        tables.append(Columns(file.stem, tuple(head), cells))
    else:
        found.ignored.append(f"{name}: no columns Start and End")


def _blanks(file: Path, name: str, rows: Iterable[Mapping[str, str]]) -> Iterator[Blank]:
    for line, row in enumerate(rows, start=2):
        if "___" not in row["statement"] or not row.get("answer", "").strip():
            raise DatasetError(file, line, "needs a statement with ___ and an answer")
        former = tuple(v.strip() for v in row.get("former", "").split(";") if v.strip())
        yield Blank(name, line, row["statement"], row["answer"].strip(), row["start"], former)


def _questions(file: Path) -> list[PublishedQuestion] | None:
    """The entries; None where the file holds something else."""
    text = file.read_text(encoding="utf-8")
    try:
        raw: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError:
        raw = None
    if raw is None or file.suffix == ".json":
        try:
            raw = json.loads(text)
        except ValueError as exc:
            raise DatasetError(file, None, f"is no JSON: {exc}") from exc
    if not isinstance(raw, list) or not raw or not isinstance(raw[0], dict):
        return None
    if "sql_for_db" not in raw[0]:
        return None
    questions = []
    for number, entry in enumerate(raw, start=1):
        try:
            questions.append(PublishedQuestion.model_validate(entry))
        except ValidationError as exc:
            reason = f"entry {number}: {first_problem(exc.errors())}"
            raise DatasetError(file, None, reason) from exc
    return questions


class Statements:
    """Runs statements, each on the table that it fits; a context that keeps databases open."""

    def __init__(self, tables: Sequence[Columns], now: date) -> None:
        self._tables = tables
        self._now = now
        self._open: dict[tuple[int, str, Reading], Database] = {}

    def __enter__(self) -> Statements:
        return self

    def __exit__(self, *_: object) -> None:
        for database in self._open.values():
            database.close()
        self._open.clear()

    def check(self, file: str, question: PublishedQuestion) -> Checked:
        """The question with what its statement gives now. Of several tables that it can be run on,
        the one that gives the stored rows, else the first."""
        reason = "no table has its columns"
        tried: list[tuple[Columns, list[Row]]] = []
        for number, table in enumerate(self._tables):
            try:
                rows = self._run(number, table_name(question.sql_for_db), question)
            except Refused as exc:
                if "no such column" not in str(exc):
                    reason = str(exc)
                continue
            tried.append((table, rows))
            if same_rows(rows, question.correct_rows):
                return Checked(file, question, table, tuple(rows), None)
        if not tried:
            told_why = Difference(file, question.idx, question.relation, reason)
            return Checked(file, question, None, None, told_why)
        table, rows = max(tried, key=lambda pair: bool(pair[1]))
        return Checked(file, question, table, tuple(rows), _difference(file, question, rows))

    def _run(self, number: int, name: str, question: PublishedQuestion) -> list[Row]:
        key = (number, name.casefold(), question.reading)
        if key not in self._open:
            table = self._tables[number]
            self._open[key] = Database(table, name, question.reading, self._now)
        return self._open[key].run(question.sql_for_db)


def _difference(file: str, question: PublishedQuestion, rows: Sequence[Row]) -> Difference:
    stored, found = set(map(told, question.correct_rows)), set(map(told, rows))
    return Difference(
        file,
        question.idx,
        question.relation,
        "other rows",
        tuple(sorted(stored - found)),
        tuple(sorted(found - stored)),
    )
