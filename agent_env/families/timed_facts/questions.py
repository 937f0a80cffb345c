"""Parses a question into relation and reference, by its wording."""

from __future__ import annotations

import re

from agent_env.families.timed_facts.solver import Query, Relation
from agent_env.scoring.names import normalise
from agent_env.temporal.months import Month, Span, month, read_span, write_month

_DATE = r"((?:\d{1,2} )?[A-Z][a-z]{2,8}\.?,? (?:\d{1,2},? )?\d{4}|\d{4}(?:-\d{1,2}){0,2})"
_DECADE = re.compile(r"\b\b(early|mid|late)[ -](?:the )?(\d{3}0)s", re.I)
_TWO = (
    ("between", re.compile(rf"\bbetween {_DATE} (?:and|to) {_DATE}", re.I)),
    ("throughout", re.compile(rf"\bfrom {_DATE} (?:to|until|till) {_DATE}", re.I)),
)
_ONE = re.compile(rf"\b(in|on|during|before|after) {_DATE}(?=\W|$)", re.I)
_OBJECT = re.compile(r"\b(before|after) (.+)", re.I | re.S)
_SUM = re.compile(
    r"(?:(?<!\d)(\d{1,6}+) years?)?(?: and )?(?:(?<!\d)(\d{1,6}+) months?)? (before|after) "
    + _DATE.replace("A-Z", "A-Za-z")
)
DECADES = {"early": (0, 3), "mid": (4, 6), "late": (7, 9)}
"""Years of a decade: 1980 to 1983, 1984 to 1986, 1987 to 1989."""


def read_query(question: str, values: tuple[str, ...] = ()) -> Query | None:
    """The query; None for an unknown form of question. `values` are the facts' spellings of a
    reference that is not a date."""
    if (match := _DECADE.search(question)) is not None:
        low, high = DECADES[match[1].lower()]
        decade = int(match[2])
        return Query("between", Span(month(decade + low, 1), month(decade + high, 12)))
    try:
        return _dated(question) or _by_value(question, values)
    except ValueError:
        return None  # an impossible date


def _dated(question: str) -> Query | None:
    for relation, pattern in _TWO:
        if (match := pattern.search(question)) is not None:
            first, last = read_span(match[1]), read_span(match[2])
            name: Relation = "between" if relation == "between" else "throughout"
            return Query(name, Span(first.first, last.last))
    ones = list(_ONE.finditer(question))
    if not ones:
        return None
    word, span = ones[-1][1].lower(), read_span(ones[-1][2])
    if word in ("before", "after"):
        return Query("before" if word == "before" else "after", span)
    return Query("in", span)


def _by_value(question: str, values: tuple[str, ...]) -> Query | None:
    match = _OBJECT.search(question)
    if match is None:
        return None
    relation: Relation = "before" if match[1].lower() == "before" else "after"
    name = match[2].rstrip().rstrip("?").rstrip() or match[2][0]
    return Query(relation, written_as(name, values))


def written_as(name: str, values: tuple[str, ...]) -> str:
    """The value that equals the name after normalisation, else the name."""
    normalised = normalise(name)
    return next((value for value in values if normalise(value) == normalised), name.strip())


def read_reference(relation: Relation, text: str, values: tuple[str, ...]) -> str | Span:
    """A model's reference, parsed: a value of the facts, a date, or two dates."""
    value = written_as(text, values)
    if value in values:
        return value
    parts = re.split(r"(?<!\s)\s++(?:to|and|until|-|–)\s+|/", text.strip())
    try:
        spans = [read_span(part) for part in parts]
    except ValueError:
        if relation in ("before", "after"):
            return text.strip()
        raise
    return Span(spans[0].first, spans[-1].last)


def add_months(question: str) -> str | None:
    """The answer to a question like `What is the time 5 years and 4 months after Nov, 1992?`, such
    as `Mar, 1998`, or a year for a question with years only; None for another question."""
    match = _SUM.search(question)
    if match is None or not (match[1] or match[2]):
        return None
    months = int(match[1] or 0) * 12 + int(match[2] or 0)
    try:
        base = read_span(match[4])
    except ValueError:
        return None
    result: Month = base.first + (months if match[3] == "after" else -months)
    if base.first != base.last:
        return str(result // 12)
    return write_month(result)
