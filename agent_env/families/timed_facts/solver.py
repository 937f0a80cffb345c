"""Answers questions on timed facts: a pure function that says which facts matched and which nearly.

Facts are a list, so that two with one interval are two. By default an interval is closed: a fact
from January to March holds in January, February and March. Half-open, it no longer holds in its
last month, so one that begins and ends in the same month holds at no time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from agent_env.families.timed_facts.facts import Fact
from agent_env.temporal.months import Month, Span, write_month

Relation = Literal["in", "between", "throughout", "before", "after"]
RELATIONS: tuple[Relation, ...] = ("in", "between", "throughout", "before", "after")
Ends = Literal["closed", "half-open"]
NEAR = 12
"""Months by which a fact may miss the time asked for and still be told as just outside."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of the facts.

    `in` and `between`: what held in some month of the span. `throughout`: in every month of it.
    `before`, `after`: what began nearest before or after the beginning of the reference, which is
    a value or a span; of a value with several spells, before its first and after its last.
    """

    relation: Relation
    reference: str | Span
    """A value of the facts, or months."""


@dataclass(frozen=True, slots=True)
class Solved:
    """The answers, and why."""

    answers: tuple[str, ...]
    """Each once, in the order of their facts."""
    matched: tuple[Fact, ...]
    near: tuple[Fact, ...]
    """Those just outside: missed by at most NEAR months, or begun together with the reference."""

    def explained(self) -> str:
        """Two lines for people."""
        return f"Matched: {_told(self.matched)}\nJust outside: {_told(self.near)}"


def solve(facts: Sequence[Fact], query: Query, ends: Ends = "closed") -> Solved:
    """What the facts answer; all of them are about the topic asked for."""
    if query.relation in ("before", "after"):
        return _neighbour(facts, query)
    span = query.reference
    if isinstance(span, str):
        spells = [fact for fact in facts if fact.value == span]
        if not spells:
            return Solved((), (), ())
        return _held(facts, _whole(spells), query.relation, ends)
    return _held(facts, span, query.relation, ends)


def _held(facts: Sequence[Fact], span: Span, relation: str, ends: Ends) -> Solved:
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
    return Solved(_values(matched), tuple(matched), tuple(near))


def _neighbour(facts: Sequence[Fact], query: Query) -> Solved:
    """The nearest strictly earlier or later start; ties are all answers."""
    before = query.relation == "before"
    begin = _begin(facts, query)
    if begin is None:
        return Solved((), (), ())
    starts = [fact.first if fact.first is not None else _NEVER for fact in facts]
    wanted = [s for s in starts if (s < begin if before else s > begin)]
    if not wanted:
        return Solved((), (), _together(facts, starts, begin, query))
    best = max(wanted) if before else min(wanted)
    matched = tuple(fact for fact, s in zip(facts, starts, strict=True) if s == best)
    return Solved(_values(matched), matched, _together(facts, starts, begin, query))


_NEVER: Month = -(10**9)
"""The start of what began before anything asked."""


def _begin(facts: Sequence[Fact], query: Query) -> Month | None:
    """The month from which neighbours are counted; None where the reference is not there."""
    reference, before = query.reference, query.relation == "before"
    if isinstance(reference, Span):
        return reference.first if before else reference.last
    spells = [f.first if f.first is not None else _NEVER for f in facts if f.value == reference]
    if not spells:
        return None
    return min(spells) if before else max(spells)


def _together(
    facts: Sequence[Fact], starts: Sequence[Month], begin: Month, query: Query
) -> tuple[Fact, ...]:
    pairs = zip(facts, starts, strict=True)
    return tuple(f for f, start in pairs if start == begin and f.value != query.reference)


def _whole(spells: Sequence[Fact]) -> Span:
    firsts = [_NEVER if f.first is None else f.first for f in spells]
    lasts = [-_NEVER if f.last is None else f.last for f in spells]
    return Span(min(firsts), max(lasts))


def _values(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.value for fact in facts))


def _told(facts: Sequence[Fact]) -> str:
    return "; ".join(f"{fact.value} ({_bounds(fact)})" for fact in facts) or "nothing"


def _bounds(fact: Fact) -> str:
    start = "open" if fact.first is None else write_month(fact.first)
    end = "open" if fact.last is None else write_month(fact.last)
    return f"{start} to {end}"
