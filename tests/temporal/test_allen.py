"""Allen's relations: exactly one for any two intervals, whose bounds alone decide."""

from datetime import date
from itertools import combinations, product

import pytest

from agent_env.temporal.allen import RELATIONS, Interval, relation

from .relations import HOLDS


def test_exactly_one_of_thirteen_relations_holds_between_small_intervals():
    pairs = list(product([Interval(*bounds) for bounds in combinations(range(8), 2)], repeat=2))
    for a, b in pairs:
        bounds = (a.start, a.end, b.start, b.end)
        assert [name for name, holds in HOLDS.items() if holds(*bounds)] == [relation(a, b)]
    assert {relation(a, b) for a, b in pairs} == set(RELATIONS)
    assert len(RELATIONS) == 13


def test_bounds_and_common_days():
    term = Interval.of(date(1993, 3, 15), date(1997, 1, 20))
    assert term.at("day") == term
    assert term.at("month") == Interval.of(date(1993, 3, 1), date(1997, 1, 1))
    assert term.at("year") == Interval.of(date(1993, 1, 1), date(1997, 1, 1))
    assert Interval.of(date(1993, 3, 15), date(1993, 3, 20)).at("month") is None
    assert Interval.of(date(1993, 3, 15), None).at("year") == Interval.of(date(1993, 1, 1), None)
    with pytest.raises(ValueError, match="ends after its start"):
        Interval(3, 3)
    assert Interval(1, 5).meet(Interval(3, 9)) == Interval(3, 5)
    assert Interval(1, 3).meet(Interval(3, 9)) is None
