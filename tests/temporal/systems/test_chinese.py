from datetime import date

import pytest
from lunar_python import LunarYear, Solar

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate, OutOfRange
from agent_env.temporal.systems.chinese import Chinese, LunarMonth

NEW_YEARS = """
1900-01-31 1912-02-18 1949-01-29 1985-02-20 2000-02-05 2023-01-22 2024-02-10 2025-01-29
""".split()


@pytest.mark.parametrize("new_year", NEW_YEARS)
def test_the_lunar_year_begins_on_its_known_day(new_year):
    day = date.fromisoformat(new_year)
    assert Chinese().new_year(day.year) == day
    assert Chinese().from_gregorian(day) == CalendarDate(day.year, 1, 1)


@pytest.mark.parametrize(
    ("year", "month"), [(1984, 10), (2017, 6), (2020, 4), (2023, 2), (2024, 0), (2033, 11)]
)
def test_leap_months_are_the_known_ones(year, month):
    assert Chinese().leap_month(year) == month


def test_leap_months_intervals_and_known_animals():
    chinese = Chinese()
    assert chinese.to_gregorian(CalendarDate(2023, 2, 1)) == date(2023, 2, 20)
    leap = CalendarDate(2023, 2, 1, leap_month=True)
    assert chinese.to_gregorian(leap) == date(2023, 3, 22)
    assert chinese.month_name(leap) == "Run Eryue"
    with pytest.raises(NoSuchDate, match=r"no leap month 3 \(Sanyue\) in year 2023"):
        Chinese().to_gregorian(CalendarDate(2023, 3, 1, leap_month=True))
    # 2023's second month had 30 days, its repetition 29.
    assert chinese.to_gregorian(CalendarDate(2023, 2, 30)) == date(2023, 3, 21)
    with pytest.raises(NoSuchDate, match="no day 30; its days are 1 to 29"):
        chinese.to_gregorian(CalendarDate(2023, 2, 30, leap_month=True))
    months = Chinese().lunar_months(2023)
    assert len(months) == 13
    assert months[1] == LunarMonth(2, False, date(2023, 2, 20), date(2023, 3, 21))
    assert months[2] == LunarMonth(2, True, date(2023, 3, 22), date(2023, 4, 19))
    assert months[12].last == date(2024, 2, 9)
    for day in ("1831-04-12", "1842-01-11", "1880-11-03", "1896-02-13", "1916-02-03"):
        assert chinese.from_gregorian(date.fromisoformat(day)).day == 1
    for year in (1609, 2057):
        with pytest.raises(OutOfRange):
            Chinese().lunar_months(year)
        with pytest.raises(OutOfRange):
            Chinese().to_gregorian(CalendarDate(year, 9, 1))
    with pytest.raises(NoSuchDate, match="no animal 'Cat'; there are Rat, Ox"):
        Chinese().animal_years("Cat")


def test_every_month_of_the_range_agrees_with_lunar_python():
    chinese = Chinese()
    for year in range(1610, 2057):
        theirs = []
        for month in LunarYear.fromYear(year).getMonthsInYear():
            solar = Solar.fromJulianDay(month.getFirstJulianDay())
            first = date(solar.getYear(), solar.getMonth(), solar.getDay())
            number = month.getMonth()
            theirs.append((abs(number), number < 0, first, month.getDayCount()))
        ours = [
            (month.number, month.leap, month.first, (month.last - month.first).days + 1)
            for month in chinese.lunar_months(year)
        ]
        assert ours == theirs


ZODIAC = """
2024-02-03 Rabbit Rabbit, 2024-02-04 Rabbit Dragon, 2024-02-09 Rabbit Dragon, \
2024-02-10 Dragon Dragon, 2023-01-22 Rabbit Tiger, 2023-02-03 Rabbit Tiger, \
2023-02-04 Rabbit Rabbit, 1984-06-01 Rat Rat
"""


@pytest.mark.parametrize("known", ZODIAC.strip().split(", "))
def test_the_two_readings_of_the_zodiac_differ_between_new_year_and_lichun(known):
    day, by_new_year, by_lichun = known.split()
    chinese = Chinese()
    assert chinese.animal(date.fromisoformat(day)) == by_new_year
    assert chinese.animal_by_lichun(date.fromisoformat(day)) == by_lichun


@pytest.mark.parametrize("by_lichun", [False, True])
def test_the_years_of_the_animals_share_out_the_whole_range(by_lichun):
    chinese = Chinese()
    animals = ("Rat", "Ox", "Tiger", "Rabbit", "Dragon", "Snake", "Horse", "Goat", "Monkey")
    animals += ("Rooster", "Dog", "Pig")
    total = 0
    for animal in animals:
        for first, last in chinese.animal_years(animal, by_lichun=by_lichun):
            total += (last - first).days + 1
            for day in (first, last):
                found = chinese.animal_by_lichun(day) if by_lichun else chinese.animal(day)
                assert found == animal
    assert total == (chinese.last - chinese.first).days + 1


def test_the_months_by_day_are_those_that_sxtwl_computes():
    import sxtwl

    moons = Chinese().months_by_day()
    assert moons[date(2024, 2, 10).toordinal()] == (2024, 1)
    assert moons[date(2023, 3, 22).toordinal()] == (2023, 2)  # the leap month
    assert (len(moons), min(moons)) == (163_274, date(1610, 1, 25).toordinal())
    for at in range(min(moons), max(moons), 499):
        day = date.fromordinal(at)
        moon = sxtwl.fromSolar(day.year, day.month, day.day)
        assert moons[at] == (moon.getLunarYear(), moon.getLunarMonth())
