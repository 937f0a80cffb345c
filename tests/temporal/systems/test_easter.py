from datetime import date

import pytest
from dateutil.easter import easter as dateutil_easter

from agent_env.temporal.systems.easter import EasterDays

SUNDAYS = """
1818-03-22 1943-04-25 1981-04-19 2000-04-23 2008-03-23 2019-04-21 2024-03-31 2025-04-20 2038-04-25
""".split()


@pytest.mark.parametrize("sunday", SUNDAYS)
def test_easter_falls_on_its_known_sunday(sunday):
    day = date.fromisoformat(sunday)
    assert EasterDays().easter(day.year) == day
    assert EasterDays().on(day) == ("Easter Sunday",)


DAYS_OF_2024 = """
02-13 Shrove Tuesday, 02-14 Ash Wednesday, 03-24 Palm Sunday, 03-29 Good Friday, \
04-01 Easter Monday, 05-09 Ascension Day, 05-19 Pentecost, 05-20 Whit Monday, 05-30 Corpus Christi
"""


@pytest.mark.parametrize("known", DAYS_OF_2024.strip().split(", "))
def test_the_days_of_2024_are_known(known):
    text, _, name = known.partition(" ")
    day = date.fromisoformat(f"2024-{text}")
    assert EasterDays().in_year(name, 2024) == day
    assert EasterDays().on(day) == (name,)


def test_every_year_agrees_with_dateutil_and_a_plain_day_has_no_name():
    days = EasterDays()
    for year in range(1583, 2401):
        assert days.easter(year) == dateutil_easter(year)
    assert EasterDays().on(date(2024, 7, 1)) == ()
