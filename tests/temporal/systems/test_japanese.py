from datetime import date

import pytest

from agent_env.temporal.systems.base import CalendarDate, NoSuchDate, OutOfRange
from agent_env.temporal.systems.japanese import Japanese

ERAS = """
1873-01-01 Meiji 6, 1912-07-29 Meiji 45, 1912-07-30 Taisho 1, 1926-12-24 Taisho 15, \
1926-12-25 Showa 1, 1989-01-07 Showa 64, 1989-01-08 Heisei 1, 2019-04-30 Heisei 31, \
2019-05-01 Reiwa 1, 2024-02-29 Reiwa 6
"""


@pytest.mark.parametrize("known", ERAS.strip().split(", "))
def test_eras_begin_and_end_on_their_known_days(known):
    day, era, year = known.split()
    gregorian = date.fromisoformat(day)
    when = CalendarDate(int(year), gregorian.month, gregorian.day, era=era)
    assert Japanese().from_gregorian(gregorian) == when
    assert Japanese().to_gregorian(when) == gregorian


def test_years_need_an_era_and_months_may_have_two():
    with pytest.raises(OutOfRange, match="1872-12-31 is out of range"):
        Japanese().from_gregorian(date(1872, 12, 31))
    with pytest.raises(OutOfRange, match="year 5 is out of range"):
        Japanese().to_gregorian(CalendarDate(5, 12, 1, era="Meiji"))
    with pytest.raises(NoSuchDate, match="Showa year 64 has no day 8; its days are 1 to 7"):
        Japanese().to_gregorian(CalendarDate(64, 1, 8, era="Showa"))
    with pytest.raises(NoSuchDate, match=r"no month 2 \(February\) in Showa year 64"):
        Japanese().to_gregorian(CalendarDate(64, 2, 1, era="Showa"))
    with pytest.raises(NoSuchDate, match="no day 7; its days are 8 to 31"):
        Japanese().to_gregorian(CalendarDate(1, 1, 7, era="Heisei"))
    for era in (None, "Keio"):
        with pytest.raises(NoSuchDate, match="the eras are Meiji, Taisho, Showa, Heisei, Reiwa"):
            Japanese().to_gregorian(CalendarDate(3, 1, 1, era=era))
    parts = list(Japanese().months_between(date(1989, 1, 1), date(1989, 1, 31)))
    assert [(part.opens.era, part.opens.day, part.days, part.size) for part in parts] == [
        ("Showa", 1, 7, 31),
        ("Heisei", 8, 24, 31),
    ]
