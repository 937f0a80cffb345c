import pytest
from convertdate import coptic as convertdate_coptic

from agent_env.temporal.systems.alexandrian import Coptic, Ethiopic
from agent_env.temporal.systems.base import CalendarDate, NoSuchDate

from .oracles import disagreements


def test_every_month_of_the_range_agrees_with_convertdate_and_leap_years():
    with pytest.raises(NoSuchDate, match="no day 6; its days are 1 to 5"):
        Coptic().to_gregorian(CalendarDate(1740, 13, 6))

    def other(day):
        return convertdate_coptic.from_gregorian(day.year, day.month, day.day)

    assert disagreements(Coptic(), other) == []

    def other(day):
        year, month, number = convertdate_coptic.from_gregorian(day.year, day.month, day.day)
        return year + 276, month, number

    assert disagreements(Ethiopic(), other) == []
