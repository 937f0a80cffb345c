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


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("Shrove Tuesday", "2024-02-13"),
        ("Ash Wednesday", "2024-02-14"),
        ("Palm Sunday", "2024-03-24"),
        ("Good Friday", "2024-03-29"),
        ("Easter Monday", "2024-04-01"),
        ("Ascension Day", "2024-05-09"),
        ("Pentecost", "2024-05-19"),
        ("Whit Monday", "2024-05-20"),
        ("Corpus Christi", "2024-05-30"),
    ],
)
def test_the_days_of_2024_are_known(name, day):
    assert EasterDays().in_year(name, 2024) == date.fromisoformat(day)
    assert EasterDays().on(date.fromisoformat(day)) == (name,)


def test_a_plain_day_has_no_name():
    assert EasterDays().on(date(2024, 7, 1)) == ()


def test_every_year_agrees_with_dateutil():
    days = EasterDays()
    for year in range(1583, 2401):
        assert days.easter(year) == dateutil_easter(year)
