from datetime import date

import pytest
from convertdate import indian_civil

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.indian import IndianCivil

from .oracles import disagreements


def test_every_month_of_the_range_agrees_with_convertdate_and_leap_years():
    def other(day):
        return indian_civil.from_gregorian(day.year, day.month, day.day)

    assert disagreements(IndianCivil(), other) == []
    assert IndianCivil().to_gregorian(CalendarDate(1946, 1, 31)) == date(2024, 4, 20)
    with pytest.raises(NoSuchDate, match="no day 31; its days are 1 to 30"):
        IndianCivil().to_gregorian(CalendarDate(1945, 1, 31))
