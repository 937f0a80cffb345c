from datetime import date, timedelta

from agent_env.temporal.systems.base import CalendarDate
from agent_env.temporal.systems.islamic import Islamic

ICU_78 = """
-+--+-++++-+ --+---++++-+ +--+---+++-+ +-+-+--+-+-+ +-++-+--+-+- +-++-+-++-+- -+-+-++-++-+
--+-+-++-++- +--+--+++-++ -+--+--++-++ -++--+-+-+-+ -++-+-+-+--+ -+++-+-+-+-- +-++-++-+-+-
-+-+-++-++-- +-+-+-+-++-+ -+-+-+-+-+-+ +-++--+-+--+ +-+++--+--+- +-+++-+-+--+ -+-+++-+-+--
+-+-++-++-+- -+-+-+-++-+- +-+-+-+-+-++ -+-++--+-+-+ -+++-+--+--+ -+++-++--+-- +-+++-+-+-+-
-+-++-++-+-+ --+-+-++-++- +-+--+-+-++- ++
""".split()
"""Month lengths of ICU 78's islamic-umalqura from 1420, begun on 17 April 1999, to Safar 1451:
+ is 30 days, - is 29."""


def test_every_month_of_the_range_agrees_with_icu():
    islamic = Islamic()
    begins = date(1999, 4, 17)
    count = 0
    for year, sizes in enumerate(ICU_78, start=1420):
        for month, sign in enumerate(sizes, start=1):
            size = 30 if sign == "+" else 29
            last = begins + timedelta(size - 1)
            if begins >= islamic.first:
                count += 1
                assert islamic.from_gregorian(begins) == CalendarDate(year, month, 1)
                assert islamic.from_gregorian(last) == CalendarDate(year, month, size)
            begins += timedelta(size)
    assert count == 365
    assert begins == islamic.last + timedelta(1)
