"""Day sets as runs of dates."""

from datetime import date
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent_env.temporal.days import DayRange

YEAR = DayRange(date(1999, 1, 1), date(1999, 12, 31))


@given(st.integers(0, YEAR.everything))
def test_runs_hold_the_days_of_the_set_and_never_touch(days):
    runs = YEAR.runs(days)
    assert YEAR.spans(runs) == days
    assert all((b[0] - a[1]).days > 1 for a, b in pairwise(runs))
