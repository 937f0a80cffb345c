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
    DateFormat,
    Row,
    StatementError,
    row_text,
    same_rows,
    table_name,
)
from agent_env.records.schema import Stored

RELATIONS = {
    "meet": "meets", "overlap": "overlaps", "equal": "equals", "start": "starts",
    "finish": "finishes", "contain": "contains",
}  # fmt: skip
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
    def date_format(self) -> DateFormat:
        """How its rows write dates."""
        midnight = "00:00:00" in self.sql_for_db or any(
            "00:00:00" in str(cell) for row in self.correct_rows for cell in row.values()
        )
        return DateFormat(midnight, fill_end=self.qtype.startswith("basic"))


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored statement that does not give its stored rows."""

    file: str
    idx: int
    relation: str
    reason: str
    """`other rows`, or why it could not be run."""
    missing: tuple[str, ...] = ()
    """Stored, but not returned."""
    extra: tuple[str, ...] = ()
    """Returned, but not stored."""


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """A question, its table, and whether its stored rows are right."""

    file: str
    question: PublishedQuestion
    table: Columns | None
    rows: tuple[Row, ...] | None
    """What its statement returns now; None where it cannot be run."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """All of a folder."""

    tables: list[Columns] = field(default_factory=list)
    questions: list[CheckedQuestion] = field(default_factory=list)
    blanks: list[Blank] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Files of no known layout, with the reason."""


@dataclass(frozen=True, slots=True)
class Blank:
    """A statement with a gap."""

    file: str
    line: int
    statement: str
    answer: str
    start: str
    former: tuple[str, ...]


def read_published(folder: Path, now: date) -> PublishedSet:
    """Everything in the folder and below, checked; DatasetError for a question file that breaks off
    or a folder without any."""
    if not folder.is_dir():
        raise DatasetError(folder, None, "is no folder")
    published = PublishedSet()
    for file in sorted(folder.rglob("*.csv")):
        _read_csv(file, folder, published)
    with Statements(published.tables, now) as statements:
        for file in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
            name = str(file.relative_to(folder))
            questions = _questions(file)
            if questions is None:
                published.ignored.append(f"{name}: no entries with sql_for_db")
                continue
            published.questions.extend(statements.check(name, each) for each in questions)
    if not published.questions and not published.blanks:
        raise DatasetError(folder, None, "holds no questions: no JSON with sql_for_db, no ___")
    return published


def _read_csv(file: Path, folder: Path, published: PublishedSet) -> None:
    name = str(file.relative_to(folder))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        try:
            rows = list(csv.reader(lines))
        except (csv.Error, UnicodeDecodeError) as exc:
            raise DatasetError(file, None, f"is no CSV: {exc}") from exc
    head = [column.strip() for column in rows[0]] if rows else []
    folded = [column.casefold() for column in head]
    if {"statement", "answer", "start"} <= set(folded):
        cells = (dict(zip(folded, row, strict=False)) for row in rows[1:])
        published.blanks.extend(_blanks(file, name, cells))
    elif {"start", "end"} <= set(folded):
        ragged = next((n for n, r in enumerate(rows[1:], 2) if len(r) != len(head)), None)
        if ragged is not None:
            raise DatasetError(file, ragged, f"has not the {len(head)} cells of the head")
        body = tuple(tuple(cell.strip() or None for cell in row) for row in rows[1:])
        published.tables.append(Columns(file.stem, tuple(head), body))
    else:
        published.ignored.append(f"{name}: no columns Start and End")


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
    """Runs statements, each on its table; a context that keeps databases open."""

    def __init__(self, tables: Sequence[Columns], now: date) -> None:
        self._tables = tables
        self._now = now
        self._open: dict[tuple[int, str, DateFormat], Database] = {}

    def __enter__(self) -> Statements:
        return self

    def __exit__(self, *_: object) -> None:
        for database in self._open.values():
            database.close()
        self._open.clear()

    def check(self, file: str, question: PublishedQuestion) -> CheckedQuestion:
        """The question with what its statement returns now: on the table for which it returns the
        stored rows, else on the first that it can be run on."""
        reason = "no table has its columns"
        results: list[tuple[Columns, list[Row]]] = []
        for number, table in enumerate(self._tables):
            try:
                rows = self._run(number, table_name(question.sql_for_db), question)
            except StatementError as exc:
                if "no such column" not in str(exc):
                    reason = str(exc)
                continue
            results.append((table, rows))
            if same_rows(rows, question.correct_rows):
                return CheckedQuestion(file, question, table, tuple(rows), None)
        if not results:
            failure = Difference(file, question.idx, question.relation, reason)
            return CheckedQuestion(file, question, None, None, failure)
        table, rows = max(results, key=lambda pair: bool(pair[1]))
        return CheckedQuestion(
            file, question, table, tuple(rows), _difference(file, question, rows)
        )

    def _run(self, number: int, name: str, question: PublishedQuestion) -> list[Row]:
        key = (number, name.casefold(), question.date_format)
        if key not in self._open:
            table = self._tables[number]
            self._open[key] = Database(table, name, question.date_format, self._now)
        return self._open[key].run(question.sql_for_db)


def _difference(file: str, question: PublishedQuestion, rows: Sequence[Row]) -> Difference:
    stored, returned = set(map(row_text, question.correct_rows)), set(map(row_text, rows))
    missing, extra = tuple(sorted(stored - returned)), tuple(sorted(returned - stored))
    return Difference(file, question.idx, question.relation, "other rows", missing, extra)
