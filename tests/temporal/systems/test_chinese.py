from datetime import date, timedelta

import pytest
from lunar_python import LunarYear, Solar

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate, OutOfRange
from agent_env.temporal.systems.chinese import Chinese, LunarMonth


def test_every_month_of_the_range_agrees_with_lunar_python():
    chinese = Chinese()
    for year in range(1610, 2057):
        theirs = []
        for month in LunarYear.fromYear(year).getMonthsInYear():
            solar = Solar.fromJulianDay(month.getFirstJulianDay())
            first = date(solar.getYear(), solar.getMonth(), solar.getDay())
            last = first + timedelta(month.getDayCount() - 1)
            number, leap = abs(month.getMonth()), month.getMonth() < 0
            theirs.append(LunarMonth(number, leap, first, last))
            assert chinese.from_gregorian(first) == CalendarDate(year, number, 1, leap_month=leap)
        assert list(chinese.lunar_months(year)) == theirs
        assert chinese.new_year(year) == theirs[0].first
        assert chinese.leap_month(year) == sum(month.number for month in theirs if month.leap)


def test_known_months_and_animals():
    chinese = Chinese()
    assert [chinese.leap_month(year) for year in (1984, 2023, 2024, 2033)] == [10, 2, 0, 11]
    new_years = [str(chinese.new_year(year)) for year in (1900, 1985, 2024)]
    assert new_years == ["1900-01-31", "1985-02-20", "2024-02-10"]
    assert chinese.to_gregorian(CalendarDate(2023, 2, 1)) == date(2023, 2, 20)
    leap = CalendarDate(2023, 2, 1, leap_month=True)
    assert (chinese.to_gregorian(leap), chinese.month_name(leap)) == (
        date(2023, 3, 22),
        "Run Eryue",
    )
    with pytest.raises(NoSuchDate, match=r"no leap month 3 \(Sanyue\) in year 2023"):
        chinese.to_gregorian(CalendarDate(2023, 3, 1, leap_month=True))
    # 2023's second month had 30 days, its repetition 29.
    assert chinese.to_gregorian(CalendarDate(2023, 2, 30)) == date(2023, 3, 21)
    with pytest.raises(NoSuchDate, match="no day 30; its days are 1 to 29"):
        chinese.to_gregorian(CalendarDate(2023, 2, 30, leap_month=True))
    for year in (1609, 2057):
        with pytest.raises(OutOfRange):
            chinese.lunar_months(year)
        with pytest.raises(OutOfRange):
            chinese.to_gregorian(CalendarDate(year, 9, 1))
    with pytest.raises(NoSuchDate, match="no animal 'Cat'; there are Rat, Ox"):
        chinese.animal_years("Cat")


ZODIAC = """
2024-02-03 Rabbit Rabbit, 2024-02-04 Rabbit Dragon, 2024-02-09 Rabbit Dragon, \
2024-02-10 Dragon Dragon, 2023-01-22 Rabbit Tiger, 2023-02-03 Rabbit Tiger, \
2023-02-04 Rabbit Rabbit, 1984-06-01 Rat Rat
"""


@pytest.mark.parametrize("known", ZODIAC.strip().split(", "))
def test_the_two_readings_of_the_zodiac_differ_between_new_year_and_lichun(known):
    day, by_new_year, by_lichun = known.split()
    assert Chinese().animal(date.fromisoformat(day)) == by_new_year
    assert Chinese().animal_by_lichun(date.fromisoformat(day)) == by_lichun


@pytest.mark.parametrize("by_lichun", [False, True])
def test_the_years_of_the_animals_share_out_the_whole_range(by_lichun):
    chinese = Chinese()
    animals = "Rat Ox Tiger Rabbit Dragon Snake Horse Goat Monkey Rooster Dog Pig"
    total = 0
    for animal in animals.split():
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
