"""The one grammar of constraint texts: a sentence, ours or foreign, becomes a `Meaning`.

Each form matches a whole sentence, so that a text is either understood to its last word or unread
(None). The forms are those of our own wordings, of the published puzzles (implicit and explicit),
and common rephrasings of both: on the year, on month, day and date, and those that need a lookup.
A meaning is a fact, or one of four conditions that no fact type has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, Literal

from pydantic import ValidationError

from agent_env.families.time_puzzles import facts as ft
from agent_env.sdk.records import Record
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names
from agent_env.temporal.systems.japanese import ERAS
from agent_env.temporal.written import MONTH, DateForms, month_number

Ends = Literal["included", "excluded", "unstated"]


@dataclass(frozen=True, slots=True)
class YearSet:
    years: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class YearRule:
    """The year leaves a remainder, within optional bounds, with exceptions."""

    modulus: int = 1
    remainder: int = 0
    first: int | None = None
    last: int | None = None
    """Included, as `first`."""
    exceptions: tuple[int, ...] = ()

    def holds(self, year: int) -> bool:
        return (
            year % self.modulus == self.remainder
            and (self.first is None or year >= self.first)
            and (self.last is None or year <= self.last)
            and year not in self.exceptions
        )


@dataclass(frozen=True, slots=True)
class DateSpans:
    """The date lies in one of these spans; a single date is a span of one day."""

    spans: tuple[tuple[date, date], ...]
    ends: Ends = "included"
    """Whether the first and last day of each span belong to it; `unstated` ends are included."""


@dataclass(frozen=True, slots=True)
class EventMention:
    """The date has its year, month or day of the month in common with an event to look up."""

    phrase: str
    """What the text calls the event: a noun phrase, or a clause."""
    edge: Literal["first", "last", "any"]
    """Its first day, its last day, or any of its years."""
    level: ft.Level

    @property
    def aspect(self) -> str:
        """The aspect of a `KbEvent` with this edge."""
        return {"first": "start", "last": "end", "any": "multi_year"}[self.edge]


Meaning = ft.Fact | YearSet | YearRule | DateSpans | EventMention

Match = re.Match[str]
Form = tuple[str, Callable[[Match], Meaning | None]]
"""A pattern for a whole sentence, and the meaning of its match; None leaves it to other forms."""


ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
    "eleventh", "twelfth",
)  # fmt: skip
OTHER_ANIMALS = {
    "mouse": "Rat", "cow": "Ox", "buffalo": "Ox", "hare": "Rabbit", "sheep": "Goat", "ram": "Goat",
    "cock": "Rooster", "chicken": "Rooster", "boar": "Pig",
}  # fmt: skip
ANIMALS = {name.casefold(): name for name in ft.ANIMALS} | OTHER_ANIMALS
SEASONS = {name: name for name in ft.SEASONS} | {"fall": "autumn"}

WEEKDAY = "|".join(ft.WEEKDAYS)
NTH = rf"(?:\d{{1,3}}(?:st|nd|rd|th)|{'|'.join(ORDINALS)})"
DATES = DateForms(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)",
    rf"(?P<m>{MONTH}) (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})",
    rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<m>{MONTH}),? (?P<y>\d{{4}})",
    before=r"\b",
)
_YEARS = r"(?:between \d{4} and \d{4}|\d{4}(?: ?(?:-|~|to|through) ?\d{4})?)"
YEAR_LIST = rf"{_YEARS}(?:(?:, | ?; ?|,? or |,? and ){_YEARS})*+"
"""Years, and ranges of years with both ends included."""


def either(names: Iterable[str]) -> str:
    """A pattern of any of the names."""
    return "|".join(re.escape(name) for name in names)


def number_of(text: str) -> int:
    """The value of `3rd` or `third`."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else ORDINALS.index(text.casefold()) + 1


def years_in(text: str) -> tuple[int, ...]:
    """The years of a text that matches YEAR_LIST, sorted and distinct; none of year 0."""
    years: set[int] = set()
    pattern = r"between (\d{4}) and (\d{4})|(\d{4})(?: ?(?:-|~|to|through) ?(\d{4}))?"
    for low, high, first, last in re.findall(pattern, text, re.I):
        years.update(range(int(low or first), int(high or last or first) + 1))
    return tuple(sorted(years - {0}))


def dates_in(text: str) -> tuple[date, ...]:
    """The dates of a text in order; none if one of them does not exist."""
    found = DATES.find(text)
    try:
        return tuple(date(each.year or 0, each.month or 0, each.day or 0) for each in found)
    except ValueError:
        return ()


def _fact(kind: type[Record], **reads: Callable[[str], object]) -> Callable[[Match], Any]:
    """Builds a fact of this type from groups of its fields' names, each read by its function."""
    return lambda match: kind.model_validate({n: read(match[n]) for n, read in reads.items()})


def _event(match: Match) -> Meaning:
    what = match["what"].casefold()
    level: Any = "day" if what.startswith("day") else what.removeprefix("calendar ")
    edge: Any = match["edge"].casefold()
    return EventMention(match["event"], edge, level)


def _years_of_event(match: Match) -> Meaning:
    return EventMention(match["event"], "any", "year")


_NO_NAME = re.compile(r"\b(?:not|never|nobody|that|it|is|was|were|when|while|who|and|or)\b", re.I)
"""Words that show that a longer sentence stands where a name is expected."""


def _person(kind: type[Record]) -> Callable[[Match], Any]:
    build = _fact(kind, person=str)
    return lambda match: None if _NO_NAME.search(match["person"]) else build(match)


_EDGE = r"(?P<edge>first|last) day (?:that|of|when|on which) (?P<event>.+?)"
_COUNTRY = r"(?:(?:the )?(?:united states(?: of america)?|u\.s\.(?:a\.)?|usa?))"
_TERM = (
    r"(?: on that date \(not counting the first and last day of a term\)"
    r"|, in the midst of a term \(its first and last day do not count\))?"
)

LOOKUP_FORMS: tuple[Form, ...] = (
    (
        r"(?:it|the date) (?:is (?:in |on )?|has )the same "
        rf"(?P<what>day of the month|year|month|day)(?: of the year)? as the {_EDGE}",
        _event,
    ),
    (
        r"the (?P<what>day of the month|month|year) is the same as that of the "
        rf"{_EDGE}(?: \(in any year\))?",
        _event,
    ),
    (
        r"it is the (?P<what>calendar month|month|year)(?:, of whatever year,)? in which the "
        rf"{_EDGE} fell",
        _event,
    ),
    (rf"it has the (?P<what>day number within the month) that the {_EDGE} had", _event),
    (
        r"(?:it is a year|the year is one of those|it is one of the years) (?:in|during) which "
        r"(?P<event>.+?)(?: took place)?(?:, in whole or in part|, at least in part)?",
        _years_of_event,
    ),
    (
        r"(?:that year saw at least part of|for at least part of that year,) (?P<event>.+)",
        _years_of_event,
    ),
    (
        r"on that day (?P<person>.+?) had been born and had not died yet"
        r"(?: \(neither day itself counts\))?",
        _person(ft.PersonAlive),
    ),
    (
        r"(?P<person>.+?) (?:is|was) (?:still )?alive"
        r"(?: on that date \(not counting the days of birth and death\))?",
        _person(ft.PersonAlive),
    ),
    (
        rf"(?P<person>.+?) (?:is|was) (?:the )?president of {_COUNTRY}{_TERM}",
        _person(ft.UsPresident),
    ),
    (rf"the president of {_COUNTRY} (?:is|was) (?P<person>.+?){_TERM}", _person(ft.UsPresident)),
    (rf"(?P<person>.+?) (?:is|was) (?:the )?{_COUNTRY} president", _person(ft.UsPresident)),
)


def _year_set(match: Match) -> Meaning | None:
    years = years_in(match["years"])
    if len(years) == 1:
        return ft.ExplicitYear(year=years[0])
    return YearSet(years) if years else None


def _year_range(match: Match) -> Meaning | None:
    first, last = int(match["first"]), int(match["last"])
    return ft.YearRange(start=first, end=last) if 1 <= first <= last else None


def _decade(match: Match) -> Meaning | None:
    first = int(match["decade"])
    stated = match["first"], match["last"]
    if first % 10 or not first or stated not in ((None, None), (str(first), str(first + 9))):
        return None
    return ft.Decade(decade=first)


_REMAINDER = r"(?:the )?year (?:%|mod|modulo) (?P<modulus>\d{1,4}) ?(?:==?|is) ?(?P<rest>\d{1,4})"
_BOUND = r"(?:the )?year ?(?P<operator>>=|<=|>|<|≥|≤) ?(?P<bound>\d{4})"
_EXCEPT = rf"(?:(?:the )?year )?(?:is not|not|!=) (?:one of )?(?P<exceptions>{YEAR_LIST})"
_ATOM = rf"(?:{_REMAINDER}|{_BOUND}|{_EXCEPT})"
_ANY_ATOM = re.sub(r"\?P<\w+>", "?:", _ATOM)


def _year_rule(match: Match) -> Meaning | None:
    fields: dict[str, Any] = {"exceptions": ()}
    for atom in re.finditer(_ATOM, match["rule"], re.I):
        if atom["modulus"]:
            if "modulus" in fields or not int(atom["modulus"]):
                return None
            fields |= {"modulus": int(atom["modulus"]), "remainder": int(atom["rest"])}
        elif atom["operator"]:
            fields |= _bound(atom["operator"], int(atom["bound"]))
        else:
            fields["exceptions"] += years_in(atom["exceptions"])
    return YearRule(**fields)


def _bound(operator: str, year: int) -> dict[str, int]:
    if operator in (">", ">=", "≥"):
        return {"first": year + (operator == ">")}
    return {"last": year - (operator == "<")}


_IN = (
    r"(?:(?:(?:it|the date|the year|that day) (?:is|was|falls|lies|belongs|happened|occurred)"
    r"(?: in| to)?|in) )?"
)
_ZODIAC = _fact(ft.ChineseZodiac, animal=lambda name: ANIMALS[name.casefold()])
_ANIMAL = rf"(?P<animal>{either(ANIMALS)})"
_CHINESE = r"(?:chinese |lunar )*+(?:zodiac|calendar)"
_OLYMPICS = r"(?:the )?(?:modern )?summer olympic(?:s| games)?"
_CUP = r"(?:the )?(?:fifa |men's |football )++world cup"

YEAR_FORMS: tuple[Form, ...] = (
    (
        rf"(?:{_IN}|the year is )(?:the year )?(?P<year>\d{{4}})",
        lambda match: ft.ExplicitYear(year=int(match["year"])) if int(match["year"]) else None,
    ),
    (
        r"(?:the year|the date|it) (?:is|lies|falls) (?:between|from) (?P<first>\d{4}) (?:and|to) "
        r"(?P<last>\d{4})(?:,? \(?(?:both )?(?:included|inclusive)\)?)?",
        _year_range,
    ),
    (r"the year is at least (?P<first>\d{4}) and at most (?P<last>\d{4})", _year_range),
    (
        r"the year (?:is|lies) (?:either |(?:one|any) of (?:these: )?|in |in one of )?"
        rf"\[?(?P<years>{YEAR_LIST})\]?",
        _year_set,
    ),
    (
        rf"{_IN}the (?P<decade>\d{{4}})'?s"
        r"(?:(?:, that is,?| \(|,) ?(?P<first>\d{4})(?: to |-)(?P<last>\d{4})\)?)?",
        _decade,
    ),
    (
        r"the year (?:satisfies|is such that) "
        rf"(?P<rule>{_ANY_ATOM}(?:(?:, and |, | and ){_ANY_ATOM}){{0,4}}+)",
        _year_rule,
    ),
    (rf"(?P<rule>the year is not (?:one of )?{YEAR_LIST})", _year_rule),
    (
        rf"(?:{_IN}a leap year|february has 29 days in that year)",
        lambda match: ft.LeapYear(),
    ),
    (
        rf"(?:{_IN}an? {_OLYMPICS} year|{_OLYMPICS} (?:took place|were held) in that year"
        rf"|that year saw {_OLYMPICS}|{_IN}a year of {_OLYMPICS})",
        lambda match: ft.RecurringEvent(name="summer_olympics"),
    ),
    (
        rf"(?:{_IN}an? {_CUP} year|(?:the final tournament of )?{_CUP} (?:took place|was held) in "
        rf"that year|men played a football world cup in that year|{_IN}a year of {_CUP})",
        lambda match: ft.RecurringEvent(name="world_cup"),
    ),
    (
        rf"(?:in the {_CHINESE}, )?(?:{_IN}|the (?:chinese |lunar |zodiac )*+year is )"
        rf"(?:an? |the )?(?:chinese )?(?:zodiac )?year of the {_ANIMAL}"
        r"(?: \(years begin at chinese new year\))?"
        rf"(?:,? \(?(?:(?:in|of|by|according to) (?:the )?)?{_CHINESE}\)?)?",
        _ZODIAC,
    ),
    (
        rf"it is the {_ANIMAL}'s year of the chinese zodiac(?:, counted from chinese new year)?",
        _ZODIAC,
    ),
    (
        r"the chinese zodiac(?: sign| animal)?(?: of the year)? is (?:the )?"
        rf"{_ANIMAL}",
        _ZODIAC,
    ),
    (
        rf"in japan, the date falls in the (?P<era>{either(e.name for e in ERAS[:4])}) era"
        r"(?: \(a day on which the era changed counts as the new era\))?",
        _fact(ft.JapaneseEra, era=str.capitalize),
    ),
)


CALENDARS = {
    "hebrew": "hebrew", "islamic": "islamic", "persian": "persian", "ethiopian": "ethiopic",
    "coptic": "coptic", "indian national": "indian-civil",
}  # fmt: skip
"""The calendar of each adjective."""
LESS = ("before", "less", "smaller", "lower", "earlier")


def _calendar_month(match: Match) -> Meaning | None:
    calendar = CALENDARS[match["calendar"].casefold()]
    names = [name.casefold() for name in open_calendar(calendar).months]
    if (name := match["name"].casefold()) not in names:
        return None
    fields = {"calendar": calendar, "month": names.index(name) + 1}
    return ft.CalendarMonth.model_validate(fields)


def _sign(match: Match) -> Meaning | None:
    """The sign, if the text states the days that our facts give it."""
    sign = match["sign"].capitalize()
    first = month_number(match["month1"]), int(match["day1"])
    last = month_number(match["month2"]), int(match["day2"])
    return ft.WesternZodiac(sign=sign) if ft.SIGNS[sign] == (first, last) else None


def _weekdays(match: Match) -> Meaning:
    names = tuple(
        dict.fromkeys(name.capitalize() for name in re.findall(WEEKDAY, match["list"], re.I))
    )
    if len(names) == 1:
        return ft.OnWeekday.model_validate({"weekday": names[0]})
    return ft.MultiWeekday.model_validate({"value": names})


def _nth_weekday(match: Match) -> Meaning:
    is_last = match["last"] is not None
    kind = ft.WeekdayInMonth if match["unit"].casefold() == "month" else ft.WeekdayInYear
    fields = {
        "direction": "last" if is_last or match["back"] else "first",
        "weekday": match["weekday"].capitalize(),
        "n": 1 if is_last else number_of(match["n"]),
    }
    return kind.model_validate(fields)


def _day_range(match: Match) -> Meaning:
    is_less = match["side"].casefold() in LESS
    value = int(match["day"])
    if match.groupdict().get("on"):  # the day itself included
        value += 1 if is_less else -1
    fields = {"operator": "<" if is_less else ">", "value": value}
    return ft.DayOfMonthRange.model_validate(fields)


def _named(kind: type[Record], system: str) -> Callable[[Match], Any]:
    """A day that a calendar names."""

    def build(match: Match) -> Any:
        names = {name.casefold(): name for name in open_day_names(system).names}
        name = names.get(match["name"].casefold())
        return None if name is None else kind.model_validate({"name": name})

    return build


def _dates(match: Match) -> Meaning | None:
    dates = dates_in(match["dates"])
    return DateSpans(tuple((day, day) for day in dates)) if dates else None


def _spans(ends: Ends) -> Callable[[Match], Meaning | None]:
    return lambda match: _pairs(match["spans"], ends)


def _between(match: Match) -> Meaning | None:
    words = (match["ends"] or "").casefold()
    if not words:
        return _pairs(match["spans"], "unstated")
    return _pairs(match["spans"], "excluded" if "not" in words or "ex" in words else "included")


def _pairs(text: str, ends: Ends) -> Meaning | None:
    dates = dates_in(text)
    spans = tuple(zip(dates[::2], dates[1::2], strict=False))
    are_ordered = all(first <= last for first, last in spans)
    return DateSpans(spans, ends) if spans and are_ordered and not len(dates) % 2 else None


_DATE = DATES.text
_WEEKDAY = rf"(?:{WEEKDAY})"
_IT = (
    r"(?:(?:(?:it|the date|that day|the day|this date)(?: is| was| falls| fell| lies)"
    r"|it's) )?(?:on |in )?"
)
_TH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)"
_OF_MONTH = r" (?:of|in) (?:the|its|that|this) month"
_OF_YEAR = r" (?:of|in) (?:the|its|that|this) year"
_SIGN_SPAN = (
    rf"(?P<day1>\d{{1,2}}) (?P<month1>{MONTH}) to "
    rf"(?P<day2>\d{{1,2}}) (?P<month2>{MONTH})"
)
_LUNAR = r"(?:chinese )?(?:lunar |lunisolar )?(?:calendar|year)"
_ENDS = (
    r"(?:,? \(?(?:both )?(?:ends |days )?"
    r"(?P<ends>included|inclusive|excluded|exclusive|not included|not counted)\)?)?"
)
_AFTER = rf"after {_DATE} and before {_DATE}"
_BETWEEN = rf"{_DATE} (?:and|to|through|until) {_DATE}"
_OR = r"(?:, or |; or | or |; |, )"

_LUNAR_MONTH = _fact(ft.LunarMonth, month=number_of)
_DAY_OF_MONTH = _fact(ft.DayOfMonthSpecific, day=int)
_DAY_OF_YEAR = _fact(ft.DayOfYear, day=int)

MONTH_FORMS: tuple[Form, ...] = (
    (
        rf"(?:{_IT}(?:a day in |the month of )?|the month is )(?P<month>{MONTH})",
        _fact(ft.Month, month=month_number),
    ),
    (
        rf"(?:{_IT}|the season is )(?:the )?(?P<season>{either(SEASONS)})"
        r"(?: season|time)?",
        _fact(ft.Season, season=lambda name: SEASONS[name.casefold()]),
    ),
    (
        rf"(?:in the {_LUNAR}, )?(?:{_IT}|the month is )(?:the )?(?:chinese )?lunar month "
        rf"(?P<month>\d{{1,3}})(?: (?:of|in) the {_LUNAR})?"
        r"(?: \(leap month \d{1,3} counts too\))?",
        _LUNAR_MONTH,
    ),
    (
        rf"(?:in the {_LUNAR}, )?{_IT}the (?P<month>{NTH}) "
        rf"(?:month (?:of|in) the {_LUNAR}|(?:chinese )?lunar month)(?:, leap or not)?",
        _LUNAR_MONTH,
    ),
    (r"the (?:chinese )?lunar month is (?:the )?(?P<month>\d{1,3})(?:st|nd|rd|th)?", _LUNAR_MONTH),
    (
        rf"in the (?P<calendar>{either(CALENDARS)}) calendar(?: \([^()]*+\))?, the date "
        r"falls in the month of (?P<name>[a-z '-]+)",
        _calendar_month,
    ),
    (
        rf"the date falls under the zodiac sign (?P<sign>{either(ft.SIGNS)}) \({_SIGN_SPAN}\)",
        _sign,
    ),
    (
        rf"the day lies within {_SIGN_SPAN}, the span of (?P<sign>{either(ft.SIGNS)})",
        _sign,
    ),
)
DAY_FORMS: tuple[Form, ...] = (
    (
        rf"(?:{_IT}|the (?:weekday|day of the week) is )"
        r"(?:(?:one|any) of (?:(?:these|the following) (?:weekdays|days): )?|either )?"
        rf"(?P<list>(?:(?:a|on a|on) )?{_WEEKDAY}"
        rf"(?:(?:, or |, | or |/)(?:(?:a|on a|on) )?{_WEEKDAY})*+)",
        _weekdays,
    ),
    (rf"{_IT}one of (?P<list>{_WEEKDAY}(?:(?:, and |, | and ){_WEEKDAY})++)", _weekdays),
    (
        rf"{_IT}(?:the )?(?:(?P<n>{NTH})(?P<back>[- ]to[- ]last|[- ]last)?|(?P<last>last)) "
        rf"(?P<weekday>{_WEEKDAY}) (?:of|in) (?:the|its|that|this) (?P<unit>month|year)",
        _nth_weekday,
    ),
    (
        rf"(?:{_IT}(?:the )?first day{_OF_MONTH}|a new month begins on that day)",
        lambda match: ft.FirstDayOfMonth(),
    ),
    (
        rf"(?:{_IT}(?:the )?last day{_OF_MONTH}|on the next day another month begins)",
        lambda match: ft.LastDayOfMonth(),
    ),
    (rf"{_IT}(?:day )?(?:the )?{_TH}(?: day)?(?:{_OF_MONTH})?", _DAY_OF_MONTH),
    (
        r"the day(?: of the month| number within the month)? is (?:the )?"
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?",
        _DAY_OF_MONTH,
    ),
    (
        rf"{_IT}(?P<on>on or )?(?P<side>before|after) the {_TH}(?: day)?(?:{_OF_MONTH})?",
        _day_range,
    ),
    (
        r"the day of the month is (?P<side>less|smaller|lower|greater|larger|higher|later|earlier)"
        r" than (?P<on>or equal to )?(?:the )?(?P<day>\d{1,2})(?:st|nd|rd|th)?",
        _day_range,
    ),
    (rf"{_IT}(?P<side>earlier|later) in the month than the {_TH}", _day_range),
    (
        rf"(?:counting 1 january as day 1, )?{_IT}day (?P<day>\d{{1,3}}){_OF_YEAR}"
        r"(?:, 1 january being day 1)?",
        _DAY_OF_YEAR,
    ),
    (rf"{_IT}the (?P<day>\d{{1,3}})(?:st|nd|rd|th) day{_OF_YEAR}", _DAY_OF_YEAR),
    (
        r"(?:the date|it) is (?P<name>[a-z ]+?)(?: in the western churches)?",
        _named(ft.ChurchDay, "easter"),
    ),
    (
        r"the solar term (?P<name>[a-z]+) of the chinese calendar begins on that date "
        r"\(china standard time\)",
        _named(ft.SolarTerm, "solar-terms"),
    ),
)
DATE_FORMS: tuple[Form, ...] = (
    (
        r"(?:the date|it) is (?:one of these: |one of |either |on )?"
        rf"(?P<dates>{_DATE}(?:(?:,? or |,? and |; |, ){_DATE})*+)",
        _dates,
    ),
    (
        r"the date is in one of these periods \(inclusive\): "
        rf"(?P<spans>{_DATE} to {_DATE}(?:; {_DATE} to {_DATE})*+)",
        _spans("included"),
    ),
    (rf"{_IT}(?P<spans>{_AFTER}(?:{_OR}{_AFTER})*+)", _spans("excluded")),
    (rf"{_IT}(?P<spans>on or after {_DATE} and on or before {_DATE})", _spans("included")),
    (
        rf"{_IT}(?:between|from|within) (?P<spans>{_BETWEEN}"
        rf"(?:{_OR}(?:(?:is )?(?:between|from) )?{_BETWEEN})*+){_ENDS}",
        _between,
    ),
)


LONGEST = 1000
"""Characters of the longest text that is read."""
_FORMS: tuple[Form, ...] = (*YEAR_FORMS, *MONTH_FORMS, *DAY_FORMS, *DATE_FORMS, *LOOKUP_FORMS)


@lru_cache(maxsize=8192)
def compile_text(text: str) -> Meaning | None:
    """The meaning of a constraint's sentence; None if any part of it is not understood."""
    if len(text) > LONGEST:
        return None
    sentence = _normal(text)
    for pattern, build in _FORMS:
        if (match := re.fullmatch(pattern, sentence, re.I)) is None:
            continue
        try:
            meaning = build(match)
        except ValidationError:  # a number out of range, such as the 32nd of a month
            return None
        if meaning is not None:
            return meaning
    return None


def _normal(text: str) -> str:
    """The sentence with plain spaces, quotes and dashes, without its full stop."""
    for marks, plain in (("’‘`", "'"), ("–—−‐‑", "-"), ("“”", '"')):
        text = re.sub(f"[{marks}]", plain, text)
    return " ".join(text.split()).removesuffix(".").rstrip()
