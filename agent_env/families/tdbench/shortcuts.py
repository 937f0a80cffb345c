"""Answers without temporal reasoning: the baselines of every figure.

Each reads a sample and its first table and gives an answer in the form that the prompt asks for;
None where it has none for this kind of question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random

from agent_env.families.tdbench.prompts import answer_lines
from agent_env.families.tdbench.reading import bounds_of
from agent_env.families.tdbench.sample import (
    TdbenchSample,
    answer_in,
    rows_of,
    tdbench_sample,
)
from agent_env.sdk.family import Shortcut
from agent_env.sdk.records import MaterialTable, Sample

Answerer = Callable[[TdbenchSample, MaterialTable | None], str | None]
Cells = Mapping[str, str]


def no_answer(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """Always `No answer`."""
    return None if sample.answer_type == "number" else "No answer"


def latest_row(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """The row of the group that began last."""
    rows = _group(sample, table)
    return _text(sample, rows[-1:]) if rows else None


def ignore_time(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """Every row of the group, whatever its dates."""
    rows = _group(sample, table)
    return _text(sample, rows) if rows else None


def ignore_entity(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """Every row shown that meets the condition on time, whoever it is about."""
    bounds = bounds_of(sample)
    if not sample.context or not (bounds or sample.kind == "current"):
        return None
    fitting = [
        row
        for row in rows_of(table, sample.context[0])
        if (all(bound.holds(row) for bound in bounds) if bounds else not row["end"])
    ]
    return _text(sample, fitting) if fitting else "No answer"


def random_row(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """A row of the group, drawn anew for each query."""
    rows = _group(sample, table)
    return _text(sample, [Random(f"shortcut/{sample.query}").choice(rows)]) if rows else None


def oracle(sample: TdbenchSample, table: MaterialTable | None) -> str | None:
    """The gold with its dates and hops: what the scorer gives at most."""
    if sample.answer_type == "number":
        return sample.gold[0]
    if not sample.golds:
        return _with_hops(sample, ", ".join(sample.gold) or "No answer")
    rows = [{"": row.answer, "start": row.start, "end": row.end or ""} for row in sample.golds]
    return _with_hops(sample, _lines(sample, [(row[""], row) for row in rows]))


BY_QUESTION: Mapping[str, tuple[str, Answerer]] = {
    "latest-row": ("the row of the group that began last", latest_row),
    "ignore-time": ("every row of the group", ignore_time),
    "ignore-entity": ("every row shown that meets the condition on time", ignore_entity),
    "random-row": ("a row of the group", random_row),
}
"""Rules in words, and the answers by them."""
HIDDEN: Mapping[str, object] = {
    "gold": (), "golds": (), "others": (), "outdated": (), "hops": (), "roles": (),
}  # fmt: skip
"""Fields of a sample that shortcuts do not see."""


def task_shortcuts(tables: Mapping[str, MaterialTable]) -> tuple[Shortcut, ...]:
    """The same for every report of a task."""
    return (
        Shortcut.constant(
            "that there is no answer", lambda sample: _answered(no_answer, sample, tables)
        ),
        Shortcut.majority(
            lambda sample: ", ".join(sample.gold) or "No answer",
            lambda sample: f"{tdbench_sample(sample).domain} {tdbench_sample(sample).kind}",
            lambda sample: tdbench_sample(sample).query,
        ),
        *(_by_question(name, *rule, tables) for name, rule in BY_QUESTION.items()),
        Shortcut.oracle(lambda sample: _answered(oracle, sample, tables) or ""),
    )


def _by_question(
    name: str, rule: str, answer: Answerer, tables: Mapping[str, MaterialTable]
) -> Shortcut:
    own = Shortcut.by_question(name, rule, lambda sample, rng: _answered(answer, sample, tables))
    return replace(own, is_by_question=name != "random-row")


def _answered(
    answerer: Answerer, sample: Sample, tables: Mapping[str, MaterialTable]
) -> str | None:
    own = tdbench_sample(sample)
    return answerer(own, tables.get(own.materials[0]) if own.materials else None)


def _with_hops(sample: TdbenchSample, answer: str) -> str:
    facts = [
        " ".join((*hop.gold, *(day for day in (hop.start, hop.end) if day)))
        for hop in sample.hops[:-1]
    ]
    return "\n".join([*facts, f"ANSWER: {answer}"]) if facts else answer


def _group(sample: TdbenchSample, table: MaterialTable | None) -> list[Cells]:
    """The rows that the question is about, by start; none for numbers."""
    if not sample.relevant or sample.answer_type == "number":
        return []
    return sorted(rows_of(table, sample.relevant[0]), key=lambda row: row["start"])


def _text(sample: TdbenchSample, rows: Sequence[Cells]) -> str:
    return _lines(sample, [(answer_in(row, sample), row) for row in rows])


def _lines(sample: TdbenchSample, rows: Sequence[tuple[str, Cells]]) -> str:
    entries = ((name, row["start"], row["end"]) for name, row in rows)
    return answer_lines(entries, is_current=sample.kind == "current")
