from datetime import date, timedelta

import astronomy
import jdatetime
import pytest

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.persian import Persian

from .oracles import disagreements


@pytest.mark.parametrize(
    ("when", "day"),
    [
        (CalendarDate(1304, 1, 11), "1925-03-31"),  # adopted by law
        (CalendarDate(1357, 11, 22), "1979-02-11"),  # the revolution's anniversary
        (CalendarDate(1400, 1, 1), "2021-03-21"),
        (CalendarDate(1403, 1, 1), "2024-03-20"),
        (CalendarDate(1403, 12, 30), "2025-03-20"),
    ],
)
def test_known_days_convert_both_ways(when, day):
    assert Persian().to_gregorian(when) == date.fromisoformat(day)
    assert Persian().from_gregorian(date.fromisoformat(day)) == when


def test_esfand_has_30_days_in_leap_years_only():
    with pytest.raises(NoSuchDate, match="no day 30; its days are 1 to 29"):
        Persian().to_gregorian(CalendarDate(1402, 12, 30))


def test_every_month_of_the_range_agrees_with_jdatetime():
    def other(day):
        when = jdatetime.date.fromgregorian(date=day)
        return when.year, when.month, when.day

    assert disagreements(Persian(), other) == []


def test_nowruz_follows_the_equinox_over_tehran():
    """Every seventh year and the two in which it comes closest to noon; all in the benchmark."""
    for year in (*range(1799, 2124, 7), 1831, 1930, 2091):
        equinox = astronomy.Seasons(year).mar_equinox.Utc().replace(tzinfo=None)
        past_noon = equinox + timedelta(hours=3.5 + 12)
        assert Persian().from_gregorian(past_noon.date()) == CalendarDate(year - 621, 1, 1)
