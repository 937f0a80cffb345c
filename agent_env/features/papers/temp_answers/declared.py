"""The answer specification of a question, from its format, its unit and the form of its label."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agent_env.families.temp_answers.scoring.answer_spec import (
    Amount,
    AnswerKind,
    AnswerSpec,
    parse_unit,
)
from agent_env.families.temp_answers.scoring.time_answers import read_value
from agent_env.families.temp_answers.scoring.time_parser import read_text

_DATE_FORMATS = ("%b %d, %y", "%d %b %y", "%y-%m-%d", "%m/%d/%y", "%d/%m/%y", "yyyy-mm-dd",
                 "mm/dd/yyyy", "dd/mm/yyyy")  # fmt: skip
LINE_FORMATS: dict[str, tuple[AnswerKind, str]] = {
    **dict.fromkeys(("yyyy", "%y"), ("year", "years")),
    **dict.fromkeys(_DATE_FORMATS, ("date", "days")),
    **dict.fromkeys(("%b %y", "%y-%m", "yyyy-mm"), ("month", "months")),
    **dict.fromkeys(("hh:mm:ss", "mm:ss"), ("duration", "seconds")),
    "hh:mm": ("duration", "minutes"),
    **dict.fromkeys(("%h:%m:%s", "%h:%m", "%i:%m %p"), ("time", "seconds")),
}
"""Answer kind and unit by lower-case format."""
DEFAULT_NAMES = {
    "X": "hours", "Y": "minutes", "Z": "seconds", "A": "hours", "B": "minutes", "C": "seconds",
    "H": "hours", "M": "minutes", "S": "seconds",
}  # fmt: skip
FORMAT, UNIT = "answer_format", "answer_temporal_unit"
_ERA = re.compile(r"\b(?:B\.?C|A\.?D|C\.?E)\b")


@dataclass(frozen=True, slots=True)
class Declared:
    """How a question is scored, or why it cannot be."""

    spec: AnswerSpec | None
    gold: Amount | None
    problem: str | None = None


@lru_cache(maxsize=50_000)  # questions recur with every model
def declared_line(form: str | None, unit: str | None, label: str | None) -> Declared:
    """The specification of a question whose answer is on a final line."""
    if label is None:
        return Declared(None, None, "label is missing")
    spec = line_spec(form, unit)
    if spec is None:
        return Declared(
            None, None, f"{FORMAT} '{form or ''}' and {UNIT} '{unit or ''}' are unknown"
        )
    return _with_gold(spec, read_text(label.strip(), spec).amount, label)


def line_spec(form: str | None, unit: str | None) -> AnswerSpec | None:
    """The specification by format and unit; None where neither is known."""
    plain = (form or "").strip().strip("\"'").lower()
    if plain in LINE_FORMATS:
        kind, of = LINE_FORMATS[plain]
        unit_name = parse_unit(unit or "")
        of = unit_name if kind == "duration" and unit_name else of
        return AnswerSpec(
            kind, of, day_first=plain in ("%d/%m/%y", "dd/mm/yyyy"),
            clock="m:s" if plain == "mm:ss" else "h:m",
        )  # fmt: skip
    unit_name = parse_unit(plain) or parse_unit(unit or "")
    if unit_name is not None:
        return AnswerSpec("number", unit_name)
    return {"date": AnswerSpec("date", "days"), "date_years": AnswerSpec("year", "years")}.get(
        unit or ""
    )


@lru_cache(maxsize=50_000)
def declared_object(
    unit: str | None, label: str | None, question: str, question_type: str | None
) -> Declared:
    """The specification of a question whose answer is an object; `label` is a Python literal."""
    if label is None:
        return Declared(None, None, "label is missing")
    try:
        gold: Any = ast.literal_eval(label)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        gold = label
    if not isinstance(gold, dict):
        gold = {"answer": gold}
    spec = _object_spec(unit, gold, question, question_type)
    if spec is None:
        return Declared(None, None, f"{UNIT} '{unit or ''}' is unknown")
    return _with_gold(spec, read_value(gold, spec).amount, label)


def _with_gold(spec: AnswerSpec, gold: Amount | None, label: str) -> Declared:
    if gold is None:
        return Declared(spec, None, f"label '{label[:60]}' is no {spec.kind} of {spec.unit}")
    return Declared(spec, gold)


def _object_spec(
    unit: str | None, gold: dict[str, Any], question: str, question_type: str | None
) -> AnswerSpec | None:
    keys = [key for key in gold if key != "explanation"]
    only = str(gold[keys[0]]) if len(keys) == 1 else ""
    if unit == "date":
        day_first = "dd/mm/yyyy" in question.lower() or bool(re.match(r"(1[3-9]|[23]\d)/", only))
        return AnswerSpec("date", "days", "json", {keys[0]: "answer"} if keys else {}, day_first)
    if unit == "date_years":
        return AnswerSpec("year", "years", "json", dict.fromkeys(keys[:1], "answer"))
    base_unit = parse_unit(unit or "")
    if base_unit is None:
        return None
    if "time" in keys or len(keys) > 1 or (":" in only and base_unit != "years"):
        clock = "m:s" if re.search(r"\bMM:SS\b", question) and "HH" not in question else "h:m"
        names = {key: _meaning(key, question) for key in keys}
        if len(keys) == 1 and parse_unit(keys[0]) is None and keys[0] != "time":
            names = {keys[0]: "answer"}
        return AnswerSpec("duration", base_unit, "json", names, clock=clock)  # type: ignore[arg-type]
    if base_unit in ("seconds", "minutes") and keys and parse_unit(keys[0]):
        return AnswerSpec(
            "duration", base_unit, "json", {keys[0]: parse_unit(keys[0]) or base_unit}
        )
    kind: AnswerKind = "number"
    if base_unit == "years" and (
        re.sub(r"[^a-z]", "", (question_type or "").lower()) == "eventatwhattime"
        or _ERA.search(only)
    ):
        kind = "year"
    return AnswerSpec(kind, base_unit, "json", dict.fromkeys(keys[:1], "answer"))


def _meaning(key: str, question: str) -> str:
    """The unit of a key: by its name, by the question (`X hours`), else by convention."""
    if key in ("day", "time"):
        return key
    if len(key) > 1 and (unit := parse_unit(key)) is not None:
        return unit
    in_question = re.search(
        rf"\b{re.escape(key)}\s+(hour|minute|second|day|week|month|year)s?\b", question
    )
    return f"{in_question[1]}s" if in_question else DEFAULT_NAMES.get(key.upper(), key.lower())
