"""Parses one line or one value as an amount, a time of day or a date, by the AnswerSpec; numbers as
people and models write them: `1,095`, `−5`, `2.5`, `twenty-five`."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from agent_env.families.temp_answers.scoring.answer_spec import (
    Amount,
    AnswerSpec,
    Exact,
    Outcome,
    ParsedDate,
    TimeAnswer,
    as_amount,
    bounds,
    days_from_civil,
    find_dates,
    impossible,
    of_parts,
    parse_unit,
    unparsable,
    whole,
)
from agent_env.features.answers.hedges import hedge
from agent_env.features.answers.notations import displacement
from agent_env.temporal.written import NUMBER_WORDS, SHORT_MONTH, in_words

DIGITS = (
    r"(?<![\w.])[-+−]?\s?(?:\d{1,3}(?:[,\u202f' _]\d{3}){1,14}|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?"
)
"""A number in digits, with its sign and with separators between groups of three."""
NUMBER = rf"(?:{DIGITS}|{NUMBER_WORDS})"
_SEPARATORS = re.compile(r"[,\u202f' _\s+]")
MOST_DIGITS = 40
"""Longer runs of digits are no amount of time."""


def value_of(text: str) -> Amount | None:
    """The value of a text that matches NUMBER; None for another text and for 1e30 and more."""
    plain = _SEPARATORS.sub("", text.replace("−", "-"))
    if not any(character.isdigit() for character in plain):
        return in_words(text)
    if len(plain) > MOST_DIGITS:
        return None
    if re.fullmatch(r"-?\d+", plain):
        return int(plain)
    try:
        number = float(plain)
    except ValueError:
        return None
    return whole(number) if abs(number) < 1e30 else None


LONGEST = 1000
"""Characters of a line; longer ones are unparsable."""
REFUSAL = re.compile(
    r"\b(?:unanswerable|unknown|not\s+(?:possible|available|enough|specified|provided|given|known)"
    r"|(?:can(?:no|')t|cannot|could\s+not|unable\s+to)\s+(?:be\s+)?"
    r"(?:determine|answer|calculate|provide|find|help)|insufficient|n/a|i(?:'m| am) sorry)",
    re.I,
)
_UNIT = (
    r"(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|yrs?|mos?|wks?|hrs?|mins?|secs?|h|s)"
)
_QUANTITY = re.compile(
    rf"(?P<n>{NUMBER})\s*+(?:[-‐]\s*+)?(?P<u>{_UNIT})(?![a-z])(?P<old>[\s-]+old)?", re.I
)
PLAIN = re.compile(NUMBER, re.I)
_WHOLE = re.compile(r"[-+−]?\d{1,15}")
_RANGE = re.compile(
    rf"(?:{NUMBER}\s*+(?:{_UNIT}\s*+)?(?:to|or|and)\s*{NUMBER}|{DIGITS}\s*[-–—]\s*{DIGITS})"
    rf"\s*{_UNIT}(?![a-z])",
    re.I,
)
_NOTE = re.compile(r"\((?:not|instead of|rather than|and not)\b[^()]*\)", re.I)
_AGE = re.compile(rf"\b(?:at\s+(?:the\s+)?age(?:\s+of)?|aged)\s+(?P<n>{NUMBER})", re.I)
_AMOUNT_OR_DATE = re.compile(
    rf"(?:\b(?!maybe)(?:{SHORT_MONTH})[a-z]{{0,6}}\.?\s{{1,3}}(?:the\s)?)?\d++"
    r"(?:[^\w.;!?\n]{0,3}(?!not?\b|or\b)(?:[a-z]{1,9}[\s,]{1,3})?\d++)*+",
    re.I,
)
_JOINS = re.compile(r"[\s,;&]*+(?:(?:and|plus)[\s,;&]*+)?", re.I)
_CLOCK = re.compile(
    r"(?P<sign>[-−])?(?<![\d:])(?P<a>\d{1,9}):(?P<b>\d{2})(?::(?P<c>\d{2}(?:\.\d+)?))?(?![\d:])"
    r"\s*(?P<half>[ap]\.?m\b\.?)?",
    re.I,
)
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*|\\boxed\{([^{}]+)\}")


@lru_cache(maxsize=10_000)
def read_text(text: str, spec: AnswerSpec) -> TimeAnswer:
    """The parsed answer of one line or one value; cached, because models give the same answers."""
    if len(text) > LONGEST:
        return unparsable("longer than an answer")
    if spec.kind in ("number", "duration") and _WHOLE.fullmatch(text):
        return of_number(int(text.replace("−", "-")), spec)
    answer = _read_plain(text, spec)
    if answer.outcome == "unparsable":
        emphases = {a or b for a, b in _EMPHASIS.findall(text)}
        if len(emphases) == 1 and (inner := _read_plain(emphases.pop(), spec)).is_parsed:
            answer = inner
    if answer.is_parsed and (why := _hedge(text)):
        answer = unparsable(why)
    if answer.outcome == "unparsable" and REFUSAL.search(text):
        return TimeAnswer("refused", rule=answer.rule)
    return answer


def _hedge(text: str) -> str:
    """Why the text gives none of the amounts or dates in it; remarks in brackets aside."""
    plain = _NOTE.sub(" ", text)
    spans = [match.span() for match in _AMOUNT_OR_DATE.finditer(plain)]
    return hedge(plain, spans or [(0, len(plain))])


def _read_plain(text: str, spec: AnswerSpec) -> TimeAnswer:
    plain = (
        re.sub(r"[*`$\\~]|(?<!\d)_|_(?!\d)", " ", _NOTE.sub(" ", text))
        .strip()
        .strip("\"'“”")
        .rstrip(".!")
    )
    of_day = spec.kind == "time"
    if of_day or (spec.kind == "duration" and _CLOCK.search(plain) is not None):
        seconds = read_clock(plain, spec, of_day)
        if seconds is None:
            return unparsable("no time of day" if of_day else "not a time")
        ends = None if of_day else bounds(seconds, "seconds", spec.unit)
        if ends is None:
            return TimeAnswer("parsed", seconds, "clock")
        return of_parts(*ends, ["seconds"], spec)
    if spec.kind in ("number", "duration"):
        return _amount(plain, spec)
    # the only date, month or year; one less precise than specified has no amount
    if re.fullmatch(r"[-−]\d{1,5}", plain) and spec.kind == "year":
        return of_number(int(plain.replace("−", "-")), spec)
    if impossible(plain, spec.day_first):
        return unparsable("a day that does not exist")
    dates = [d for d in find_dates(plain, spec.day_first) if _may_be(plain, d, spec)]
    # a unit behind a bare number: `100 years old`
    dates = [
        d for d in dates if d.precision != "year" or not _QUANTITY.match(plain, d.start)
    ] or dates
    order = {"none": 0, "year": 1, "month": 2, "day": 3}
    need = {"year": 1, "month": 2, "date": 3}[spec.kind]
    fine = [d for d in dates if order[d.precision] >= need] or dates
    if "=" in plain and len(fine) > 1:
        fine = fine[-1:]
    if not fine:
        return unparsable(f"no {spec.kind}")
    if len({(d.year, d.month, d.day)[:need] for d in fine}) > 1:
        return unparsable("several dates" if spec.kind == "date" else f"several {spec.kind}s")
    one = fine[0]
    if why := displacement(plain[: one.start], plain[one.end :]):
        return unparsable(why)
    if one.precision == "none":
        return unparsable("a date without a year")
    if order[one.precision] < need:
        rule = f"only a {one.precision} is given"
        return TimeAnswer("parsed", None, rule, one, _date_bounds(one, spec))
    assert one.year is not None
    outcome: Outcome = "parsed" if order[one.precision] == need else "finer than asked"
    if spec.kind == "year":
        return TimeAnswer(outcome, one.year, "year", one)
    if spec.kind == "month":
        return TimeAnswer(outcome, 12 * one.year + (one.month or 1) - 1, "month", one)
    return TimeAnswer("parsed", one.ordinal, "date", one)


def of_number(value: Amount, spec: AnswerSpec) -> TimeAnswer:
    """A bare number: an amount in the specified unit, or a year."""
    if spec.kind in ("number", "duration"):
        return TimeAnswer("parsed", value, "number")
    if spec.kind == "year" and isinstance(value, int):
        if value < 0:  # -7 stands for 7 BC
            return TimeAnswer("parsed", value + 1, "year", ParsedDate(value + 1))
        return TimeAnswer("parsed", value, "year", ParsedDate(value))
    return unparsable(f"a number is no {spec.kind}")


def _amount(text: str, spec: AnswerSpec) -> TimeAnswer:
    """A number with its unit, or the only bare number that is not a calendar date."""
    if (span := _RANGE.search(text)) is not None:
        units = [parse_unit(m["u"]) for m in _QUANTITY.finditer(text)]
        if len(units) < 2 or len(set(units)) < len(units):  # else a sum: `2 hours and 5 minutes`
            return TimeAnswer(
                "unparsable", rule="a range", bounds=_range_bounds(span[0], spec.unit)
            )
    quantities = list(_QUANTITY.finditer(text))
    if quantities:
        return _quantities(text, quantities, spec)
    if "=" in text:
        text = text.rsplit("=", 1)[1]
    spans = [(d.start, d.end) for d in find_dates(text) if _is_calendar(text, d)]
    numbers = [
        (m[0], value_of(m[0]))
        for m in PLAIN.finditer(text)
        if not any(start <= m.end() - 1 < end for start, end in spans)
    ]
    values = {value for _, value in numbers if value is not None}
    if not numbers and len(spans) == 1 and spec.unit == "years":
        only = next(d for d in find_dates(text) if _is_calendar(text, d))
        if only.precision == "year" and only.year is not None and text.strip().isdigit():
            return TimeAnswer("parsed", only.year, "number")
    if len(values) > 1 and spec.unit == "years":
        ages = (value_of(match["n"]) for match in _AGE.finditer(text))
        values = {age for age in ages if age is not None} or values
    if len(values) == 1:
        return of_number(values.pop(), spec)
    return unparsable("several numbers" if values else "no number")


def _range_bounds(text: str, unit: str) -> tuple[Amount, Amount] | None:
    """The ends of a range in the specified unit; None where they have no exact amount in it."""
    last = list(re.finditer(_UNIT, text, re.I))[-1]
    numbers = [value_of(m[0]) for m in PLAIN.finditer(text)]
    name = parse_unit(last[0])
    ends = [bounds(n, name, unit) for n in numbers if n is not None and name is not None]
    values = sorted(end for pair in ends if pair is not None for end in pair)
    return (as_amount(values[0]), as_amount(values[-1])) if values else None


def _is_calendar(text: str, date: ParsedDate) -> bool:
    """Whether it is a date, not only a number: a day, a month, or a year in the form of one
    (`in 2009`, `(1905)`, `44 BC`)."""
    if date.precision != "year" or date.era:
        return True
    return len(text[date.start : date.end].strip()) == 4 and 1000 <= (date.year or 0) <= 2999


def _quantities(text: str, matches: list[re.Match[str]], spec: AnswerSpec) -> TimeAnswer:
    """The only run of joined quantities (`2 years, 3 months`), with its sum."""
    runs: list[list[re.Match[str]]] = [[matches[0]]]
    for before, match in pairwise(matches):
        joined = _JOINS.fullmatch(text[before.end() : match.start()])
        if joined and parse_unit(before["u"]) != parse_unit(match["u"]):
            runs[-1].append(match)
        else:
            runs.append([match])
    sums = [_sum(run, spec.unit) for run in runs]
    values = [ends for ends in sums if ends is not None]
    if not values:
        units = ", ".join(dict.fromkeys(str(parse_unit(m["u"])) for m in matches))
        return unparsable(f"{units} where {spec.unit} are asked")
    ages = [v for run, v in zip(runs, sums, strict=True) if run[-1]["old"] and v is not None]
    own = [
        ends
        for run, ends in zip(runs, sums, strict=True)
        if ends is not None and any(parse_unit(m["u"]) == spec.unit for m in run)
    ]
    candidates = ages or own or values
    if len(set(candidates)) > 1 and "=" in text:
        candidates = candidates[-1:]
    if len(set(candidates)) > 1:
        return unparsable("several quantities")
    run = runs[sums.index(candidates[0])]
    return of_parts(*candidates[0], [u for m in run if (u := parse_unit(m["u"]))], spec)


def _sum(run: list[re.Match[str]], unit: str) -> tuple[Exact, Exact] | None:
    """The least and the greatest sum of a run, of which one part at least converts exactly."""
    low: Exact = 0
    high: Exact = 0
    exact = False
    sign = 1
    for k, match in enumerate(run):
        value, unit_name = value_of(match["n"]), parse_unit(match["u"])
        part = None if value is None or unit_name is None else bounds(abs(value), unit_name, unit)
        if part is None:
            return None
        if k == 0 and value is not None and value < 0:
            sign = -1
        exact = exact or part[0] == part[1]
        low, high = low + part[0], high + part[1]
    if not exact:
        return None
    return (low, high) if sign > 0 else (-high, -low)


def read_clock(text: str, spec: AnswerSpec, of_day: bool = False) -> Amount | None:
    """`HH:MM[:SS]` in seconds; None for none, for several, for minutes above 59."""
    matches = list({m[0].strip(): m for m in _CLOCK.finditer(text)}.values())
    if len(matches) != 1:
        return None
    match = matches[0]
    a, b = int(match["a"]), int(match["b"])
    c: Amount = (
        whole(float(match["c"])) if match["c"] and "." in match["c"] else int(match["c"] or 0)
    )
    if match["c"] is None and spec.clock == "m:s" and not of_day:
        a, b, c = 0, a, b
    elif b > 59:
        return None
    if c >= 60:
        return None
    if half := (match["half"] or "").lower():
        if not 1 <= a <= 12:
            return None
        a = a % 12 + (12 if half.startswith("p") else 0)
    if of_day and a > 24:
        return None
    seconds = a * 3600 + b * 60 + c
    return -seconds if match["sign"] else seconds


def _date_bounds(date: ParsedDate, spec: AnswerSpec) -> tuple[Amount, Amount]:
    """The first and the last month or day of a year, or day of a month."""
    assert date.year is not None
    first, last = (date.month, date.month) if date.month else (1, 12)
    if spec.kind == "month":
        return 12 * date.year + first - 1, 12 * date.year + last - 1
    end = (date.year + 1, 1) if last == 12 else (date.year, last + 1)
    return days_from_civil(date.year, first, 1), days_from_civil(*end, 1) - 1


def _may_be(text: str, date: ParsedDate, spec: AnswerSpec) -> bool:
    """A bare number counts as a year where it is alone or has three digits or more."""
    if date.precision != "year" or date.era:
        return True
    token = text[date.start : date.end].strip()
    return len(token) in (3, 4) or (spec.kind == "year" and token == text.strip())
