"""Finds the reading under which a published file's statements return its stored rows.

A file's statements ran on a database that is not published: nobody says how it held days, what
stood for an end without a value, and on which day it was made. Each reading that the file's own
texts suggest is tried on a part of the statements, and the best two on all of them. A reading is
chosen for all statements of one kind in a file at once, never for one statement alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import date

from agent_env.families.tdbench.published_sql import (
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
    same_rows,
)

PART = 120
"""Statements on which every reading is tried."""
BEST = 2
"""Readings that are tried on all statements."""
MOST_DAYS = 4
"""Days of making that are tried."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A statement and the rows that are stored with it."""

    sql: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement returns under the reading of its file."""

    table: Columns | None
    rows: tuple[Row, ...] | None
    """None where it cannot be run."""
    is_same: bool
    reason: str = ""
    """Why it cannot be run."""
    fitting: tuple[int, ...] = ()
    """Numbers of the tables on which it can be run."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The reading, and the outcome of each statement, in order."""

    reading: Reading
    outcomes: tuple[Outcome, ...]

    @property
    def reproduced(self) -> int:
        """Statements that return their stored rows."""
        return sum(outcome.is_same for outcome in self.outcomes)


def prove(statements: Sequence[StoredResult], tables: Sequence[Columns], now: date | None) -> Proof:
    """The best reading of these statements, which belong together; `now` where the user knows it.
    Of equally good ones the plainest."""
    step = -(-len(statements) // PART)
    part = statements[::step]
    late: set[str] = set()
    fitting = _fitting(part, tables, late)
    proofs = [_run(part, fitting, r, late) for r in _readings(statements, fitting, now)]
    if len(part) < len(statements):
        best = sorted(proofs, key=_weight, reverse=True)[:BEST]
        proofs = [_run(statements, tables, proof.reading, late) for proof in best]
    return max(proofs, key=_weight)


def _fitting(
    statements: Sequence[StoredResult], tables: Sequence[Columns], late: set[str]
) -> Sequence[Columns]:
    """The tables that have the columns of a statement; all, where none has."""
    proof = _run(statements, tables, Reading("written", None), late)
    numbers = {number for outcome in proof.outcomes for number in outcome.fitting}
    return [tables[number] for number in sorted(numbers)] or tables


def _weight(proof: Proof) -> tuple[int, int]:
    """Rows that come out prove more than rows that do not come."""
    full = sum(outcome.is_same and bool(outcome.rows) for outcome in proof.outcomes)
    return full, proof.reproduced


def _readings(
    statements: Sequence[StoredResult], tables: Sequence[Columns], now: date | None
) -> Iterator[Reading]:
    """Those that the texts suggest, the plainest first."""
    fills = _stored_fills(statements, tables)
    days = [] if now is None else [now.isoformat()]
    days += [iso_day(fill)[:10] for fill in fills if _DAY.match(fill)]
    days += _late_days(statements, tables)
    days = list(dict.fromkeys(days))[:MOST_DAYS]
    texts = [s.sql for s in statements] + [str(c) for s in statements for c in _cells(s)]
    midnight = any(MIDNIGHT in text for text in texts)
    order: tuple[Dates, ...] = ("midnight", "day") if midnight else ("day", "midnight")
    if any(len(cell) < 10 for table in tables for cell in _days(table)):
        order = (*order, "written")
    clocks: list[str | None] = [now.isoformat() if now else None]
    if days and any(needs_now(s.sql) for s in statements):
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


def _stored_fills(statements: Sequence[StoredResult], tables: Sequence[Columns]) -> list[str]:
    """Stored ends that no table has, the most frequent first: what stood for open ends."""
    known = {iso_day(cell) for table in tables for cell in _days(table, "end")}
    ends = Counter(
        str(value)
        for statement in statements
        for row in statement.rows
        for name, value in row.items()
        if name.casefold() == "end" and value is not None and not is_missing(str(value))
        if iso_day(str(value)) not in known and FAR_DAY not in str(value)
    )
    return [end for end, _ in ends.most_common(MOST_DAYS)]


def _late_days(statements: Sequence[StoredResult], tables: Sequence[Columns]) -> list[str]:
    """Days in the statements that are later than every start of the tables, by frequency."""
    starts = [iso_day(row[p] or "") for t in tables for row in t.rows for p in _place(t, "start")]
    last = max(starts, default="")
    days = Counter(day for s in statements for day in _DAY.findall(s.sql) if day > last)
    return [day for day, _ in days.most_common(2)]


def _cells(statement: StoredResult) -> Iterator[object]:
    for row in statement.rows:
        yield from row.values()


def _days(table: Columns, *names: str) -> Iterator[str]:
    """The dates of these columns; of both where none is named."""
    for name in names or ("start", "end"):
        for place in _place(table, name):
            yield from (row[place] or "" for row in table.rows if row[place] is not None)


def _place(table: Columns, name: str) -> tuple[int, ...]:
    place = table.place(name)
    return () if place is None else (place,)


# Running ----------------------------------------------------------------------------------------


def _run(
    statements: Sequence[StoredResult], tables: Sequence[Columns], reading: Reading, late: set[str]
) -> Proof:
    """Every statement on every table that it can read; a statement belongs to the table on which it
    returns its stored rows, else to the one of most others. `late` takes those that do not end:
    they are not run again."""
    named = {plain_name(table.name): table for table in tables}
    with ExitStack() as stack:

        def opened(table: Columns, others: Mapping[str, Columns]) -> Database:
            return stack.enter_context(closing(Database(table, others, reading)))

        bases = [(opened(table, {}), opened(table, named)) for table in tables]
        results = [_results(statement, bases, late) for statement in statements]
    votes: Counter[int] = Counter()
    right: list[set[int]] = []
    for statement, (found, _) in zip(statements, results, strict=True):
        right.append({n for n, rows in found.items() if same_rows(rows, statement.rows, reading)})
        votes.update(number for number in right[-1] if found[number])
    outcomes = (
        _outcome(found, reason, own, tables, votes)
        for (found, reason), own in zip(results, right, strict=True)
    )
    return Proof(reading, tuple(outcomes))


def _results(
    statement: StoredResult, bases: Sequence[tuple[Database, Database]], late: set[str]
) -> tuple[dict[int, tuple[Row, ...]], str]:
    """The rows by table, and why there are none. A statement that reads one table is tried on each
    whose columns fit: the name in it is that of the authors' database, not that of a file."""
    found: dict[int, tuple[Row, ...]] = {}
    reason = "no table has its columns"
    if statement.sql in late:
        return found, TOO_LATE
    for number, (alone, joined) in enumerate(bases):
        try:
            try:
                found[number] = tuple(alone.run(statement.sql))
            except StatementError as exc:
                if str(exc) == TOO_LATE or not may_join(statement.sql):
                    raise
                found[number] = tuple(joined.run(statement.sql))
        except StatementError as exc:
            if str(exc) == TOO_LATE:
                late.add(statement.sql)
                return {}, TOO_LATE
            if "no such column" not in str(exc):
                reason = str(exc)
    return found, reason


def _outcome(
    found: Mapping[int, tuple[Row, ...]],
    reason: str,
    right: set[int],
    tables: Sequence[Columns],
    votes: Mapping[int, int],
) -> Outcome:
    """`right`: the tables on which the statement returns its stored rows."""
    if not found:
        return Outcome(None, None, False, reason)

    def rank(number: int) -> tuple[bool, int, bool]:
        return number in right, votes[number], bool(found[number])

    best = max(found, key=rank)
    return Outcome(tables[best], found[best], best in right, fitting=tuple(found))
