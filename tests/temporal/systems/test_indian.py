from datetime import date

import pytest
from convertdate import indian_civil

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.indian import IndianCivil

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1869, 5, 24), "1947-08-15"),  # independence
        (CalendarDate(1871, 11, 6), "1950-01-26"),  # the republic
        (CalendarDate(1879, 1, 1), "1957-03-22"),  # the calendar's first day in force
        (CalendarDate(1946, 1, 1), "2024-03-21"),
    ],
)
def test_known_days_convert_both_ways(when, day):
    assert IndianCivil().to_gregorian(when) == date.fromisoformat(day)
    assert IndianCivil().from_gregorian(date.fromisoformat(day)) == when


def test_chaitra_has_31_days_in_leap_years_only():
    assert IndianCivil().to_gregorian(CalendarDate(1946, 1, 31)) == date(2024, 4, 20)
    with pytest.raises(NoSuchDate, match="no day 31; its days are 1 to 30"):
        IndianCivil().to_gregorian(CalendarDate(1945, 1, 31))


def test_every_month_of_the_range_agrees_with_convertdate():
    def other(day):
        return indian_civil.from_gregorian(day.year, day.month, day.day)

    assert disagreements(IndianCivil(), other) == []
