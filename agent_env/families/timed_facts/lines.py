"""Reads facts from text: lines of a fact each, or sentences in the forms of wording.prose.

What states a time and cannot be read is a defect, listed with its reason; nothing is passed over
unsaid. Two facts with one interval stay two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from agent_env.errors import first_problem
from agent_env.families.timed_facts.facts import Fact
from agent_env.families.timed_facts.wording import KINDS, OPEN, PROSE
from agent_env.temporal.months import Span, read_span, write_month

_DATE = r"(?:\d{1,2} )?[A-Za-z]{3,9}\.?,? (?:\d{1,2},? )?\d{4}|\d{4}(?:-\d{1,2}){0,2}"
_STILL = r"present|now|today"


def _form(text: str) -> re.Pattern[str]:
    """A sentence form as an expression."""
    pattern = re.escape(text).replace(r"\{said\}", "(?P<said>.+)")
    pattern = pattern.replace(r"\{start\}", f"(?P<start>{_DATE})")
    return re.compile(pattern.replace(r"\{end\}", f"(?P<end>{_DATE})"))


FORMS = (
    *(_form(text) for text in (*PROSE, OPEN, "Until {end} {said}.", "All along {said}.")),
    re.compile(
        rf"(?P<said>.+?),? (?:from|since) (?P<start>{_DATE})"
        rf"(?: (?:to|until|till|through) (?:(?P<end>{_DATE})|(?:the )?(?:{_STILL})))?(?: on)?\.?"
    ),
    re.compile(rf"(?P<said>.+?),? (?:until|till) (?P<end>{_DATE})\.?"),
    re.compile(rf"(?P<said>.+?),? in (?P<start>{_DATE})\.?"),
)
_CUT = re.compile(r"(?<=\d{4}\.)\s+(?=\S)|(?<=[pP]resent\.)\s+(?=\S)|\n+")
_A_YEAR = re.compile(r"\b\d{4}\b")


def _saying(template: str) -> re.Pattern[str]:
    pattern = re.escape(template).replace(r"\{t\}", "(?P<t>.+?)").replace(r"\{v\}", "(?P<v>.+)")
    return re.compile(pattern)


_SAYINGS = sorted(
    (
        (template, kind.name, _saying(template))
        for kind in KINDS.values()
        for template in (kind.line, kind.past, *kind.other_lines)
    ),
    key=lambda saying: -len(saying[0]),
)


@dataclass(frozen=True, slots=True)
class Defect:
    """A statement that is no fact, though it should be."""

    line: int
    """Its place among the statements, from 1."""
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.line}: {self.reason}: {self.text}"


@dataclass(frozen=True, slots=True)
class FactsRead:
    """The facts of a text, in its order, and what could not be read."""

    facts: tuple[Fact, ...]
    defects: tuple[Defect, ...]
    repeated: int
    """Facts that stand in the text once more, word for word; kept once."""


def read_facts(text: str, running: bool = False) -> FactsRead:
    """The facts of a text; in `running` text a statement without a year may be anything."""
    facts: list[Fact] = []
    defects: list[Defect] = []
    for number, statement in enumerate(_statements(text), start=1):
        try:
            facts.append(read_fact(statement))
        except ValueError as exc:
            if not running or (_A_YEAR.search(statement) and _says(statement)):
                defects.append(Defect(number, statement, str(exc)))
    kept = tuple(dict.fromkeys(facts))
    return FactsRead(kept, tuple(defects), len(facts) - len(kept))


def _statements(text: str) -> Iterator[str]:
    return (part.strip() for part in _CUT.split(text) if part.strip())


def _says(statement: str) -> bool:
    """Whether some relation is spoken of."""
    return any(found.match(statement) for _, _, found in _SAYINGS)


def read_fact(statement: str) -> Fact:
    """The fact that a statement states; ValueError says what is wrong with it."""
    for form in FORMS:
        if (found := form.fullmatch(statement)) is not None:
            parts = found.groupdict()
            topic, kind, value = read_saying(parts["said"])
            return make_fact(topic, kind, value, parts.get("start"), parts.get("end"))
    if not _A_YEAR.search(statement):
        return make_fact(*read_saying(statement.removesuffix(".")), None, None)
    raise ValueError("no interval such as `from Jan, 1992 to Jan, 1998`")


def read_saying(said: str) -> tuple[str, str, str]:
    """Topic, kind and value; ValueError where no known relation is stated."""
    for _, kind, pattern in _SAYINGS:
        if (found := pattern.fullmatch(said)) is not None:
            return found["t"], kind, found["v"]
    raise ValueError("no known relation")


def make_fact(topic: str, kind: str, value: str, start: str | None, end: str | None) -> Fact:
    """The fact with its dates as they are stored; ValueError for an impossible date or order."""
    try:
        return Fact(topic=topic, kind=kind, value=value, start=_stored(start), end=_stored(end))
    except ValidationError as exc:
        raise ValueError(first_problem(exc.errors()).removeprefix("Value error, ")) from None


def _stored(text: str | None) -> str | None:
    if text is None:
        return None
    span = read_span(text)
    return text.strip() if span != Span(span.first, span.first) else write_month(span.first, "iso")
