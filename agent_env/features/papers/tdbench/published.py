"""Reads TDBench's published layout: CSV tables with Start and End, and questions with their SQL.

A question file is JSON (an array) or JSONL with `idx, op, qtype, sql_for_db, correct_rows,
incorrect_rows` and, where it is worded, `questions`. A fill-in file is a CSV with `statement` (with
___ where the answer goes), `answer`, `start` and, if known, `former` (values that held before, by
`;`).

The statements ran on a database that is not published: nobody says how it held days, what stood for
an end without a value, and on which day it was made. Each reading that the file's own texts suggest
is tried on a part of the statements, and the best two on all of them. The reading that returns most
of the stored rows is chosen for all statements of one kind in a file at once, never for one alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from agent_env.features.papers.tdbench.published_sql import (
    FAR_DAY,
    MIDNIGHT,
    TOO_LATE,
    Columns,
    Database,
    Dates,
    Reading,
    Row,
    StatementError,
    is_missing,
    iso_day,
    may_join,
    needs_now,
    plain_name,
    row_texts,
    same_rows,
)
from agent_env.sdk.errors import DatasetError, first_problem
from agent_env.sdk.records import Stored

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
    def hops(self) -> int:
        """The number of hops of a join, two unless its type says another."""
        match = re.search(r"(\d)[_-]?hop", self.qtype, re.I)
        return max(2, int(match[1])) if match else 2

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
    missing: tuple[str, ...] = ()
    """Stored, but not returned."""
    extra: tuple[str, ...] = ()
    """Returned, but not stored."""


@dataclass(frozen=True, slots=True)
class CheckedQuestion:
    """A question, and what its statement returns under the reading of its file."""

    question: PublishedQuestion
    reading: Reading
    table: Columns | None
    rows: tuple[Row, ...] | None
    """None where it cannot be run."""
    reason: str = ""
    """`other rows`, or why it cannot be run; "" where its stored rows come out."""
    fitting: tuple[int, ...] = ()
    """Numbers of the tables on which it can be run."""
    file: str = ""

    @property
    def difference(self) -> Difference | None:
        if not self.reason:
            return None
        every = (self.question.correct_rows, self.rows) if self.rows is not None else ((), ())
        stored, returned = (row_texts(rows, self.reading) for rows in every)
        return Difference(
            self.file, self.question.idx, self.question.relation, self.reason,
            tuple(sorted(stored - returned)), tuple(sorted(returned - stored)),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublishedSet:
    folder: str = ""
    """The folder's name."""
    tables: list[Columns] = field(default_factory=list)
    questions: list[CheckedQuestion] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)
    blanks: list[Blank] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Files of no known layout, with the reason."""
    notes: list[str] = field(default_factory=list)
    """What was done with a file, for its user."""


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
        raise DatasetError(folder, None, "is not a folder")
    published = PublishedSet(folder.resolve().name)
    for file in sorted(folder.rglob("*.csv")):
        _read_csv(file, folder, published)
    for file in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        name = str(file.relative_to(folder))
        questions = read_questions(file)
        if isinstance(questions, str):
            published.ignored.append(f"{name}: {questions}")
            continue
        if repeated := len(questions) - len({question.idx for question in questions}):
            published.notes.append(
                f"{name}: {repeated} entries repeat the idx of another; all are numbered 1 to "
                f"{len(questions)} in the order of the file"
            )
            questions = [q.model_copy(update={"idx": n}) for n, q in enumerate(questions, start=1)]
        groups: dict[str, list[PublishedQuestion]] = defaultdict(list)
        for question in questions:
            groups[question.group].append(question)
        for group, own in groups.items():
            proof = replace(prove(own, published.tables, now), file=name, group=group)
            published.proofs.append(proof)
            published.questions.extend(replace(each, file=name) for each in proof.questions)
    if not published.questions and not published.blanks:
        seen = f": {'; '.join(published.ignored)}" if published.ignored else ""
        raise DatasetError(folder, None, f"holds no questions with sql_for_db, no ___{seen}")
    return published


def _read_csv(file: Path, folder: Path, published: PublishedSet) -> None:
    name = str(file.relative_to(folder))
    with file.open(encoding="utf-8-sig", newline="") as lines:
        try:
            rows = list(csv.reader(lines))
        except (csv.Error, UnicodeDecodeError) as exc:
            raise DatasetError(file, None, f"is not CSV: {exc}") from exc
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
        raise DatasetError(file, None, f"is not UTF-8 text: {exc.reason}") from exc
    whole: ValueError | None = None
    if file.suffix != ".jsonl" or text.lstrip().startswith("["):
        try:
            return json.loads(text)
        except ValueError as exc:
            whole = exc
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entries += [json.loads(line)] if line.strip() else []
        except ValueError as exc:
            at = getattr(whole, "lineno", None) if whole else number
            raise DatasetError(file, at, f"is not JSON: {whole or exc}") from exc
    return entries


PART = 120
"""Statements on which every reading is tried."""
BEST = 2
"""Readings that are tried on all statements."""
MOST_DAYS = 4
"""Days of making that are tried."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Proof:
    """What proves the reading of a file's statements of one kind."""

    reading: Reading
    questions: tuple[CheckedQuestion, ...]
    file: str = ""
    group: str = ""

    @property
    def stored(self) -> int:
        """Statements with stored results."""
        return len(self.questions)

    @property
    def reproduced(self) -> int:
        """Those of them that return their stored rows."""
        return sum(not each.reason for each in self.questions)

    @property
    def with_rows(self) -> int:
        """Those that return rows at all: an empty result proves less."""
        return sum(not each.reason and bool(each.rows) for each in self.questions)

    @property
    def weight(self) -> tuple[int, int]:
        """Rows that come out prove more than rows that do not come."""
        return self.with_rows, self.reproduced


def prove(
    questions: Sequence[PublishedQuestion], tables: Sequence[Columns], now: date | None
) -> Proof:
    """The best reading of these statements, which belong together; `now` where the user knows it.
    Of equally good ones the plainest."""
    part = questions[:: -(-len(questions) // PART)]
    late: set[str] = set()
    first = _run(part, tables, Reading("written", None), late)
    numbers = {number for each in first.questions for number in each.fitting}
    fitting = [tables[number] for number in sorted(numbers)] or tables
    proofs = [_run(part, fitting, r, late) for r in _readings(questions, fitting, now)]
    if len(part) < len(questions):
        best = sorted(proofs, key=lambda proof: proof.weight, reverse=True)[:BEST]
        proofs = [_run(questions, tables, proof.reading, late) for proof in best]
    return max(proofs, key=lambda proof: proof.weight)


def _readings(
    questions: Sequence[PublishedQuestion], tables: Sequence[Columns], now: date | None
) -> Iterator[Reading]:
    """Those that the texts suggest, the plainest first."""
    # Stored ends that no table has, the most frequent first: what stood for open ends.
    cells = [cell for q in questions for row in q.correct_rows for cell in row.items()]
    known = {iso_day(cell) for table in tables for cell in table.days("end")}
    ends = Counter(
        str(value)
        for name, value in cells
        if name.casefold() == "end" and value is not None and not is_missing(str(value))
        if iso_day(str(value)) not in known and FAR_DAY not in str(value)
    )
    fills = [end for end, _ in ends.most_common(MOST_DAYS)]
    days = [] if now is None else [now.isoformat()]
    days += [iso_day(fill)[:10] for fill in fills if _DAY.match(fill)]
    # Days in the statements that are later than every start of the tables, by frequency.
    statements = [question.sql_for_db for question in questions]
    last = max((iso_day(cell) for table in tables for cell in table.days("start")), default="")
    late = Counter(day for sql in statements for day in _DAY.findall(sql) if day > last)
    days += [day for day, _ in late.most_common(2)]
    days = list(dict.fromkeys(days))[:MOST_DAYS]
    midnight = any(MIDNIGHT in text for text in (*statements, *(str(v) for _, v in cells)))
    order: tuple[Dates, ...] = ("midnight", "day") if midnight else ("day", "midnight")
    if any(len(cell) < 10 for table in tables for cell in table.days("start", "end")):
        order = (*order, "written")
    clocks: list[str | None] = [now.isoformat() if now else None]
    if days and any(map(needs_now, statements)):
        clocks = list(days)
    for dates in order:
        behind = MIDNIGHT if dates == "midnight" else ""
        for clock in clocks:
            for end in (None, FAR_DAY + behind, "nan"):
                yield Reading(dates, end, clock)
        for day in days:
            own = next((fill for fill in fills if fill.startswith(day)), None)
            for end in dict.fromkeys((day + behind, *([own] if own else []))):
                yield Reading(dates, end, day)


# Running ----------------------------------------------------------------------------------------


def _run(
    questions: Sequence[PublishedQuestion], tables: Sequence[Columns], reading: Reading,
    late: set[str],
) -> Proof:  # fmt: skip
    """Every statement on every table that it can read; a statement belongs to the table on which it
    returns its stored rows, else to the one of most others. `late` takes those that do not end:
    they are not run again."""
    named = {plain_name(table.name): table for table in tables}
    with ExitStack() as stack:

        def opened(table: Columns, others: Mapping[str, Columns]) -> Database:
            return stack.enter_context(closing(Database(table, others, reading)))

        bases = [(opened(table, {}), opened(table, named)) for table in tables]
        results = [_results(question.sql_for_db, bases, late) for question in questions]
    votes: Counter[int] = Counter()
    right: list[set[int]] = []
    for question, (found, _) in zip(questions, results, strict=True):
        stored = question.correct_rows
        right.append({n for n, rows in found.items() if same_rows(rows, stored, reading)})
        votes.update(number for number in right[-1] if found[number])
    checked = []
    for question, (found, reason), own in zip(questions, results, right, strict=True):
        table, rows = None, None
        if found:
            best = max(found, key=lambda n: (n in own, votes[n], bool(found[n])))
            table, rows, reason = tables[best], found[best], "" if best in own else "other rows"
        checked.append(CheckedQuestion(question, reading, table, rows, reason, tuple(found)))
    return Proof(reading, tuple(checked))


def _results(
    sql: str, bases: Sequence[tuple[Database, Database]], late: set[str]
) -> tuple[dict[int, tuple[Row, ...]], str]:
    """The rows by table, and why there are none. A statement that reads one table is tried on each
    whose columns fit: the name in it is that of the authors' database, not that of a file."""
    found: dict[int, tuple[Row, ...]] = {}
    reason = "no table has its columns"
    if sql in late:
        return found, TOO_LATE
    for number, (alone, joined) in enumerate(bases):
        try:
            try:
                found[number] = tuple(alone.run(sql))
            except StatementError as exc:
                if str(exc) == TOO_LATE or not may_join(sql):
                    raise
                found[number] = tuple(joined.run(sql))
        except StatementError as exc:
            if str(exc) == TOO_LATE:
                late.add(sql)
                return {}, TOO_LATE
            if "no such column" not in str(exc):
                reason = str(exc)
    return found, reason
