"""Facts with an interval of validity, and the answers to queries on them, with the matching facts
and those just outside. Pure.

By default an interval is closed: a fact from January to March holds in January, February and March.
Half-open, it does not hold in its last month, so that a fact of one month never holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import field_validator, model_validator

from agent_env.sdk.records import Record
from agent_env.temporal.months import Month, Span, read_span, write_month

Bounds = tuple[Month, Month | None]
"""First and last month."""


class Fact(Record):
    """`value` held for `topic` from the month `start` to the month `end`, both included."""

    topic: str
    """What the question is about: a player, a company, a club."""
    kind: str
    """The relation, one of wording.KINDS; empty where unknown."""
    value: str
    """The possible answer."""
    start: str | None = None
    """YYYY-MM, or YYYY where only the year is known; None: unbounded."""
    end: str | None = None
    """The last month, likewise."""

    @field_validator("start", "end")
    @classmethod
    def _is_date(cls, text: str | None) -> str | None:
        if text is not None:
            read_span(text)
        return text

    @model_validator(mode="after")
    def _in_order(self) -> Fact:
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError(f"'{self.value}' ends {self.end}, before its start {self.start}")
        return self

    @classmethod
    def sound(
        cls, topic: str, kind: str, value: str, bounds: tuple[str, str | None], months: Bounds
    ) -> Fact:
        """A fact of valid dates and their months, without validation: for large tables."""
        start, end = bounds
        fact = cls.model_construct(topic=topic, kind=kind, value=value, start=start, end=end)
        fact.__dict__.update(first=months[0], last=months[1])
        return fact

    @cached_property
    def first(self) -> Month | None:
        """The first month; January where only the year is known."""
        return None if self.start is None else read_span(self.start).first

    @cached_property
    def last(self) -> Month | None:
        """The last month; December where only the year is known."""
        return None if self.end is None else read_span(self.end).last


Relation = Literal["in", "between", "throughout", "before", "after"]
RELATIONS: tuple[Relation, ...] = ("in", "between", "throughout", "before", "after")
Ends = Literal["closed", "half-open"]
Ties = Literal["all", "nearest", "first-ending", "last-ending"]
TIES: tuple[Ties, ...] = ("all", "nearest", "first-ending", "last-ending")
"""What answers `before` and `after` where several facts begin in the same month: all of them; the
one that ends nearest to the reference (last before it, first after it); the one that ends first, or
last. Facts that end in the same month, too, remain together."""
NEAR = 12
"""Largest distance from the reference, in months, of a fact just outside."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query on facts.

    `in` and `between`: what held in some month of the span. `throughout`: in every month of it.
    `before`, `after`: what began nearest before or after the beginning of the reference (a value or
    a span); for a value with several spells, before its first and after its last.
    """

    relation: Relation
    reference: str | Span
    """A value of the facts, or months."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A time some months before or after another; its answer needs no facts."""

    base: Span
    """One month, or the twelve of a year."""
    months: int
    """Negative for `before`."""

    @property
    def answer(self) -> str:
        """The month, as in `Mar, 1998`; for a year the year."""
        result = self.base.first + self.months
        one_month = self.base.first == self.base.last
        return write_month(result, "short") if one_month else str(result // 12)


@dataclass(frozen=True, slots=True)
class Solution:
    """The answers with their facts."""

    answers: tuple[str, ...]
    """Each once, in the order of their facts."""
    matched: tuple[Fact, ...]
    near: tuple[Fact, ...]
    """Facts just outside: at most NEAR months away, or with the start of the reference."""

    def explanation(self) -> str:
        """The facts in two lines."""
        return f"Matched: {_listing(self.matched)}\nJust outside: {_listing(self.near)}"


def solve(
    facts: Sequence[Fact], query: Query | Shift, ends: Ends = "closed", ties: Ties = "all"
) -> Solution:
    """The answers from facts, which must all be of the question's topic."""
    if isinstance(query, Shift):
        return Solution((query.answer,), (), ())
    if query.relation in ("before", "after"):
        # the facts with the nearest strictly earlier or later start; of tied ones those of `ties`
        before = query.relation == "before"
        begin = _begin(facts, query)
        if begin is None:
            return Solution((), (), ())
        starts = [fact.first if fact.first is not None else _NEVER for fact in facts]
        candidates = [s for s in starts if (s < begin if before else s > begin)]
        if not candidates:
            return Solution((), (), _simultaneous(facts, starts, begin, query))
        best = max(candidates) if before else min(candidates)
        tied = tuple(fact for fact, s in zip(facts, starts, strict=True) if s == best)
        matched = _untied(tied, ties, before)
        return Solution(_values(matched), matched, _simultaneous(facts, starts, begin, query))
    span = query.reference
    if isinstance(span, str):
        spells = [fact for fact in facts if fact.value == span]
        if not spells:
            return Solution((), (), ())
        firsts = [_NEVER if f.first is None else f.first for f in spells]
        lasts = [-_NEVER if f.last is None else f.last for f in spells]
        return _during(facts, Span(min(firsts), max(lasts)), query.relation, ends)
    return _during(facts, span, query.relation, ends)


def _during(facts: Sequence[Fact], span: Span, relation: str, ends: Ends) -> Solution:
    matched, near = [], []
    less = 1 if ends == "half-open" else 0
    low, high = span.first, span.last
    every = relation == "throughout"
    for fact in facts:
        first = fact.first if fact.first is not None else low
        last = fact.last - less if fact.last is not None else high
        if last < first and less:
            near.append(fact)  # holds at no time
        elif (first <= low and last >= high) if every else (first <= high and last >= low):
            matched.append(fact)
        elif first - NEAR <= high and last + NEAR >= low:
            near.append(fact)
    return Solution(_values(matched), tuple(matched), tuple(near))


def _untied(tied: tuple[Fact, ...], ties: Ties, before: bool) -> tuple[Fact, ...]:
    if ties == "all":
        return tied
    latest = ties == "last-ending" or (ties == "nearest" and before)
    ends = [-_NEVER if fact.last is None else fact.last for fact in tied]
    best = max(ends) if latest else min(ends)
    return tuple(fact for fact, end in zip(tied, ends, strict=True) if end == best)


_NEVER: Month = -(10**9)
"""The start of a fact without one."""


def _begin(facts: Sequence[Fact], query: Query) -> Month | None:
    """The month from which neighbours are counted; None for an unknown reference."""
    reference, before = query.reference, query.relation == "before"
    if isinstance(reference, Span):
        return reference.first if before else reference.last
    spells = [f.first if f.first is not None else _NEVER for f in facts if f.value == reference]
    if not spells:
        return None
    return min(spells) if before else max(spells)


def _simultaneous(
    facts: Sequence[Fact], starts: Sequence[Month], begin: Month, query: Query
) -> tuple[Fact, ...]:
    pairs = zip(facts, starts, strict=True)
    return tuple(f for f, start in pairs if start == begin and f.value != query.reference)


def _values(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.value for fact in facts))


def _listing(facts: Sequence[Fact]) -> str:
    return "; ".join(f"{fact.value} ({_bounds(fact)})" for fact in facts) or "nothing"


def _bounds(fact: Fact) -> str:
    start = "open" if fact.first is None else write_month(fact.first)
    end = "open" if fact.last is None else write_month(fact.last)
    return f"{start} to {end}"
