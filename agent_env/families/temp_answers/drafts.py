"""A question before it has an id, and constructors that the question generators share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from agent_env.families.temp_answers.scoring.answer_spec import AnswerKind, days_from_civil
from agent_env.sdk.records import MaterialTable

ANSWER = {"answer": "answer"}


@dataclass(frozen=True, slots=True)
class Draft:
    """Everything about a question except its place in a set."""

    question_type: str
    question: str
    form: str
    kind: AnswerKind
    unit: str
    amount: int
    label: str
    answer_format: str
    answer_unit: str
    keys: Mapping[str, str] = field(default_factory=dict)
    table: MaterialTable | None = None
    years_only: bool = False


Style = Literal["line", "json"]


def number(kind: str, question: str, unit: str, amount: int, style: Style, **more: object) -> Draft:
    json = style == "json"
    return Draft(
        kind, question, f"a number of {unit}", "number", unit, amount,
        str({"answer": amount}) if json else str(amount),
        f"<num_{unit}>", unit, keys=ANSWER if json else {}, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def day(kind: str, question: str, when: date, style: Style, **more: object) -> Draft:
    json = style == "json"
    ordinal = days_from_civil(when.year, when.month, when.day)
    return Draft(
        kind, question, "a date as YYYY-MM-DD" if json else "a date such as March 5, 1837",
        "date", "days", ordinal,
        str({"answer": str(when)}) if json else f"{when:%B} {when.day:02}, {when.year}",
        "<date>" if json else "%B %d, %Y", "date", keys=ANSWER if json else {},
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def year(kind: str, question: str, when: int, style: Style, **more: object) -> Draft:
    """A question for a calendar year; `when` is astronomical (0 is 1 BC)."""
    form = "a year" if when > 1000 else "a year, with BC where it is before Christ"
    json = style == "json"
    text = f"{1 - when} BC" if when < 1 else str(when)
    return Draft(
        kind, question, form, "year", "years", when,
        str({"answer": text}) if json else text, "yyyy",
        "years" if json else "date_years", keys=ANSWER if json else {},
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def span(kind: str, question: str, seconds: int) -> Draft:
    """A question for hours, minutes and seconds, as X, Y and Z."""
    parts = {"X": seconds // 3600, "Y": seconds // 60 % 60, "Z": seconds % 60}
    return Draft(
        kind, question, "X hours, Y minutes and Z seconds", "duration", "seconds", seconds,
        str(parts), "X, Y, Z", "seconds", keys={"X": "hours", "Y": "minutes", "Z": "seconds"},
    )  # fmt: skip
