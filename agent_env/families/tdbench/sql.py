"""SQL as syntax trees, written out for SQLite and for DuckDB, and run on both: a gold on which they
differ is refused.

Dates are compared as texts of one length (YYYY, YYYY-MM, YYYY-MM-DD), which both engines order as
days; month arithmetic is done before, so that no engine's own overflows. Every name is quoted and
every value is a literal, so a quote in a value or a column called `order` changes nothing.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

from agent_env.families.tdbench.reading import BOUNDS
from agent_env.features.facts.tables.table_files import literal
from agent_env.features.facts.tables.temporal_table import TemporalTable
from agent_env.sdk.errors import AgentEnvError, ConfigError
from agent_env.sdk.records import MaterialTable, identifier
from agent_env.temporal.allen import RELATIONS, Relation

try:
    from sqlglot import exp
except ImportError as exc:
    raise ConfigError("tdbench questions need sqlglot: pip install 'agent-env[tdbench]'") from exc

DIALECTS = ("sqlite", "duckdb")
BATCH_TABLE = "__asked"
"""The table of a batch's queries; no table of a user can have this name."""
B_MARKS = ("b_start", "b_end")
_MARK = "\x01{}\x01"


class SqlTemplate:
    """A query's text with placeholders for values, rendered once and filled often."""

    def __init__(self, tree: Any, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._parts = {dialect: self._split(tree.sql(dialect=dialect)) for dialect in DIALECTS}

    def fill(self, values: Mapping[str, str]) -> dict[str, str]:
        """The text for each dialect; every value becomes a literal."""
        quoted = {name: literal(values[name]) for name in self._names}
        return {
            dialect: "".join(quoted.get(part, part) if odd else part for part, odd in parts)
            for dialect, parts in self._parts.items()
        }

    def _split(self, text: str) -> list[tuple[str, bool]]:
        for name in self._names:
            text = text.replace(literal(_MARK.format(name)), f"\x00{name}\x00")
        return [(part, place % 2 == 1) for place, part in enumerate(text.split("\x00"))]


def placeholder(name: str) -> Any:
    """Stands for a value in an SqlTemplate."""
    return exp.Literal.string(_MARK.format(name))


def column(name: str, table: str | None = None) -> Any:
    return exp.column(name, table=table, quoted=True)


def ends_after(end: Any, day: Any) -> Any:
    """That an end lies after the day; an end that is NULL lies after every day."""
    return exp.or_(end > day, end.is_(exp.Null()))


def holds(target: Relation, start: Any, end: Any, b_start: Any, b_end: Any) -> Any:
    """That the row from `start` to `end` stands in the relation to b."""
    sides, bounds = {"start": start, "end": end}, (b_start, b_end)
    tests = []
    for side, test, place in BOUNDS[target]:
        date, day = sides[side], bounds[place]
        if test == "<":
            tests.append(date < day)
        elif test == "=":
            tests.append(date.eq(day))
        elif side == "start" or target == "overlaps":  # whose end has to lie before b's
            tests.append(date > day)
        else:
            tests.append(ends_after(date, day))
    return exp.and_(*tests)


def key_marks(keys: Sequence[str]) -> tuple[str, ...]:
    """What an SqlTemplate calls the values of the key columns."""
    return tuple(f"asked_{number}" for number in range(len(keys)))


def _key_tests(columns: Iterable[Any]) -> list[Any]:
    return [each.eq(placeholder(f"asked_{number}")) for number, each in enumerate(columns)]


def _select(answers: Sequence[str], table: str | None = None) -> Any:
    """Answers with their times, by start."""
    names, order = (*answers, "start", "end"), ("start", *answers)
    tree = exp.select(*(column(name, table) for name in names))
    return tree.order_by(*(column(name, table) for name in order))


def _base(table: str, keys: Sequence[str], answers: Sequence[str]) -> Any:
    """The query without a temporal condition (Algorithm 1, phase 1)."""
    tests = _key_tests(column(name) for name in keys)
    return _select(answers).from_(exp.Table(this=_quoted(table))).where(*tests)


@lru_cache(maxsize=1000)
def relation_sql(
    table: str, keys: tuple[str, ...], answers: tuple[str, ...], target: Relation
) -> SqlTemplate:
    """The query for one relation; its values are `asked_N`, `b_start` and `b_end`."""
    b = (placeholder("b_start"), placeholder("b_end"))
    test = holds(target, column("start"), column("end"), *b)
    return SqlTemplate(_base(table, keys, answers).where(test), (*key_marks(keys), *B_MARKS))


@lru_cache(maxsize=100)
def batch_sql(table: str, keys: tuple[str, ...], answers: tuple[str, ...]) -> str:
    """The same for all queries of BATCH_TABLE that have the number of this batch, in DuckDB: the
    literals of the thirteen conditions have become columns of that table, and each row of the
    result begins with its query's number. Its one value is the batch."""
    times = (column("start", "t"), column("end", "t"), *(column(name, "q") for name in B_MARKS))
    tests = [
        exp.and_(column("relation", "q").eq(exp.Literal.string(relation)), holds(relation, *times))
        for relation in RELATIONS
    ]
    marks = zip(keys, key_marks(keys), strict=True)
    same = [column(name, "t").eq(column(mark, "q")) for name, mark in marks]
    tree = (
        exp.select(
            column("number", "q"), *(column(name, "t") for name in (*answers, "start", "end"))
        )
        .from_(_alias(table, "t"))
        .join(_alias(BATCH_TABLE, "q"), on=exp.and_(*same, exp.or_(*tests)))
        .where(column("batch", "q").eq(exp.Placeholder()))
    )
    return str(tree.sql(dialect="duckdb"))


@lru_cache(maxsize=1000)
def current_sql(table: str, keys: tuple[str, ...], answers: tuple[str, ...]) -> SqlTemplate:
    """What holds as of `now`."""
    now = placeholder("now")
    tree = _base(table, keys, answers).where(column("start") <= now, ends_after(column("end"), now))
    return SqlTemplate(tree, (*key_marks(keys), "now"))


@lru_cache(maxsize=1000)
def ranked_sql(
    table: str,
    keys: tuple[str, ...],
    answers: tuple[str, ...],
    within: tuple[str, ...],
    number: int,
) -> SqlTemplate:
    """The n-th row by start; of each value of the columns `within`, where there are some."""
    window = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name) for name in within],
        order=exp.Order(expressions=[exp.Ordered(this=column("start"))]),
    )
    inner = _base(table, keys, answers).select(exp.alias_(window, "__turn", quoted=True))
    inner.set("order", None)
    outer = _select(answers).from_(inner.subquery("ranked"))
    return SqlTemplate(
        outer.where(column("__turn").eq(exp.Literal.number(number))), key_marks(keys)
    )


@lru_cache(maxsize=1000)
def longest_sql(
    table: str, keys: tuple[str, ...], answers: tuple[str, ...], length: int
) -> SqlTemplate:
    """The longest of the rows that ended; several where they are equally long. `length` is that of
    the table's dates as text."""
    rest = {4: "-01-01", 7: "-01", 10: ""}[length]
    days = exp.DateDiff(this=_day("end", rest), expression=_day("start", rest), unit=exp.var("DAY"))
    inner = _base(table, keys, answers).where(column("end").is_(exp.Null()).not_())
    inner = inner.select(exp.alias_(days, "__days", quoted=True))
    inner.set("order", None)
    top = exp.select(exp.Max(this=column("__days"))).from_("__ended")
    tree = _select(answers).with_("__ended", as_=inner).from_("__ended")
    return SqlTemplate(tree.where(column("__days").eq(top.subquery())), key_marks(keys))


def hops_sql(
    left: str, right: str, common: str, keys: Sequence[tuple[str, str]], answer: str
) -> SqlTemplate:
    """The rows of `left` that share their `common` column and a day with one of `right`. `keys`
    are side (`a` is left, `b` right) and column."""
    still = ends_after(column("end", "a"), column("start", "b"))
    begun = column("start", "a") < column("end", "b")
    same = column(common, "a").eq(column(common, "b"))
    tree = (
        _select((answer,), "a")
        .from_(_alias(left, "a"))
        .join(_alias(right, "b"), on=exp.and_(same, begun, still))
        .where(*_key_tests(column(name, side) for side, name in keys))
    )
    return SqlTemplate(tree, key_marks([name for _, name in keys]))


def chain_sql(
    tables: Sequence[TemporalTable], keys: Sequence[str], answers: Sequence[str]
) -> SqlTemplate:
    """The rows of the last table that hold on one day with rows of all others, where every two
    agree on all their common columns (Definition A.2)."""
    sides = [(f"t{number}", table) for number, table in enumerate(tables)]
    tests = []
    for (one, left), (other, right) in itertools.combinations(sides, 2):
        common = [name for name in left.columns if name in right.columns]
        tests += [column(name, one).eq(column(name, other)) for name in common]
        tests += [_begins_before_end(one, other), _begins_before_end(other, one)]
    first_with = {name: side for side, table in reversed(sides) for name in table.columns}
    tests += _key_tests(column(name, first_with[name]) for name in keys)
    tree = _select(answers, sides[-1][0]).from_(_alias(tables[0].name, sides[0][0]))
    for side, table in sides[1:]:
        tree = tree.join(_alias(table.name, side), join_type="cross")
    return SqlTemplate(tree.where(*tests), key_marks(keys))


def _begins_before_end(one: str, other: str) -> Any:
    """That the row `one` began before the row `other` ended."""
    end = column("end", other)
    return exp.or_(column("start", one) < end, end.is_(exp.Null()))


@lru_cache(maxsize=1000)
def duration_sql(table: str, keys: tuple[str, ...], answers: tuple[str, ...]) -> SqlTemplate:
    """The days that two rows share, each identified by its group, its answers and its start."""
    marks = (*key_marks(keys), *(f"answer_{n}" for n in range(len(answers))), "start")
    pairs = list(zip((*keys, *answers, "start"), marks, strict=True))
    tests = [
        column(name, side).eq(placeholder(f"{side}_{mark}"))
        for side in "ab"
        for name, mark in pairs
    ]
    first_end = exp.Least(this=column("end", "a"), expressions=[column("end", "b")])
    last_start = exp.Greatest(this=column("start", "a"), expressions=[column("start", "b")])
    days = exp.DateDiff(
        this=exp.cast(first_end, "DATE"),
        expression=exp.cast(last_start, "DATE"),
        unit=exp.var("DAY"),
    )
    tree = (
        exp.select(exp.alias_(days, "__days", quoted=True))
        .from_(_alias(table, "a"))
        .join(_alias(table, "b"), join_type="cross")
        .where(*tests)
    )
    return SqlTemplate(tree, [f"{side}_{mark}" for side in "ab" for mark in marks])


def _day(name: str, rest: str) -> Any:
    whole = column(name)
    text = exp.DPipe(this=whole, expression=exp.Literal.string(rest)) if rest else whole
    return exp.cast(text, "DATE")


def _alias(table: str, alias: str) -> Any:
    return exp.Table(this=_quoted(table), alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _quoted(name: str) -> Any:
    return exp.to_identifier(name, quoted=True)


try:
    import duckdb
except ImportError as exc:
    raise ConfigError("tdbench questions need DuckDB: pip install 'agent-env[tdbench]'") from exc

Rows = tuple[tuple[Any, ...], ...]


class GoldError(AgentEnvError):
    """Two computations of one query's gold differ: a defect of this package, never of the user."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Queries over relations, all with the same columns."""

    table: str
    keys: tuple[str, ...]
    answers: tuple[str, ...]
    queries: tuple[tuple[Relation, tuple[str, ...], str, str], ...]
    """Relation, values of the key columns, start and end of b."""


class Engines:
    """Both engines with the same tables; a context that closes them."""

    def __init__(self, tables: Iterable[MaterialTable]) -> None:
        self._sqlite = sqlite3.connect(":memory:")
        self._duckdb = duckdb.connect(":memory:")
        self._duckdb.execute("SET threads = 1")
        self._rows: dict[str, Rows] = {}
        """Of each query that both have run."""
        for table in tables:
            self._load(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._sqlite.close()
        self._duckdb.close()

    def index(self, table: str, columns: Sequence[str]) -> None:
        """Make searches by these columns fast in SQLite."""
        names = ", ".join(identifier(column) for column in columns)
        title = identifier("__" + "_".join((table, *columns)))
        self._sqlite.execute(f"CREATE INDEX IF NOT EXISTS {title} ON {identifier(table)} ({names})")

    def sqlite(self, text: str) -> Rows:
        """The query's rows."""
        return tuple(self._sqlite.execute(text).fetchall())

    def both(self, sql: dict[str, str]) -> Rows:
        """The rows of both engines; GoldError where they differ. A query is run once: a small table
        gives the same ones again and again."""
        if (rows := self._rows.get(sql["sqlite"])) is not None:
            return rows
        one = self.sqlite(sql["sqlite"])
        other = tuple(self._duckdb.execute(sql["duckdb"]).fetchall())
        if sorted(one, key=repr) != sorted(other, key=repr):
            raise GoldError(f"SQLite gives {one}, DuckDB {other} for {sql['sqlite']}")
        self._rows[sql["sqlite"]] = one
        return one

    def run_batches(self, batches: Sequence[Batch]) -> list[list[Rows]]:
        """DuckDB's rows for each query of each batch; a batch is one statement."""
        width = max((len(batch.keys) for batch in batches), default=0)
        lines: list[tuple[Any, ...]] = []
        for number, batch in enumerate(batches):
            for relation, values, start, end in batch.queries:
                padded = (*values, *[""] * (width - len(values)))
                lines.append((len(lines), number, relation, *padded, start, end))
        names = [*key_marks([""] * width), *B_MARKS]
        kinds = ["number INTEGER", "batch INTEGER", "relation VARCHAR"]
        kinds += [f"{name} VARCHAR" for name in names]
        self._duckdb.execute(f"CREATE OR REPLACE TABLE {BATCH_TABLE} ({', '.join(kinds)})")
        if lines:
            casts = (f"unnest(?::{kind.split()[1]}[])" for kind in kinds)
            columns = [list(values) for values in zip(*lines, strict=True)]
            self._duckdb.execute(f"INSERT INTO {BATCH_TABLE} SELECT {', '.join(casts)}", columns)
        results: dict[int, list[tuple[Any, ...]]] = defaultdict(list)
        for number, batch in enumerate(batches):
            text = batch_sql(batch.table, batch.keys, batch.answers)
            for line, *row in self._duckdb.execute(text, [number]).fetchall():
                results[line].append(tuple(row))
        numbers = iter(range(len(lines)))
        return [[tuple(results[next(numbers)]) for _ in batch.queries] for batch in batches]

    def _load(self, table: MaterialTable) -> None:
        name = identifier(table.name)
        columns = [identifier(column) for column in table.columns]
        marks = ", ".join("?" for _ in columns)
        self._sqlite.execute(f"CREATE TABLE {name} ({', '.join(f'{c} TEXT' for c in columns)})")
        self._sqlite.executemany(f"INSERT INTO {name} VALUES ({marks})", table.rows)
        self._duckdb.execute(f"CREATE TABLE {name} ({', '.join(f'{c} VARCHAR' for c in columns)})")
        for first in range(0, len(table.rows), 1000):
            lines = (
                f"({', '.join('NULL' if c is None else literal(str(c)) for c in row)})"
                for row in table.rows[first : first + 1000]
            )
            self._duckdb.execute(f"INSERT INTO {name} VALUES {', '.join(lines)}")
