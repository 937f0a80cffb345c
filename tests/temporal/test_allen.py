"""Allen's relations: exactly one for any two intervals, at every granularity."""

from datetime import date
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.temporal.allen import FOREVER, GRANULARITIES, RELATIONS, Interval, relation

SMALL = [Interval(start, end) for start, end in combinations(range(8), 2)]

# By the bounds alone, each on its own and written apart from the code.
MEANINGS = {
    "before": lambda a, b: a.end < b.start,
    "meets": lambda a, b: a.end == b.start,
    "overlaps": lambda a, b: a.start < b.start < a.end < b.end,
    "finished-by": lambda a, b: a.start < b.start and a.end == b.end,
    "contains": lambda a, b: a.start < b.start and b.end < a.end,
    "starts": lambda a, b: a.start == b.start and a.end < b.end,
    "equals": lambda a, b: (a.start, a.end) == (b.start, b.end),
    "started-by": lambda a, b: a.start == b.start and b.end < a.end,
    "during": lambda a, b: b.start < a.start and a.end < b.end,
    "finishes": lambda a, b: b.start < a.start and a.end == b.end,
    "overlapped-by": lambda a, b: b.start < a.start < b.end < a.end,
    "met-by": lambda a, b: b.end == a.start,
    "after": lambda a, b: b.end < a.start,
}


def test_exactly_one_of_thirteen_relations_holds_between_small_intervals():
    for a, b in product(SMALL, repeat=2):
        holding = [name for name, holds in MEANINGS.items() if holds(a, b)]
        assert holding == [relation(a, b)]
    assert {relation(a, b) for a, b in product(SMALL, repeat=2)} == set(RELATIONS)
    assert len(RELATIONS) == 13


days = st.dates(date(1583, 1, 1), date(2400, 1, 1)).map(date.toordinal)
intervals = st.tuples(days, days | st.just(FOREVER)).filter(lambda p: p[0] < p[1])


@given(intervals, intervals, st.sampled_from(GRANULARITIES))
def test_exactly_one_relation_holds_at_every_granularity(first, second, granularity):
    a, b = Interval(*first).at(granularity), Interval(*second).at(granularity)
    if a is not None and b is not None:
        assert [name for name, holds in MEANINGS.items() if holds(a, b)] == [relation(a, b)]


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
