"""Reads what a question asks of the facts: relation and reference, by the words of the question."""

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
"""Which years of a decade: 1980 to 1983, 1984 to 1986, 1987 to 1989."""


def read_query(question: str, values: tuple[str, ...] = ()) -> Query | None:
    """The query, where the question's words are known; `values` tell how a reference that is no
    date is written in the facts."""
    if (found := _DECADE.search(question)) is not None:
        low, high = DECADES[found[1].lower()]
        decade = int(found[2])
        return Query("between", Span(month(decade + low, 1), month(decade + high, 12)))
    try:
        return _dated(question) or _by_value(question, values)
    except ValueError:
        return None  # an impossible date


def _dated(question: str) -> Query | None:
    for relation, pattern in _TWO:
        if (found := pattern.search(question)) is not None:
            first, last = read_span(found[1]), read_span(found[2])
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
    found = _OBJECT.search(question)
    if found is None:
        return None
    relation: Relation = "before" if found[1].lower() == "before" else "after"
    name = found[2].rstrip().rstrip("?").rstrip() or found[2][0]
    return Query(relation, written_as(name, values))


def written_as(name: str, values: tuple[str, ...]) -> str:
    """The one of the values that is this name after normalisation, or the name."""
    wanted = normalise(name)
    return next((value for value in values if normalise(value) == wanted), name.strip())


def read_reference(relation: Relation, text: str, values: tuple[str, ...]) -> str | Span:
    """A reference as a model wrote it: a value of the facts, a date, or two dates."""
    known = written_as(text, values)
    if known in values:
        return known
    parts = re.split(r"(?<!\s)\s++(?:to|and|until|-|–)\s+|/", text.strip())
    try:
        spans = [read_span(part) for part in parts]
    except ValueError:
        if relation in ("before", "after"):
            return text.strip()
        raise
    return Span(spans[0].first, spans[-1].last)


def add_months(question: str) -> str | None:
    """The answer to a question like `What is the time 5 years and 4 months after Nov, 1992?`, as
    `Mar, 1998`; as a year where a year and no months were given. None for another question."""
    found = _SUM.search(question)
    if found is None or not (found[1] or found[2]):
        return None
    months = int(found[1] or 0) * 12 + int(found[2] or 0)
    try:
        base = read_span(found[4])
    except ValueError:
        return None
    moved: Month = base.first + (months if found[3] == "after" else -months)
    if base.first != base.last:
        return str(moved // 12)
    return write_month(moved)
