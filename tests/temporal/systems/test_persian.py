from datetime import timedelta

import astronomy
import jdatetime
import pytest

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate
from agent_env.temporal.systems.persian import Persian

from .oracles import disagreements


def test_every_month_agrees_with_jdatetime_and_the_equinox():
    def other(day):
        when = jdatetime.date.fromgregorian(date=day)
        return when.year, when.month, when.day

    assert disagreements(Persian(), other) == []
    with pytest.raises(NoSuchDate, match="no day 30; its days are 1 to 29"):
        Persian().to_gregorian(CalendarDate(1402, 12, 30))
    # Every seventh year and the two in which it comes closest to noon; all in the benchmark.
    for year in (*range(1799, 2124, 7), 1831, 1930, 2091):
        equinox = astronomy.Seasons(year).mar_equinox.Utc().replace(tzinfo=None)
        past_noon = equinox + timedelta(hours=3.5 + 12)
        assert Persian().from_gregorian(past_noon.date()) == CalendarDate(year - 621, 1, 1)
