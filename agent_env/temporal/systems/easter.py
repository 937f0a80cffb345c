"""Days of the western church year that are counted from Easter Sunday."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from types import MappingProxyType

from agent_env.temporal.systems.base import NoSuchDate, OutOfRange, require_range

DAYS_AFTER_EASTER = MappingProxyType(
    {
        "Shrove Tuesday": -47,
        "Ash Wednesday": -46,
        "Palm Sunday": -7,
        "Maundy Thursday": -3,
        "Good Friday": -2,
        "Holy Saturday": -1,
        "Easter Sunday": 0,
        "Easter Monday": 1,
        "Ascension Day": 39,
        "Pentecost": 49,
        "Whit Monday": 50,
        "Trinity Sunday": 56,
        "Corpus Christi": 60,
    }
)
"""Distance of each day from Easter Sunday, in days (Corpus Christi on its Thursday)."""


class EasterDays:
    """Easter and the days counted from it, 1583-01-01 to 2400-12-31, Gregorian reckoning.

    That of the Catholic and most Protestant churches; some Protestant countries came to it only
    in the 18th and 19th century, and Orthodox churches have another.
    """

    name = "easter"
    first = date(1583, 1, 1)
    last = date(2400, 12, 31)
    names = tuple(DAYS_AFTER_EASTER)
    unsettled: tuple[date, ...] = ()

    def easter(self, year: int) -> date:
        """Easter Sunday of a year."""
        if not self.first.year <= year <= self.last.year:
            raise OutOfRange(
                f"{self.name}: year {year} is out of range; the calendar is validated for "
                f"{self.first} to {self.last}"
            )
        return _easter(year)

    def in_year(self, name: str, year: int) -> date:
        """The Gregorian day of one of `names` in a year."""
        if name not in DAYS_AFTER_EASTER:
            raise NoSuchDate(f"{self.name}: no day {name!r}; there are {', '.join(self.names)}")
        return date.fromordinal(self.easter(year).toordinal() + DAYS_AFTER_EASTER[name])

    def on(self, day: date) -> tuple[str, ...]:
        """The names that fall on a Gregorian day; usually none."""
        require_range(self, day)
        distance = (day - self.easter(day.year)).days
        return tuple(name for name, days in DAYS_AFTER_EASTER.items() if days == distance)

    def days_between(self, first: date, last: date) -> Iterator[tuple[date, str]]:
        """Every named day in `first`..`last` with its name, in order of time."""
        require_range(self, first)
        require_range(self, last)
        return (
            (day, name)
            for year in range(first.year, last.year + 1)
            for name in self.names
            if first <= (day := self.in_year(name, year)) <= last
        )


def _easter(year: int) -> date:
    """Easter Sunday by the anonymous Gregorian algorithm (Meeus, Astronomical Algorithms, 8)."""
    golden = year % 19
    century, of_century = divmod(year, 100)
    leap_centuries, odd_centuries = divmod(century, 4)
    moon_shift = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leap_centuries - moon_shift + 15) % 30
    leap_years, odd_years = divmod(of_century, 4)
    to_sunday = (32 + 2 * odd_centuries + 2 * leap_years - epact - odd_years) % 7
    late = (golden + 11 * epact + 22 * to_sunday) // 451
    month, day = divmod(epact + to_sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)
