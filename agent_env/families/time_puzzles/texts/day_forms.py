"""The forms of constraints on the month, the day and the date."""

from __future__ import annotations

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.texts import vocabulary as vocab
from agent_env.families.time_puzzles.texts.meanings import DateSpans, Ends, Form, Match, Meaning
from agent_env.temporal.systems.catalogue import open_calendar, open_day_names

CALENDARS = {
    "hebrew": "hebrew", "islamic": "islamic", "persian": "persian", "ethiopian": "ethiopic",
    "coptic": "coptic", "indian national": "indian-civil",
}  # fmt: skip
"""The calendar of each adjective."""
LESS = ("before", "less", "smaller", "lower", "earlier")


def _month(match: Match) -> Meaning:
    return ft.Month(month=vocab.month_number(match["month"]))


def _season(match: Match) -> Meaning:
    return ft.Season.model_validate({"season": vocab.SEASONS[match["season"].casefold()]})


def _lunar_month(match: Match) -> Meaning:
    return ft.LunarMonth(month=vocab.number_of(match["n"]))


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
    first = vocab.month_number(match["month1"]), int(match["day1"])
    last = vocab.month_number(match["month2"]), int(match["day2"])
    return ft.WesternZodiac(sign=sign) if ft.SIGNS[sign] == (first, last) else None


def _weekdays(match: Match) -> Meaning:
    names = vocab.weekdays_in(match["list"])
    if len(names) == 1:
        return ft.OnWeekday.model_validate({"weekday": names[0]})
    return ft.MultiWeekday.model_validate({"value": names})


def _nth_weekday(match: Match) -> Meaning:
    is_last = match["last"] is not None
    kind = ft.WeekdayInMonth if match["unit"].casefold() == "month" else ft.WeekdayInYear
    fields = {
        "direction": "last" if is_last or match["back"] else "first",
        "weekday": match["weekday"].capitalize(),
        "n": 1 if is_last else vocab.number_of(match["n"]),
    }
    return kind.model_validate(fields)


def _day_of_month(match: Match) -> Meaning:
    return ft.DayOfMonthSpecific(day=int(match["day"]))


def _day_range(match: Match) -> Meaning:
    is_less = match["side"].casefold() in LESS
    value = int(match["day"])
    if match.groupdict().get("on"):  # the day itself included
        value += 1 if is_less else -1
    fields = {"operator": "<" if is_less else ">", "value": value}
    return ft.DayOfMonthRange.model_validate(fields)


def _day_of_year(match: Match) -> Meaning:
    return ft.DayOfYear(day=int(match["day"]))


def _church_day(match: Match) -> Meaning | None:
    names = {name.casefold(): name for name in open_day_names("easter").names}
    name = names.get(match["name"].casefold())
    return None if name is None else ft.ChurchDay(name=name)


def _solar_term(match: Match) -> Meaning | None:
    name = match["name"].capitalize()
    return ft.SolarTerm(name=name) if name in open_day_names("solar-terms").names else None


def _dates(match: Match) -> Meaning | None:
    dates = vocab.dates_in(match["dates"])
    return DateSpans(tuple((day, day) for day in dates)) if dates else None


def _spans(match: Match) -> Meaning | None:
    return _pairs(match["spans"], "included")


def _inner_spans(match: Match) -> Meaning | None:
    return _pairs(match["spans"], "excluded")


def _between(match: Match) -> Meaning | None:
    words = (match["ends"] or "").casefold()
    if not words:
        return _pairs(match["spans"], "unstated")
    return _pairs(match["spans"], "excluded" if "not" in words or "ex" in words else "included")


def _pairs(text: str, ends: Ends) -> Meaning | None:
    dates = vocab.dates_in(text)
    spans = tuple(zip(dates[::2], dates[1::2], strict=False))
    are_ordered = all(first <= last for first, last in spans)
    return DateSpans(spans, ends) if spans and are_ordered and not len(dates) % 2 else None


_DATE = vocab.DATE
_WEEKDAY = rf"(?:{vocab.WEEKDAY})"
_IT = (
    r"(?:(?:(?:it|the date|that day|the day|this date)(?: is| was| falls| fell| lies)"
    r"|it's) )?(?:on |in )?"
)
_TH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)"
_OF_MONTH = r" (?:of|in) (?:the|its|that|this) month"
_OF_YEAR = r" (?:of|in) (?:the|its|that|this) year"
_SIGN_SPAN = (
    rf"(?P<day1>\d{{1,2}}) (?P<month1>{vocab.MONTH}) to "
    rf"(?P<day2>\d{{1,2}}) (?P<month2>{vocab.MONTH})"
)
_LUNAR = r"(?:chinese )?(?:lunar |lunisolar )?(?:calendar|year)"
_ENDS = (
    r"(?:,? \(?(?:both )?(?:ends |days )?"
    r"(?P<ends>included|inclusive|excluded|exclusive|not included|not counted)\)?)?"
)
_AFTER = rf"after {_DATE} and before {_DATE}"
_BETWEEN = rf"{_DATE} (?:and|to|through|until) {_DATE}"
_OR = r"(?:, or |; or | or |; |, )"

MONTH_FORMS: tuple[Form, ...] = (
    (
        rf"(?:{_IT}(?:a day in |the month of )?|the month is )(?P<month>{vocab.MONTH})",
        _month,
    ),
    (
        rf"(?:{_IT}|the season is )(?:the )?(?P<season>{vocab.either(vocab.SEASONS)})"
        r"(?: season|time)?",
        _season,
    ),
    (
        rf"(?:in the {_LUNAR}, )?(?:{_IT}|the month is )(?:the )?(?:chinese )?lunar month "
        rf"(?P<n>\d{{1,3}})(?: (?:of|in) the {_LUNAR})?"
        r"(?: \(a leap month of that number included\))?",
        _lunar_month,
    ),
    (
        rf"(?:in the {_LUNAR}, )?{_IT}the (?P<n>{vocab.NTH}) "
        rf"(?:month (?:of|in) the {_LUNAR}|(?:chinese )?lunar month)(?:, leap or not)?",
        _lunar_month,
    ),
    (r"the (?:chinese )?lunar month is (?:the )?(?P<n>\d{1,3})(?:st|nd|rd|th)?", _lunar_month),
    (
        rf"in the (?P<calendar>{vocab.either(CALENDARS)}) calendar(?: \([^()]*+\))?, the date "
        r"falls in the month of (?P<name>[a-z '-]+)",
        _calendar_month,
    ),
    (
        rf"the date falls under the western zodiac sign (?P<sign>{vocab.either(ft.SIGNS)}), taken "
        rf"as {_SIGN_SPAN}",
        _sign,
    ),
    (
        rf"the day lies within {_SIGN_SPAN}, the span of (?P<sign>{vocab.either(ft.SIGNS)})",
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
        rf"{_IT}(?:the )?(?:(?P<n>{vocab.NTH})(?P<back>[- ]to[- ]last|[- ]last)?|(?P<last>last)) "
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
    (rf"{_IT}(?:day )?(?:the )?{_TH}(?: day)?(?:{_OF_MONTH})?", _day_of_month),
    (
        r"the day(?: of the month| number within the month)? is (?:the )?"
        r"(?P<day>\d{1,2})(?:st|nd|rd|th)?",
        _day_of_month,
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
        _day_of_year,
    ),
    (rf"{_IT}the (?P<day>\d{{1,3}})(?:st|nd|rd|th) day{_OF_YEAR}", _day_of_year),
    (r"(?:the date|it) is (?P<name>[a-z ]+?)(?: of the western churches)?", _church_day),
    (
        r"on that date, by china standard time, the solar term (?P<name>[a-z]+) of the chinese "
        r"calendar begins",
        _solar_term,
    ),
)
DATE_FORMS: tuple[Form, ...] = (
    (
        r"(?:the date|it) is (?:one of these: |one of |either |on )?"
        rf"(?P<dates>{_DATE}(?:(?:,? or |,? and |; |, ){_DATE})*+)",
        _dates,
    ),
    (
        r"the date falls in one of these spans(?: \(both ends included\))?: "
        rf"(?P<spans>{_DATE} to {_DATE}(?:; {_DATE} to {_DATE})*+)",
        _spans,
    ),
    (rf"{_IT}(?P<spans>{_AFTER}(?:{_OR}{_AFTER})*+)", _inner_spans),
    (rf"{_IT}(?P<spans>on or after {_DATE} and on or before {_DATE})", _spans),
    (
        rf"{_IT}(?:between|from|within) (?P<spans>{_BETWEEN}"
        rf"(?:{_OR}(?:(?:is )?(?:between|from) )?{_BETWEEN})*+){_ENDS}",
        _between,
    ),
)
