"""Sets of dates, matched in days."""

from __future__ import annotations

from datetime import date
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.scoring.date_sets import Matching, jaccard, match_dates

SETS = st.sets(st.dates(date(2000, 1, 1), date(2000, 3, 1)).map(str), max_size=5)


def test_a_near_miss_is_near_where_jaccard_sees_nothing() -> None:
    gold, near, far = {"2001-03-01"}, {"2001-03-02"}, {"2031-03-01"}
    assert jaccard(gold, near) == jaccard(gold, far) == 0.0
    assert match_dates(gold, near).mean_days == 1.0
    assert match_dates(gold, far).mean_days == 10957.0


def test_a_date_too_many_costs_a_year() -> None:
    found = match_dates({"2001-03-01"}, {"2001-03-01", "2001-03-11"})
    assert found == Matching(182.5, 1, 0, 1)
    assert match_dates([], []) == Matching(0.0, 0, 0, 0)
    assert match_dates([], ["2001-03-01"]).mean_days == 365.0


@given(SETS, SETS)
def test_no_matching_is_shorter(gold: set[str], other: set[str]) -> None:
    few, many = sorted((gold, other), key=len)
    totals = [
        sum(abs((date.fromisoformat(a) - date.fromisoformat(b)).days)
            for a, b in zip(sorted(few), chosen, strict=True))
        for chosen in permutations(many, len(few))
    ]  # fmt: skip
    assert match_dates(gold, other).matched_days == min(totals)


@given(SETS, SETS)
def test_it_is_symmetric_and_0_only_for_equals(a: set[str], b: set[str]) -> None:
    assert match_dates(a, b) == match_dates(b, a)
    assert (match_dates(a, b).mean_days == 0) == (a == b)
    assert match_dates(a, a).mean_days == pytest.approx(0)
