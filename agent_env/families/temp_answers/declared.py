"""What a question declares of its answer: from its format, its unit and its label's form."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from agent_env.families.temp_answers.scoring.time_answers import read_value
from agent_env.families.temp_answers.scoring.time_texts import read_text
from agent_env.families.temp_answers.scoring.time_units import Amount, unit_named
from agent_env.families.temp_answers.scoring.time_wanted import Kind, Wanted

LINE_FORMATS: dict[str, tuple[Kind, str]] = {
    "yyyy": ("year", "years"),
    "%y": ("year", "years"),
    "%b %d, %y": ("date", "days"),
    "%d %b %y": ("date", "days"),
    "%y-%m-%d": ("date", "days"),
    "%m/%d/%y": ("date", "days"),
    "%d/%m/%y": ("date", "days"),
    "yyyy-mm-dd": ("date", "days"),
    "mm/dd/yyyy": ("date", "days"),
    "dd/mm/yyyy": ("date", "days"),
    "%b %y": ("month", "months"),
    "%y-%m": ("month", "months"),
    "yyyy-mm": ("month", "months"),
    "hh:mm:ss": ("duration", "seconds"),
    "mm:ss": ("duration", "seconds"),
    "hh:mm": ("duration", "minutes"),
    "%h:%m:%s": ("time", "seconds"),
    "%h:%m": ("time", "seconds"),
    "%i:%m %p": ("time", "seconds"),
}
"""Formats in lower case, with what they are."""
DEFAULT_NAMES = {
    "X": "hours", "Y": "minutes", "Z": "seconds", "A": "hours", "B": "minutes", "C": "seconds",
    "H": "hours", "M": "minutes", "S": "seconds",
}  # fmt: skip
_ERA = re.compile(r"\b(?:B\.?C|A\.?D|C\.?E)\b")


@dataclass(frozen=True, slots=True)
class Declared:
    """A question as it can be scored, or why it cannot."""

    wanted: Wanted | None
    gold: Amount | None
    problem: str | None = None


def declared_line(form: str | None, unit: str | None, label: str | None) -> Declared:
    """Of a question whose answer stands on a final line."""
    if label is None:
        return Declared(None, None, "no gold answer")
    wanted = wanted_line(form, unit)
    if wanted is None:
        return Declared(None, None, f"unknown format '{form or ''}' and unit '{unit or ''}'")
    return _with_gold(wanted, read_text(label.strip(), wanted).amount, label)


def wanted_line(form: str | None, unit: str | None) -> Wanted | None:
    """What a final line shall give; None where neither format nor unit is known."""
    plain = (form or "").strip().strip("\"'").lower()
    if plain in LINE_FORMATS:
        kind, of = LINE_FORMATS[plain]
        named = unit_named(unit or "")
        of = named if kind == "duration" and named else of
        return Wanted(
            kind, of, day_first=plain in ("%d/%m/%y", "dd/mm/yyyy"),
            clock="m:s" if plain == "mm:ss" else "h:m",
        )  # fmt: skip
    named = unit_named(plain) or unit_named(unit or "")
    if named is not None:
        return Wanted("number", named)
    return {"date": Wanted("date", "days"), "date_years": Wanted("year", "years")}.get(unit or "")


def declared_object(
    unit: str | None, label: str | None, question: str, question_type: str | None
) -> Declared:
    """Of a question whose answer is an object; its label is a Python literal or JSON."""
    if label is None:
        return Declared(None, None, "no gold answer")
    try:
        found: Any = ast.literal_eval(label)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = label
    if not isinstance(found, dict):
        found = {"answer": found}
    wanted = _wanted_object(unit, found, question, question_type)
    if wanted is None:
        return Declared(None, None, f"unknown unit '{unit}'")
    return _with_gold(wanted, read_value(found, wanted).amount, label)


def _with_gold(wanted: Wanted, gold: Amount | None, label: str) -> Declared:
    if gold is None:
        return Declared(wanted, None, f"the gold answer '{label[:60]}' cannot be read")
    return Declared(wanted, gold)


def _wanted_object(
    unit: str | None, gold: dict[str, Any], question: str, question_type: str | None
) -> Wanted | None:
    keys = [key for key in gold if key != "explanation"]
    only = str(gold[keys[0]]) if len(keys) == 1 else ""
    if unit == "date":
        day_first = "dd/mm/yyyy" in question.lower() or bool(re.match(r"(1[3-9]|[23]\d)/", only))
        return Wanted("date", "days", "json", {keys[0]: "answer"} if keys else {}, day_first)
    if unit == "date_years":
        return Wanted("year", "years", "json", dict.fromkeys(keys[:1], "answer"))
    named = unit_named(unit or "")
    if named is None:
        return None
    if "time" in keys or len(keys) > 1 or (":" in only and named != "years"):
        clock = "m:s" if re.search(r"\bMM:SS\b", question) and "HH" not in question else "h:m"
        names = {key: _meaning(key, question) for key in keys}
        if len(keys) == 1 and unit_named(keys[0]) is None and keys[0] != "time":
            names = {keys[0]: "answer"}
        return Wanted("duration", named, "json", names, clock=clock)  # type: ignore[arg-type]
    if named in ("seconds", "minutes") and keys and unit_named(keys[0]):
        return Wanted("duration", named, "json", {keys[0]: unit_named(keys[0]) or named})
    kind: Kind = "number"
    if named == "years" and (_asks_when(question_type) or _ERA.search(only)):
        kind = "year"
    return Wanted(kind, named, "json", dict.fromkeys(keys[:1], "answer"))


def _asks_when(question_type: str | None) -> bool:
    return re.sub(r"[^a-z]", "", (question_type or "").lower()) == "eventatwhattime"


def _meaning(key: str, question: str) -> str:
    """The unit that a key stands for: by its name, by the question (`X hours`), by custom."""
    if key in ("day", "time"):
        return key
    if len(key) > 1 and (named := unit_named(key)) is not None:
        return named
    told = re.search(
        rf"\b{re.escape(key)}\s+(hour|minute|second|day|week|month|year)s?\b", question
    )
    return f"{told[1]}s" if told else DEFAULT_NAMES.get(key.upper(), key.lower())
