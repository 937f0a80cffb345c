"""SQL as syntax trees, written out for SQLite and for DuckDB.

Dates are compared as texts of one length (YYYY, YYYY-MM, YYYY-MM-DD), which both engines order as
days; all month arithmetic is done before, so that no engine's own overflows. Every name is quoted,
every value is a literal: a quote in a value or a column called `order` changes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from agent_env.errors import ConfigError
from agent_env.temporal.allen import RELATIONS, Relation
from agent_env.temporal.facts.temporal_table import TemporalTable

try:
    from sqlglot import exp
except ImportError as exc:
    raise ConfigError("tdbench questions need sqlglot: pip install 'agent-env[tdbench]'") from exc

DIALECTS = ("sqlite", "duckdb")
ASKED = "__asked"
"""The table of a batch's queries; no table of a user can bear this name."""
_MARK = "\x01{}\x01"


class Text:
    """A query's text with places for values, written once and filled often."""

    def __init__(self, tree: Any, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._parts = {dialect: self._split(tree.sql(dialect=dialect)) for dialect in DIALECTS}

    def filled(self, values: Mapping[str, str]) -> dict[str, str]:
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


def literal(value: str) -> str:
    """A value as both dialects read it."""
    return "'" + value.replace("'", "''") + "'"


def place(name: str) -> Any:
    """Stands for a value in a Text."""
    return exp.Literal.string(_MARK.format(name))


def column(name: str, table: str | None = None) -> Any:
    return exp.column(name, table=table, quoted=True)


def holds(wanted: Relation, start: Any, end: Any, b_start: Any, b_end: Any) -> Any:
    """That the row from `start` to `end` stands in the relation to b. An end that is NULL lies
    after every day."""
    ends_later = exp.or_(exp.GT(this=end, expression=b_end), end.copy().is_(exp.Null()))
    tests: dict[Relation, list[Any]] = {
        "before": [exp.LT(this=end, expression=b_start)],
        "meets": [exp.EQ(this=end, expression=b_start)],
        "overlaps": [
            exp.LT(this=start, expression=b_start),
            exp.GT(this=end, expression=b_start),
            exp.LT(this=end, expression=b_end),
        ],
        "finished-by": [
            exp.LT(this=start, expression=b_start),
            exp.EQ(this=end, expression=b_end),
        ],
        "contains": [exp.LT(this=start, expression=b_start), ends_later],
        "starts": [exp.EQ(this=start, expression=b_start), exp.LT(this=end, expression=b_end)],
        "equals": [exp.EQ(this=start, expression=b_start), exp.EQ(this=end, expression=b_end)],
        "started-by": [exp.EQ(this=start, expression=b_start), ends_later],
        "during": [exp.GT(this=start, expression=b_start), exp.LT(this=end, expression=b_end)],
        "finishes": [exp.GT(this=start, expression=b_start), exp.EQ(this=end, expression=b_end)],
        "overlapped-by": [
            exp.GT(this=start, expression=b_start),
            exp.LT(this=start, expression=b_end),
            ends_later,
        ],
        "met-by": [exp.EQ(this=start, expression=b_end)],
        "after": [exp.GT(this=start, expression=b_end)],
    }
    return exp.and_(*(test.copy() for test in tests[wanted]))


def asked_names(asked: Sequence[str]) -> tuple[str, ...]:
    """What a Text calls the values of the question attributes."""
    return tuple(f"asked_{number}" for number in range(len(asked)))


def base(table: str, asked: Sequence[str], answers: Sequence[str]) -> Any:
    """The answers with their times, without a temporal condition (Algorithm 1, phase 1)."""
    tests = [
        exp.EQ(this=column(name), expression=place(mark))
        for name, mark in zip(asked, asked_names(asked), strict=True)
    ]
    return (
        exp.select(*(column(name) for name in (*answers, "start", "end")))
        .from_(exp.Table(this=_quoted(table)))
        .where(*tests)
        .order_by(column("start"), *(column(name) for name in answers))
    )


def relation_text(
    table: str, asked: Sequence[str], answers: Sequence[str], wanted: Relation
) -> Text:
    """The query for one relation; its values are `asked_N`, `b_start` and `b_end`."""
    test = holds(wanted, column("start"), column("end"), place("b_start"), place("b_end"))
    names = (*asked_names(asked), "b_start", "b_end")
    return Text(base(table, asked, answers).where(test), names)


def batch(table: str, asked: Sequence[str], answers: Sequence[str]) -> str:
    """The same for all queries of the table ASKED that bear the number of this batch, in DuckDB:
    the literals of the thirteen conditions have become columns of that table, and each row of the
    result begins with its query's number. Its one value is the batch."""
    tests = [
        exp.and_(
            exp.EQ(this=column("relation", "q"), expression=exp.Literal.string(relation)),
            holds(
                relation,
                column("start", "t"),
                column("end", "t"),
                column("b_start", "q"),
                column("b_end", "q"),
            ),
        )
        for relation in RELATIONS
    ]
    same = [
        exp.EQ(this=column(name, "t"), expression=column(mark, "q"))
        for name, mark in zip(asked, asked_names(asked), strict=True)
    ]
    wanted_columns = [column("number", "q")]
    wanted_columns += [column(name, "t") for name in (*answers, "start", "end")]
    tree = (
        exp.select(*wanted_columns)
        .from_(_called(table, "t"))
        .join(_called(ASKED, "q"), on=exp.and_(*same, exp.or_(*tests)))
        .where(exp.EQ(this=column("batch", "q"), expression=exp.Placeholder()))
    )
    return str(tree.sql(dialect="duckdb"))


def current_text(table: str, asked: Sequence[str], answers: Sequence[str]) -> Text:
    """What holds as of `now`."""
    still = exp.or_(
        exp.GT(this=column("end"), expression=place("now")), column("end").is_(exp.Null())
    )
    tree = base(table, asked, answers).where(
        exp.LTE(this=column("start"), expression=place("now")), still
    )
    return Text(tree, (*asked_names(asked), "now"))


def nth_text(table: str, asked: Sequence[str], answers: Sequence[str], nth: int) -> Text:
    """The n-th row by start."""
    return _ranked(table, asked, answers, [], nth)


def count_text(table: str, asked: Sequence[str], answers: Sequence[str], times: int) -> Text:
    """For each answer the row with which it comes for the n-th time."""
    return _ranked(table, asked, answers, list(answers), times)


def _ranked(
    table: str, asked: Sequence[str], answers: Sequence[str], within: list[str], number: int
) -> Text:
    window = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name) for name in within],
        order=exp.Order(expressions=[exp.Ordered(this=column("start"))]),
    )
    inner = base(table, asked, answers)
    inner.set("order", None)
    inner = inner.select(exp.alias_(window, "__turn", quoted=True))
    tree = (
        exp.select(*(column(name) for name in (*answers, "start", "end")))
        .from_(inner.subquery("ranked"))
        .where(exp.EQ(this=column("__turn"), expression=exp.Literal.number(number)))
        .order_by(column("start"), *(column(name) for name in answers))
    )
    return Text(tree, asked_names(asked))


def longest_text(table: str, asked: Sequence[str], answers: Sequence[str], precision: int) -> Text:
    """The longest of the rows that ended; several where they are equally long."""
    inner = base(table, asked, answers)
    inner.set("order", None)
    rest = {4: "-01-01", 7: "-01", 10: ""}[precision]
    days = exp.DateDiff(this=_day("end", rest), expression=_day("start", rest), unit=exp.var("DAY"))
    inner = inner.where(column("end").is_(exp.Null()).not_()).select(
        exp.alias_(days, "__days", quoted=True)
    )
    top = exp.select(exp.Max(this=column("__days"))).from_("__ended")
    tree = (
        exp.select(*(column(name) for name in (*answers, "start", "end")))
        .with_("__ended", as_=inner)
        .from_("__ended")
        .where(exp.EQ(this=column("__days"), expression=top.subquery()))
        .order_by(column("start"), *(column(name) for name in answers))
    )
    return Text(tree, asked_names(asked))


def hops_text(
    left: str, right: str, common: str, asked: Sequence[tuple[str, str]], answer: str
) -> Text:
    """The rows of `left` that share their `common` column and a day with one of `right`. `asked`
    are side (`a` is left, `b` right) and column."""
    tests = [
        exp.EQ(this=column(name, side), expression=place(mark))
        for (side, name), mark in zip(asked, asked_names([n for _, n in asked]), strict=True)
    ]
    still = exp.or_(
        exp.GT(this=column("end", "a"), expression=column("start", "b")),
        column("end", "a").is_(exp.Null()),
    )
    same = exp.EQ(this=column(common, "a"), expression=column(common, "b"))
    begun = exp.LT(this=column("start", "a"), expression=column("end", "b"))
    tree = (
        exp.select(*(column(name, "a") for name in (answer, "start", "end")))
        .from_(_called(left, "a"))
        .join(_called(right, "b"), on=exp.and_(same, begun, still))
        .where(*tests)
        .order_by(column("start", "a"), column(answer, "a"))
    )
    return Text(tree, asked_names([name for _, name in asked]))


def chain_text(
    tables: Sequence[TemporalTable], asked: Sequence[str], answers: Sequence[str]
) -> Text:
    """The rows of the last table that hold on one day with rows of all others, where every two
    agree on all their common columns (Definition A.2)."""
    sides = [(f"t{number}", table) for number, table in enumerate(tables)]
    tests = []
    for (one, left), (other, right) in itertools.combinations(sides, 2):
        common = [name for name in left.columns if name in right.columns]
        tests += [exp.EQ(this=column(n, one), expression=column(n, other)) for n in common]
        tests += [_begun_by(one, other), _begun_by(other, one)]
    for name, mark in zip(asked, asked_names(asked), strict=True):
        side = next(side for side, table in sides if name in table.columns)
        tests.append(exp.EQ(this=column(name, side), expression=place(mark)))
    last = sides[-1][0]
    chosen = [column(name, last) for name in (*answers, "start", "end")]
    tree = exp.select(*chosen).from_(_called(tables[0].name, sides[0][0]))
    for side, table in sides[1:]:
        tree = tree.join(_called(table.name, side), join_type="cross")
    order = [column(name, last) for name in ("start", *answers)]
    return Text(tree.where(*tests).order_by(*order), asked_names(asked))


def _begun_by(one: str, other: str) -> Any:
    """That the row `one` began before the row `other` ended."""
    end = column("end", other)
    return exp.or_(exp.LT(this=column("start", one), expression=end), end.copy().is_(exp.Null()))


def duration_text(table: str, asked: Sequence[str], answers: Sequence[str]) -> Text:
    """The days that two rows share, each told by its group, its answer and its start."""

    def found(side: str) -> list[Any]:
        marks = [f"{side}_{mark}" for mark in (*asked_names(asked), "answer", "start")]
        names = (*asked, *answers, "start")
        return [
            exp.EQ(this=column(name, side), expression=place(mark))
            for name, mark in zip(names, marks, strict=True)
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
        .from_(_called(table, "a"))
        .join(_called(table, "b"), join_type="cross")
        .where(*found("a"), *found("b"))
    )
    names = [f"{s}_{m}" for s in ("a", "b") for m in (*asked_names(asked), "answer", "start")]
    return Text(tree, names)


def _day(name: str, rest: str) -> Any:
    whole = column(name)
    text = exp.DPipe(this=whole, expression=exp.Literal.string(rest)) if rest else whole
    return exp.cast(text, "DATE")


def _called(table: str, alias: str) -> Any:
    return exp.Table(this=_quoted(table), alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _quoted(name: str) -> Any:
    return exp.to_identifier(name, quoted=True)
