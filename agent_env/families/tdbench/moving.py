"""A question about the present on another day: the rows of its group that hold then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date

from pydantic import JsonValue

from agent_env.extensions.facts.tables.temporal_table import LENGTHS
from agent_env.families.tdbench.sample import (
    GoldRow,
    TdbenchSample,
    answer_in,
    cardinality_of,
    rows_of,
)
from agent_env.families.tdbench.wording import STYLES, date_text, without_day
from agent_env.sdk.family import CannotShift
from agent_env.sdk.records import MaterialTable


def on_day(sample: TdbenchSample, table: MaterialTable, day: date) -> Mapping[str, JsonValue]:
    """The fields of a `current` question that are others on the day; the question names none."""
    if str(day) > sample.now:
        raise CannotShift(f"their table is as of {sample.now}, which is before {day}")
    text = str(day)[: LENGTHS[sample.granularity]]
    rows = rows_of(table, sample.relevant[0])
    begun = [
        (n, row) for n, row in zip(sample.relevant[0], rows, strict=True) if row["start"] <= text
    ]
    if not begun:
        raise CannotShift(f"nothing of what they ask about had begun on {day}")
    golds = [
        GoldRow(answer=answer_in(row, sample), start=row["start"], end=None, row=n)
        for n, row in begun
        if not row["end"] or row["end"] > text
    ]
    answers = tuple(dict.fromkeys(gold.answer for gold in golds))
    if len(answers) < len(golds):
        raise CannotShift("an answer stands in two rows that hold at once")
    every = dict.fromkeys(answer_in(row, sample) for row in rows)
    known = dict.fromkeys(answer_in(row, sample) for _, row in begun)
    starts = tuple(row.start for row in golds) or tuple(row["start"] for _, row in begun)
    proofs = [
        proof.model_copy(update={"dates": starts, "used": tuple(row.start for row in golds)})
        for proof in sample.proofs
    ]
    return {
        "question": _today(sample),
        "gold": list(answers),
        "golds": [gold.model_dump(mode="json") for gold in golds],
        "others": [name for name in every if name not in answers],
        "outdated": [name for name in known if name not in answers],
        "cardinality": cardinality_of(len(answers)),
        "now": str(day),
        "sql": {
            name: statement.replace(f"'{sample.now[: len(text)]}'", f"'{text}'")
            for name, statement in sample.sql.items()
        },
        "proofs": [proof.model_dump(mode="json") for proof in proofs],
    }


def changes(sample: TdbenchSample, table: MaterialTable) -> Iterator[date]:
    """The days on which a row of a `current` question's group begins or ends."""
    for row in rows_of(table, sample.relevant[0]) if sample.kind == "current" else ():
        for text in filter(None, (row["start"], row["end"])):
            yield date.fromisoformat((text + "-01-01")[: LENGTHS["day"]])


def _today(sample: TdbenchSample) -> str:
    """The question with `today` for its day."""
    now = date.fromisoformat(sample.now)
    for day in (date_text(now, "day", style) for style in range(STYLES)):
        if day in sample.question:
            return without_day(sample.question, day)
    raise CannotShift("their wording does not state the day that it is")
