"""The form that a server can hold an answer to: entries with their dates, a number, or null where
the model does not know."""

from __future__ import annotations

from typing import Any

from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.records.json_schema import (
    DATE,
    INTEGER,
    TEXT,
    Json,
    closed,
    list_of,
    matching,
    or_null,
)
from agent_env.tasks.answer_forms import AnswerForm

DATES: dict[str, Json] = {
    "year": matching("[0-9]{4}"), "month": matching("[0-9]{4}-[0-9]{2}"), "day": DATE,
}  # fmt: skip
MONTH = matching(
    "(January|February|March|April|May|June|July|August|September|October|November|December) "
    "[0-9]{4}"
)
_MOST = 31


def answer_form(sample: TdbenchSample) -> AnswerForm:
    """As the prompt asks for it; an end that is null still lasts."""
    if sample.answer_type == "number":
        return AnswerForm(or_null(INTEGER), lambda number: _or_unsure(number, str))
    if sample.kind == "current":
        entry = closed({"name": TEXT, "since": MONTH})
        return AnswerForm(
            or_null(entry), lambda one: _or_unsure(one, "{0[name]}, since {0[since]}".format)
        )
    date = DATES[sample.granularity]
    entries = or_null(list_of(closed({"name": TEXT, "start": date, "end": or_null(date)}), _MOST))
    if not sample.hops:
        return AnswerForm(entries, lambda found: _or_unsure(found, _lines))
    facts = closed({"facts": list_of(TEXT, _MOST), "answer": entries})
    return AnswerForm(
        facts,
        lambda found: "\n".join(
            [*found["facts"], f"ANSWER: {_or_unsure(found['answer'], _lines)}"]
        ),
    )


def _or_unsure(value: Any, text: Any) -> str:
    return "unsure" if value is None else text(value)


def _lines(entries: list[dict[str, str | None]]) -> str:
    lines = [f"{e['name']}, from {e['start']} to {e['end'] or 'present'}" for e in entries]
    if len(lines) < 2:
        return lines[0] if lines else "No answer"
    return "\n".join(f"- {line}" for line in lines)
