"""Dates and numbers as texts write them: names and values of months, weekdays and number words, and
the one reader of dates, to which each caller states its forms.

A form is a regular expression with the groups `y` (year), `m` (month, a number or a name) and `d`
(day), or `y`, `a` and `b` for two numbers of which either may be the day; further groups are the
caller's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent_env.temporal.days import PartialDate

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH = "|".join(MONTHS)
"""A month's full name."""
ANY_MONTH = "|".join([f"{name[:3]}(?:{name[3:]})?" for name in MONTHS if name != "May"] + ["May"])
ANY_MONTH += "|Sept"
"""A month's name or abbreviation, without its dot."""
SHORT_MONTH = "|".join(name[:3] for name in MONTHS)
_MONTHS = {form.lower(): n for n, name in enumerate(MONTHS, 1) for form in (name, name[:3])}
_MONTHS["sept"] = 9
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"


def month_number(text: str) -> int | None:
    """9 for `September`, `sep`, `Sept` or `09`; None for another word."""
    return int(text) if text.isdecimal() else _MONTHS.get(text.rstrip(".").lower())


def day_and_month(first: int, second: int, order: str | None = None) -> tuple[int, int] | None:
    """The day and the month of two numbers beside a year. Where either may be the day, `order`
    (DAY_FIRST or MONTH_FIRST) decides; None without it."""
    if first > 12 or first == second or (order == DAY_FIRST and second <= 12):
        return first, second
    return (second, first) if second > 12 or order == MONTH_FIRST else None


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date where it is in a text; a calendar need not have it."""

    at: tuple[int, int]
    """Character span: start and end."""
    form: int
    """The index of its form."""
    parts: Mapping[str, str]
    """The texts of its form's groups, without those that took no part."""
    year: int | None
    month: int | None
    """None also for an unknown name, and where either number may be the day."""
    day: int | None

    @property
    def is_unclear(self) -> bool:
        """Whether it states a month, and it is not known which."""
        return self.month is None and not {"m", "a"}.isdisjoint(self.parts)

    @property
    def date(self) -> PartialDate | None:
        """The date; None if it is unclear, has no year, or does not exist."""
        if self.year is None or self.is_unclear:
            return None
        value = PartialDate(self.year, self.month, self.day)
        return value if value.exists else None


class DateForms:
    """Finds dates of some forms; at one place the first form that matches counts."""

    def __init__(self, *forms: str, before: str = "", after: str = "", flags: int = re.I) -> None:
        """`before` and `after` are patterns of what surrounds a date."""
        numbered = "|".join(
            re.sub(r"\(\?P([<=])([a-z]+)", rf"(?P\g<1>\g<2>_{number}", form)
            for number, form in enumerate(forms)
        )
        self.text = re.sub(r"\(\?P<\w+>", "(?:", f"(?:{'|'.join(forms)})")
        """The pattern without groups and surroundings, for use in a larger one."""
        self.pattern = re.compile(f"{before}(?:{numbered}){after}", flags)
        self._groups: list[list[tuple[str, str]]] = [[] for _ in forms]
        for group in self.pattern.groupindex:
            name, _, number = group.rpartition("_")
            self._groups[int(number)].append((name, group))

    def find(self, text: str, order: str | None = None) -> Iterator[WrittenDate]:
        """The dates in the text, in order; `order` as in `day_and_month`."""
        for match in self.pattern.finditer(text):
            yield self._written(match, order)

    def read(self, text: str, order: str | None = None) -> WrittenDate | None:
        """The whole text as a date; None where it is none of the forms."""
        match = self.pattern.fullmatch(text)
        return None if match is None else self._written(match, order)

    def _written(self, match: re.Match[str], order: str | None) -> WrittenDate:
        assert match.lastgroup is not None, "each form has a group"
        form = int(match.lastgroup.rpartition("_")[2])
        parts = {n: text for n, group in self._groups[form] if (text := match[group]) is not None}
        month = month_number(parts["m"]) if "m" in parts else None
        day = int(parts["d"]) if "d" in parts else None
        if "a" in parts and (both := day_and_month(int(parts["a"]), int(parts["b"]), order)):
            day, month = both
        year = int(parts["y"]) if "y" in parts else None
        return WrittenDate(match.span(), form, parts, year, month, day)


# Numbers in words -------------------------------------------------------------------------------

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBERS = {word: n for n, word in enumerate(_SMALL)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
"""Zero to nineteen, and the tens to ninety."""
TIMES = {"once": 1, "twice": 2, "thrice": 3}
_SCALES = {"thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_ANY = "|".join(sorted([*NUMBERS, "hundred", *_SCALES], key=len, reverse=True))
NUMBER_WORDS = rf"\b(?:{_ANY})(?:(?:[\s-]+(?:and\s+)?)(?:{_ANY})){{0,12}}\b"
"""A number in words; `one hundred and five` is one number."""


def in_words(text: str) -> int | None:
    """The value of a number in words; None where the words are not a number (`five six`)."""
    total = group = 0
    last = 10_000
    words = re.findall(r"[a-z]+", text.lower())
    for word in words:
        if word in _SCALES:
            total, group, last = total + max(group, 1) * _SCALES[word], 0, 10_000
        elif word == "hundred":
            if group >= 10:
                return None
            group, last = max(group, 1) * 100, 100
        elif word != "and":
            value = NUMBERS.get(word)
            # tens follow hundreds, ones follow tens; nothing follows a one or a teen
            if value is None or not (last >= 100 or (20 <= last <= 90 and 1 <= value <= 9)):
                return None
            group, last = group + value, value
    return total + group if words else None
