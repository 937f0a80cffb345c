"""Reads TDBench's published layout: CSV tables with Start and End, and questions with their SQL.

A question file is JSON (an array) or JSONL with `idx, op, qtype, sql_for_db, correct_rows,
incorrect_rows` and, where it is worded, `questions`. The stored statements run under the reading
that returns most of their stored rows (`published_proof`), and each is compared with its own. A
fill-in file is a CSV with `statement` (with ___ where the answer goes), `answer`, `start` and, if
known, `former` (values that held before, by `;`).
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from agent_env.errors import DatasetError, first_problem
from agent_env.families.tdbench.published_proof import Outcome, StoredResult, prove
from agent_env.families.tdbench.published_sql import Columns, Reading, Row, is_missing, row_texts
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
    def stored(self) -> StoredResult:
        """The statement with its rows."""
        return StoredResult(self.sql_for_db, self.correct_rows)

    @property
    def group(self) -> str:
        """The first part of its type, such as `basic`: the statements of one were made alike."""
        return self.qtype.partition("_")[0]


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
    reading: Reading
    table: Columns | None
    rows: tuple[Row, ...] | None
    """What its statement returns; None where it cannot be run."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class FileProof:
    """What proves the reading of a file's statements of one kind."""

    file: str
    group: str
    reading: Reading
    stored: int
    """Statements with stored results."""
    reproduced: int
    """Those of them that return their stored rows."""
    with_rows: int
    """Those that return rows at all: an empty result proves less."""


@dataclass(frozen=True, slots=True)
class PublishedSet:
    """All of a folder."""

    folder: str = ""
    """The folder's name."""
    tables: list[Columns] = field(default_factory=list)
    questions: list[CheckedQuestion] = field(default_factory=list)
    proofs: list[FileProof] = field(default_factory=list)
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


def read_published(folder: Path, now: date | None) -> PublishedSet:
    """Everything in the folder and below, checked; DatasetError for a question file that breaks off
    or a folder without any. `now`: the day of making, where it is known."""
    if not folder.is_dir():
        raise DatasetError(folder, None, "is no folder")
    published = PublishedSet(folder.resolve().name)
    for file in sorted(folder.rglob("*.csv")):
        _read_csv(file, folder, published)
    for file in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        name = str(file.relative_to(folder))
        questions = read_questions(file)
        if isinstance(questions, str):
            published.ignored.append(f"{name}: {questions}")
            continue
        groups: dict[str, list[PublishedQuestion]] = defaultdict(list)
        for question in questions:
            groups[question.group].append(question)
        for group, own in groups.items():
            _check(name, group, own, published, now)
    if not published.questions and not published.blanks:
        seen = f": {'; '.join(published.ignored)}" if published.ignored else ""
        raise DatasetError(folder, None, f"holds no questions with sql_for_db, no ___{seen}")
    return published


def _check(
    file: str, group: str, questions: Sequence[PublishedQuestion], published: PublishedSet,
    now: date | None,
) -> None:  # fmt: skip
    """Prove the questions' reading, and compare each with its stored rows."""
    proof = prove([question.stored for question in questions], published.tables, now)
    with_rows = sum(o.is_same and bool(o.rows) for o in proof.outcomes)
    published.proofs.append(
        FileProof(file, group, proof.reading, len(questions), proof.reproduced, with_rows)
    )
    for question, outcome in zip(questions, proof.outcomes, strict=True):
        difference = None
        if not outcome.is_same:
            difference = _difference(file, question, outcome, proof.reading)
        published.questions.append(
            CheckedQuestion(file, question, proof.reading, outcome.table, outcome.rows, difference)
        )


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
        body = tuple(
            tuple(None if is_missing(cell) else cell.strip() for cell in row) for row in rows[1:]
        )
        published.tables.append(Columns(file.stem, tuple(head), body))
    else:
        published.ignored.append(f"{name}: no columns Start and End, but {', '.join(head[:8])}")


def _blanks(file: Path, name: str, rows: Iterable[Mapping[str, str]]) -> Iterator[Blank]:
    for line, row in enumerate(rows, start=2):
        if "___" not in row["statement"] or not row.get("answer", "").strip():
            raise DatasetError(file, line, "needs a statement with ___ and an answer")
        former = tuple(v.strip() for v in row.get("former", "").split(";") if v.strip())
        yield Blank(name, line, row["statement"], row["answer"].strip(), row["start"], former)


FIELDS = frozenset({"idx", "op", "qtype", "sql_for_db", "correct_rows", "incorrect_rows"})
"""Fields of an entry; a file whose entries have two of them is a question file."""


def read_questions(file: Path) -> list[PublishedQuestion] | str:
    """The entries; what the file holds instead, where it is of another kind."""
    entries = _entries(file)
    if not isinstance(entries, list) or not entries or not isinstance(entries[0], dict):
        return "holds no list of entries"
    if len(FIELDS & set(entries[0])) < 2:
        return f"its entries have no sql_for_db, but {', '.join(list(entries[0])[:8])}"
    questions = []
    for number, entry in enumerate(entries, start=1):
        try:
            questions.append(PublishedQuestion.model_validate(entry))
        except ValidationError as exc:
            reason = f"entry {number}: {first_problem(exc.errors())}"
            raise DatasetError(file, None, reason) from exc
    return questions


def _entries(file: Path) -> Any:
    """The file's JSON; a JSONL file as a list. DatasetError says where it breaks off."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise DatasetError(file, None, f"is no UTF-8 text: {exc.reason}") from exc
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if file.suffix == ".jsonl" and not text.lstrip().startswith("["):
        entries = []
        for number, line in lines:
            try:
                entries.append(json.loads(line))
            except ValueError as exc:
                raise DatasetError(file, number, f"is no JSON: {exc}") from exc
        return entries
    try:
        return json.loads(text)
    except ValueError as exc:
        try:
            return [json.loads(line) for _, line in lines]
        except ValueError:
            at = getattr(exc, "lineno", None)
            raise DatasetError(file, at, f"is no JSON: {exc}") from exc


def _difference(
    file: str, question: PublishedQuestion, outcome: Outcome, reading: Reading
) -> Difference:
    if outcome.rows is None:
        return Difference(file, question.idx, question.relation, outcome.reason)
    stored, returned = (row_texts(rows, reading) for rows in (question.correct_rows, outcome.rows))
    missing, extra = tuple(sorted(stored - returned)), tuple(sorted(returned - stored))
    return Difference(file, question.idx, question.relation, "other rows", missing, extra)
