from datetime import date, timedelta

import astronomy
import pytest
import sxtwl

from agent_env.temporal.systems.base import OutOfRange
from agent_env.temporal.systems.solar_terms import SolarTerms

KNOWN = """
2021-02-03 Lichun, 2021-12-21 Dongzhi 46 seconds before midnight, \
2008-05-21 Xiaoman 47 seconds after midnight, 2024-02-04 Lichun, 2024-03-20 Chunfen, \
2024-04-04 Qingming, 2024-06-21 Xiazhi, 2024-12-21 Dongzhi
"""


@pytest.mark.parametrize("known", KNOWN.strip().split(", "))
def test_terms_fall_on_their_known_days(known):
    day, name, *_ = known.split()
    gregorian = date.fromisoformat(day)
    assert SolarTerms().in_year(name, gregorian.year) == gregorian
    assert SolarTerms().on(gregorian) == (name,)


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
