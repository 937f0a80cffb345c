"""The gold answers of generated questions, month by month.

Written apart from `extraction.solver`, which answers what a question's words say: a misreading that
both shared would score 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.features.extraction.solver import Fact, Query, Ties
from agent_env.temporal.months import Month, Span, month

PRESENT = month(2025, 12)
"""The last month that the tables know."""
_EARLIEST, _LATEST = 0, month(9999, 12)


def _months(fact: Fact) -> tuple[Month, Month]:
    """The first and the last month, where the fact has none the earliest or latest of all."""
    first = _EARLIEST if fact.first is None else fact.first
    return first, _LATEST if fact.last is None else fact.last


def gold_answers(facts: Sequence[Fact], query: Query, ties: Ties = "all") -> tuple[str, ...]:
    """Each answer once, in the order of the facts."""
    span = query.reference
    if isinstance(span, str):
        found = _beside(facts, query)
        ends = {_months(fact)[1] for fact in found}
        if ends and ties != "all":
            is_last = ties == "last-ending" or (ties == "nearest" and query.relation == "before")
            ends = {max(ends) if is_last else min(ends)}
        found = [fact for fact in found if _months(fact)[1] in ends]
    else:
        needed = span.last - span.first + 1 if query.relation == "throughout" else 1
        shared = ((fact, *_months(fact)) for fact in facts)
        found = [f for f, a, b in shared if min(b, span.last) - max(a, span.first) + 1 >= needed]
    return tuple(dict.fromkeys(fact.value for fact in found))


def _beside(facts: Sequence[Fact], query: Query) -> list[Fact]:
    """The facts that began next before the value's first fact, or next after its last."""
    starts = [_months(fact)[0] for fact in facts]
    own = [at for fact, at in zip(facts, starts, strict=True) if fact.value == query.reference]
    if query.relation == "before":
        nearest = max((at for at in starts if at < min(own)), default=None)
    else:
        nearest = min((at for at in starts if at > max(own)), default=None)
    return [fact for fact, at in zip(facts, starts, strict=True) if at == nearest]


def is_tied(facts: Sequence[Fact], value: str) -> bool:
    """Whether a fact of another value begins with one of this value."""
    own = {_months(fact)[0] for fact in facts if fact.value == value}
    return any(_months(fact)[0] in own for fact in facts if fact.value != value)


def is_complete(facts: Sequence[Fact], query: Query) -> bool:
    """Whether the facts tell of every month that the question goes by, so that its gold, which is
    then not empty, holds in the world too."""
    span = query.reference
    if isinstance(span, str):
        if not (beside := _beside(facts, query)):
            return False
        starts = [_months(fact)[0] for fact in facts if fact in beside or fact.value == span]
        span = Span(min(starts), max(starts))
    known = [range(first, min(last, PRESENT) + 1) for first, last in map(_months, facts)]
    return all(any(at in months for months in known) for at in range(span.first, span.last + 1))
