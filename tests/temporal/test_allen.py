"""Allen's relations: exactly one for any two intervals, at every granularity."""

from datetime import date
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.temporal.allen import FOREVER, GRANULARITIES, RELATIONS, Interval, relation

from .relations import HOLDS


def holding(a, b):
    return [name for name, holds in HOLDS.items() if holds(a.start, a.end, b.start, b.end)]


def test_exactly_one_of_thirteen_relations_holds_between_small_intervals():
    pairs = list(product([Interval(*bounds) for bounds in combinations(range(8), 2)], repeat=2))
    for a, b in pairs:
        assert holding(a, b) == [relation(a, b)]
    assert {relation(a, b) for a, b in pairs} == set(RELATIONS)
    assert len(RELATIONS) == 13


days = st.dates(date(1583, 1, 1), date(2400, 1, 1)).map(date.toordinal)
intervals = st.tuples(days, days | st.just(FOREVER)).filter(lambda p: p[0] < p[1])


@given(intervals, intervals, st.sampled_from(GRANULARITIES))
def test_exactly_one_relation_holds_at_every_granularity(first, second, granularity):
    a, b = Interval(*first).at(granularity), Interval(*second).at(granularity)
    if a is not None and b is not None:
        assert holding(a, b) == [relation(a, b)]


def test_bounds_and_common_days():
    term = Interval.of(date(1993, 3, 15), date(1997, 1, 20))
    assert term.at("month") == Interval.of(date(1993, 3, 1), date(1997, 1, 1))
    assert term.at("year") == Interval.of(date(1993, 1, 1), date(1997, 1, 1))
    assert Interval.of(date(1993, 3, 15), date(1993, 3, 20)).at("month") is None
    assert Interval.of(date(1993, 3, 15), None).at("year") == Interval.of(date(1993, 1, 1), None)
    with pytest.raises(ValueError, match="ends after its start"):
        Interval(3, 3)
    assert Interval(1, 5).meet(Interval(3, 9)) == Interval(3, 5)
    assert Interval(1, 3).meet(Interval(3, 9)) is None
