from datetime import date

import pytest
from convertdate import coptic as convertdate_coptic

from agent_env.temporal.systems.alexandrian import Coptic, Ethiopic
from agent_env.temporal.systems.base import CalendarDate, NoSuchDate

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1740, 1, 1), "2023-09-12"),  # Nayrouz after a leap year
        (CalendarDate(1741, 1, 1), "2024-09-11"),
        (CalendarDate(1740, 4, 29), "2024-01-08"),
        (CalendarDate(1739, 13, 6), "2023-09-11"),
    ],
)
def test_known_days_of_the_coptic_calendar_convert_both_ways(when, day):
    assert Coptic().to_gregorian(when) == date.fromisoformat(day)
    assert Coptic().from_gregorian(date.fromisoformat(day)) == when


def test_the_little_month_has_a_sixth_day_only_in_leap_years():
    with pytest.raises(NoSuchDate, match="no day 6; its days are 1 to 5"):
        Coptic().to_gregorian(CalendarDate(1740, 13, 6))


def test_every_month_of_the_range_agrees_with_convertdate():
    def other(day):
        return convertdate_coptic.from_gregorian(day.year, day.month, day.day)

    assert disagreements(Coptic(), other) == []


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1888, 6, 23), "1896-03-01"),  # the battle of Adwa
        (CalendarDate(2000, 1, 1), "2007-09-12"),  # the millennium
        (CalendarDate(2016, 1, 1), "2023-09-12"),
        (CalendarDate(2017, 1, 1), "2024-09-11"),  # Enkutatash
        (CalendarDate(2017, 1, 17), "2024-09-27"),  # Meskel
    ],
)
def test_known_days_of_the_ethiopic_calendar_convert_both_ways(when, day):
    assert Ethiopic().to_gregorian(when) == date.fromisoformat(day)
    assert Ethiopic().from_gregorian(date.fromisoformat(day)) == when


def test_every_month_of_the_range_is_convertdates_coptic_one_276_years_on():
    def other(day):
        year, month, number = convertdate_coptic.from_gregorian(day.year, day.month, day.day)
        return year + 276, month, number

    assert disagreements(Ethiopic(), other) == []
