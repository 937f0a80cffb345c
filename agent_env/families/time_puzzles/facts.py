"""Types of facts in a puzzle's constraints (Time Puzzles, Table 2, and some more).

A fact is data; `day_sets` computes its dates, `wording` its text. Its JSON is the meta entry of the
published puzzle format.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent_env.sdk.records import Record
from agent_env.temporal.patterns import SUMMER_OLYMPICS, WORLD_CUPS
from agent_env.temporal.written import MONTHS as MONTHS
from agent_env.temporal.written import WEEKDAYS as WEEKDAYS

Level = Literal["year", "month", "day"]

SEASONS = {"winter": (12, 1, 2), "spring": (3, 4, 5), "summer": (6, 7, 8), "autumn": (9, 10, 11)}
"""Seasons by months, as in the paper's Appendix E."""
ANIMALS = (
    "Rat", "Ox", "Tiger", "Rabbit", "Dragon", "Snake",
    "Horse", "Goat", "Monkey", "Rooster", "Dog", "Pig",
)  # fmt: skip
"""The Chinese zodiac; lunar year 4 was a year of the Rat."""
SIGNS = {
    "Capricorn": ((12, 22), (1, 19)),
    "Aquarius": ((1, 20), (2, 18)),
    "Pisces": ((2, 19), (3, 20)),
    "Aries": ((3, 21), (4, 19)),
    "Taurus": ((4, 20), (5, 20)),
    "Gemini": ((5, 21), (6, 20)),
    "Cancer": ((6, 21), (7, 22)),
    "Leo": ((7, 23), (8, 22)),
    "Virgo": ((8, 23), (9, 22)),
    "Libra": ((9, 23), (10, 22)),
    "Scorpio": ((10, 23), (11, 21)),
    "Sagittarius": ((11, 22), (12, 21)),
}
"""First and last (month, day) of each western sign; sources differ, so puzzles state them."""
HEAD = "What a look-up of these facts gives:"
"""The line before the facts of the wording `facts`."""
RECURRING = {"summer_olympics": SUMMER_OLYMPICS, "world_cup": WORLD_CUPS}
"""Years of the games."""

Weekday = Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


class ExplicitYear(Record):
    type: Literal["explicit_year"] = "explicit_year"
    year: int


class Decade(Record):
    type: Literal["decade"] = "decade"
    decade: int
    """Its first year: 1990 for 1990–1999."""


class YearRange(Record):
    type: Literal["year_range"] = "year_range"
    start: int
    end: int
    """Included."""


class LeapYear(Record):
    type: Literal["leap_year"] = "leap_year"


class ChineseZodiac(Record):
    type: Literal["chinese_zodiac"] = "chinese_zodiac"
    animal: str


class PersonAlive(Record):
    type: Literal["person_alive"] = "person_alive"
    person: str


class UsPresident(Record):
    type: Literal["us_president"] = "us_president"
    person: str


class RecurringEvent(Record):
    type: Literal["event"] = "event"
    name: Literal["summer_olympics", "world_cup"]


class Month(Record):
    type: Literal["month"] = "month"
    month: int = Field(ge=1, le=12)


class Season(Record):
    type: Literal["season"] = "season"
    season: Literal["winter", "spring", "summer", "autumn"]


class LunarMonth(Record):
    type: Literal["lunar_month"] = "lunar_month"
    month: int = Field(ge=1)
    """No day has a number above 12: published files hold such facts, with an empty gold."""


class WesternZodiac(Record):
    type: Literal["western_zodiac"] = "western_zodiac"
    sign: str


class WeekdayInMonth(Record):
    type: Literal["weekday_in_month"] = "weekday_in_month"
    direction: Literal["first", "last"]
    """Counted from the month's start or end."""
    weekday: Weekday
    n: int = Field(ge=1, le=5)


class DayOfMonthSpecific(Record):
    type: Literal["day_of_month_specific"] = "day_of_month_specific"
    day: int = Field(ge=1, le=31)


class FirstDayOfMonth(Record):
    type: Literal["first_day_of_month"] = "first_day_of_month"


class LastDayOfMonth(Record):
    type: Literal["last_day_of_month"] = "last_day_of_month"


class DayOfMonthRange(Record):
    type: Literal["day_of_month"] = "day_of_month"
    operator: Literal["<", ">"]
    value: int = Field(ge=1, le=31)

    @property
    def numbers(self) -> range:
        return range(1, self.value) if self.operator == "<" else range(self.value + 1, 32)


class OnWeekday(Record):
    type: Literal["weekday"] = "weekday"
    weekday: Weekday


class MultiWeekday(Record):
    type: Literal["multi_weekday"] = "multi_weekday"
    value: tuple[Weekday, ...] = Field(min_length=2)


class DayOfYear(Record):
    type: Literal["day_of_year"] = "day_of_year"
    day: int = Field(ge=1, le=366)


class WeekdayInYear(Record):
    type: Literal["weekday_in_year"] = "weekday_in_year"
    direction: Literal["first", "last"]
    weekday: Weekday
    n: int = Field(ge=1, le=53)


class CalendarMonth(Record):
    type: Literal["calendar_month"] = "calendar_month"
    calendar: Literal["hebrew", "islamic", "persian", "ethiopic", "coptic", "indian-civil"]
    month: int = Field(ge=1, le=13)
    """Number of the month in the calendar."""


class JapaneseEra(Record):
    type: Literal["japanese_era"] = "japanese_era"
    era: Literal["Meiji", "Taisho", "Showa", "Heisei"]


class ChurchDay(Record):
    type: Literal["church_day"] = "church_day"
    name: str
    """A day of the western church year that is counted from Easter."""


class SolarTerm(Record):
    type: Literal["solar_term"] = "solar_term"
    name: str
    """One of the 24 terms of the Chinese solar year."""


class KbEvent(Record):
    """A relation to an event that has to be looked up."""

    type: Literal["kb_event"] = "kb_event"
    event: str
    aspect: Literal["start", "end", "multi_year"]
    """Its first day, its last day, or any year in which it held."""
    level: Level
    """What the date has in common with it."""
    value: int | None = None
    """The common year, month or day of the month; None for `multi_year`."""
    years: tuple[int, ...] | None = Field(default=None, exclude_if=lambda years: years is None)
    """For `multi_year` in a shifted world: the event's years there."""


class Relative(Record):
    """A span that is counted from the present day."""

    type: Literal["relative"] = "relative"
    unit: Literal["year", "month", "week", "weeks", "president"]
    """`weeks`: the days of so many weeks before today; else the calendar's year, month or week,
    which begins on Monday, or the term of a US president."""
    back: int = Field(ge=0)
    """How many before the present one; 0 is the present one."""
    today: str
    """YYYY-MM-DD."""


Fact = Annotated[
    ExplicitYear | Decade | YearRange | LeapYear | ChineseZodiac | PersonAlive | UsPresident
    | RecurringEvent | Month | Season | LunarMonth | WesternZodiac | WeekdayInMonth
    | DayOfMonthSpecific | FirstDayOfMonth | LastDayOfMonth | DayOfMonthRange | OnWeekday
    | MultiWeekday | DayOfYear | WeekdayInYear | CalendarMonth | JapaneseEra | ChurchDay
    | SolarTerm | Relative | KbEvent,
    Field(discriminator="type"),
]  # fmt: skip

_YEAR_TYPES = (
    "year", "president", "explicit_year", "decade", "year_range", "leap_year", "chinese_zodiac",
    "person_alive", "us_president", "event", "japanese_era",
)  # fmt: skip
_MONTH_TYPES = ("month", "season", "lunar_month", "western_zodiac", "calendar_month")
"""Their constraint level (Table 2) is the year and the month; that of other types is the day."""

CATEGORIES = dict.fromkeys(
    ("day_of_month_specific", "first_day_of_month", "last_day_of_month"), "exact_day_of_month"
)
"""Types with a common category; every other type is its own category."""


def level_of(fact: Fact) -> Level:
    if isinstance(fact, KbEvent):
        return fact.level
    kind = fact.unit if isinstance(fact, Relative) else fact.type
    return "year" if kind in _YEAR_TYPES else "month" if kind in _MONTH_TYPES else "day"


def category_of(fact: Fact) -> str:
    """The category, which a puzzle has at most once."""
    if isinstance(fact, CalendarMonth):
        return f"{fact.calendar}_month"
    return CATEGORIES.get(fact.type, fact.type)
