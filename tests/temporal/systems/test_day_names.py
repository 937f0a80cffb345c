"""Easter and the days that it moves; the solar terms."""

from datetime import date, timedelta

import astronomy
import pytest
import sxtwl
from dateutil.easter import easter as dateutil_easter

from agent_env.temporal.systems.base import OutOfRange
from agent_env.temporal.systems.easter import EasterDays
from agent_env.temporal.systems.solar_terms import SolarTerms
from tests.tables import each

EASTER = """1818-03-22 Easter Sunday, 2038-04-25 Easter Sunday, 2024-02-13 Shrove Tuesday, \
2024-02-14 Ash Wednesday, 2024-03-24 Palm Sunday, 2024-03-29 Good Friday, \
2024-04-01 Easter Monday, 2024-05-09 Ascension Day, 2024-05-19 Pentecost, \
2024-05-20 Whit Monday, 2024-05-30 Corpus Christi""".split(", ")
TERMS = """2021-02-03 Lichun, 2021-12-21 Dongzhi, 2008-05-21 Xiaoman, 2024-02-04 Lichun, \
2024-03-20 Chunfen, 2024-04-04 Qingming, 2024-06-21 Xiazhi, 2024-12-21 Dongzhi""".split(", ")
"""Of 2021 Dongzhi 46 seconds before midnight, of 2008 Xiaoman 47 seconds after."""


@pytest.mark.parametrize(("known", "days"), each({EasterDays: EASTER, SolarTerms: TERMS}))
def test_named_days_fall_on_their_known_days(known, days):
    text, _, name = known.partition(" ")
    day = date.fromisoformat(text)
    assert (days().in_year(name, day.year), days().on(day)) == (day, (name,))


def test_every_year_agrees_with_dateutil_and_a_plain_day_has_no_name():
    days = EasterDays()
    for year in range(1583, 2401):
        assert days.easter(year) == dateutil_easter(year)
        assert days.on(days.easter(year)) == ("Easter Sunday",)
    assert EasterDays().on(date(2024, 7, 1)) == ()


def test_dahan_of_1979_raises_and_is_left_out_of_bulk_answers():
    terms = SolarTerms()
    for day in (date(1979, 1, 20), date(1979, 1, 21)):
        with pytest.raises(OutOfRange, match="unsettled"):
            terms.on(day)
    with pytest.raises(OutOfRange, match="20 and 21 January"):
        terms.in_year("Dahan", 1979)
    names = [name for _, name in terms.days_between(date(1979, 1, 1), date(1979, 12, 31))]
    assert len(names) == 23
    assert "Dahan" not in names
    assert terms.on(date(1979, 1, 22)) == ()


def test_terms_are_those_of_second_sources():
    terms = SolarTerms()
    for day, name in terms.days_between(terms.first, terms.last):
        computed = sxtwl.fromSolar(day.year, day.month, day.day)
        assert computed.hasJieQi(), day
        assert terms.names[(computed.getJieQi() - 1) % 24] == name
    # Every tenth year, by astronomy-engine; all years are compared in the benchmark.
    for year in range(1930, 2051, 10):
        for number, name in enumerate(terms.names):
            day = terms.in_year(name, year)
            start = astronomy.Time.Make(day.year, day.month, day.day, 0, 0, 0).AddDays(-1)
            found = astronomy.SearchSunLongitude((285 + 15 * number) % 360, start, 4)
            assert (found.Utc().replace(tzinfo=None) + timedelta(hours=8)).date() == day
    assert SolarTerms().on(date(2024, 2, 5)) == ()
