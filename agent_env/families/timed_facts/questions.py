"""Parses a question into relation and reference, by its wording."""

from __future__ import annotations

import re

from agent_env.families.timed_facts.solver import Query, Relation, Shift
from agent_env.scoring.names import normalise
from agent_env.temporal.months import DATE_TEXT, Span, month, read_span, write_month

_DATE = f"({DATE_TEXT})"
_DECADE = re.compile(r"\b(early|mid|late)[ -](?:the )?(\d{2,3}0)s", re.I)
_TWO = (
    ("between", re.compile(rf"\bbetween {_DATE} (?:and|to) {_DATE}", re.I)),
    ("throughout", re.compile(rf"\bfrom {_DATE} (?:to|until|till) {_DATE}", re.I)),
)
_ONE = re.compile(rf"\b(in|on|during|before|after) (?!\d{{3}} \w){_DATE}(?=\W|$)", re.I)
_BESIDE = re.compile(r"\b(before|after) ", re.I)
_LEADING = re.compile(r"(.+?), (?:who|whom|whose|which|what|where|in|for|by)\b", re.I | re.S)
_SUM = re.compile(
    r"(?:(?<!\d)(\d{1,6}+) years?)?(?: and )?(?:(?<!\d)(\d{1,6}+) months?)? (before|after) " + _DATE
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
    known = _by_value(question, values)
    if known is not None and known.reference in values:
        return known
    try:
        return _dated(question) or known
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
    """`before NAME` or `after NAME`, at the end of the question or, with a comma, before it; a name
    of the values before any other."""
    queries: list[Query] = []
    for match in _BESIDE.finditer(question):
        relation: Relation = "before" if match[1].lower() == "before" else "after"
        rest = question[match.end() :].rstrip()
        leading = _LEADING.match(rest) if match.start() == 0 else None
        name = leading[1] if leading is not None else rest.rstrip("?").rstrip() or rest[:1]
        queries.append(Query(relation, written_as(name, values)))
    return next((q for q in queries if q.reference in values), queries[0] if queries else None)


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


def read_shift(question: str) -> Shift | None:
    """The question of level L1 like `What is the time 5 years and 4 months after Nov, 1992?`; None
    for another question."""
    match = _SUM.search(question)
    if match is None or not (match[1] or match[2]):
        return None
    months = int(match[1] or 0) * 12 + int(match[2] or 0)
    try:
        return Shift(read_span(match[4]), months if match[3] == "after" else -months)
    except ValueError:
        return None


def date_form(text: str) -> str:
    """A date as answers of level L1 are compared, `Jun, 2001` or `995`; other text as it is."""
    try:
        span = read_span(text)
    except ValueError:
        return text
    return write_month(span.first) if span.first == span.last else str(span.first // 12)
