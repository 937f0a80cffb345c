"""Parses facts from text: one fact on a line, or sentences in the forms of `wording.prose`.

A statement with a time that cannot be parsed is a defect, listed with its reason. Two facts with
the same interval remain two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from agent_env.errors import first_problem
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.wording import KINDS, OPEN, PROSE
from agent_env.temporal.months import DATE_TEXT, Span, read_span, write_month

_STILL = r"present|now|today"


def _form(text: str) -> re.Pattern[str]:
    """The regular expression of a sentence form."""
    pattern = re.escape(text).replace(r"\{statement\}", "(?P<statement>.+)")
    pattern = pattern.replace(r"\{start\}", f"(?P<start>{DATE_TEXT})")
    return re.compile(pattern.replace(r"\{end\}", f"(?P<end>{DATE_TEXT})"))


FORMS = (
    *(_form(text) for text in (*PROSE, OPEN, "Until {end} {statement}.", "All along {statement}.")),
    re.compile(
        rf"(?P<statement>.+?),? (?:from|since) (?P<start>{DATE_TEXT})"
        rf"(?: (?:to|until|till|through) (?:(?P<end>{DATE_TEXT})|(?:the )?(?:{_STILL})))?"
        r"(?: on)?\.?"
    ),
    re.compile(rf"(?P<statement>.+?),? (?:until|till) (?P<end>{DATE_TEXT})\.?"),
    re.compile(rf"(?P<statement>.+?),? in (?P<start>{DATE_TEXT})\.?"),
)
_CUT = re.compile(r"(?<=\d{3}\.)\s+(?=\S)|(?<=[pP]resent\.)\s+(?=\S)|\n+")
_A_YEAR = re.compile(r"\b\d{4}\b|\b(?:from|since|until|till|to|in) (?:\w+\.?,? )?\d{3}\b")


def _statement_pattern(template: str) -> re.Pattern[str]:
    pattern = re.escape(template).replace(r"\{t\}", "(?P<t>.+?)").replace(r"\{v\}", "(?P<v>.+)")
    return re.compile(pattern)


_STATEMENTS = sorted(
    (
        (template, kind.name, _statement_pattern(template))
        for kind in KINDS.values()
        for template in (kind.line, kind.past, *kind.other_lines)
    ),
    key=lambda form: -len(form[0]),
)


@dataclass(frozen=True, slots=True)
class Defect:
    """A statement that should be a fact but cannot be parsed."""

    line: int
    """The statement's number, from 1."""
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}: {self.text}"


@dataclass(frozen=True, slots=True)
class ParsedFacts:
    """The facts of a text in order, and its defects."""

    facts: tuple[Fact, ...]
    defects: tuple[Defect, ...]
    repeated: int
    """Number of verbatim repetitions, which are dropped."""


def read_facts(text: str, running: bool = False) -> ParsedFacts:
    """The facts of a text; in `running` text a statement without a year need not be a fact."""
    facts: list[Fact] = []
    defects: list[Defect] = []
    for number, statement in enumerate(_statements(text), start=1):
        try:
            facts.append(read_fact(statement))
        except ValueError as exc:
            if not running or (_A_YEAR.search(statement) and _states_relation(statement)):
                defects.append(Defect(number, statement, str(exc)))
    distinct = tuple(dict.fromkeys(facts))
    return ParsedFacts(distinct, tuple(defects), len(facts) - len(distinct))


def _statements(text: str) -> Iterator[str]:
    return (part.strip() for part in _CUT.split(text) if part.strip())


def _states_relation(statement: str) -> bool:
    """Whether the statement has the form of a known relation."""
    return any(pattern.match(statement) for _, _, pattern in _STATEMENTS)


def read_fact(statement: str) -> Fact:
    """The fact of a statement. Raises ValueError with the reason."""
    for form in FORMS:
        if (match := form.fullmatch(statement)) is not None:
            parts = match.groupdict()
            topic, kind, value = parse_statement(parts["statement"])
            return make_fact(topic, kind, value, parts.get("start"), parts.get("end"))
    if not _A_YEAR.search(statement):
        return make_fact(*parse_statement(statement.removesuffix(".")), None, None)
    raise ValueError("no interval such as `from Jan, 1992 to Jan, 1998`")


def parse_statement(text: str) -> tuple[str, str, str]:
    """Topic, kind and value. Raises ValueError for an unknown relation."""
    for _, kind, pattern in _STATEMENTS:
        if (match := pattern.fullmatch(text)) is not None:
            return match["t"], kind, match["v"]
    raise ValueError("no known relation")


def make_fact(topic: str, kind: str, value: str, start: str | None, end: str | None) -> Fact:
    """The fact with normalised dates. Raises ValueError for an impossible date or order."""
    try:
        return Fact(
            topic=topic, kind=kind, value=value, start=_stored_date(start), end=_stored_date(end)
        )
    except ValidationError as exc:
        raise ValueError(first_problem(exc.errors()).removeprefix("Value error, ")) from None


def _stored_date(text: str | None) -> str | None:
    if text is None:
        return None
    span = read_span(text)
    return text.strip() if span != Span(span.first, span.first) else write_month(span.first, "iso")
