"""A question's shifted world: the rows of its group exchange their dates, on every page of theirs.

Names and dates of the table stay; who held when is another. Only questions of kind `relation` are
shifted: their gold is what stands in the relation to b there, found without SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pydantic import JsonValue

from agent_env.families.tdbench.sample import GoldRow, TdbenchSample, cardinality_of
from agent_env.records.ablation import ChangedPage, ShiftedWorld
from agent_env.records.schema import MaterialTable
from agent_env.tasks.task import CannotShift, TextAt
from agent_env.temporal.allen import Interval, relation
from agent_env.temporal.facts.table_pages import time_places
from agent_env.temporal.partial import PartialDate
from agent_env.web.ablation import shifted_from
from agent_env.web.site.difficulty import LIKELY_FIRST
from agent_env.web.site.tables import table_pages

TRIES = 200


def shifted_world(
    sample: TdbenchSample, table: MaterialTable, rng: Random, text_at: TextAt
) -> ShiftedWorld:
    """The question's `Task.shift`; as many answers as before, and others."""
    if sample.kind != "relation" or len(sample.materials) != 1 or len(sample.proofs) != 1:
        raise CannotShift(f"questions of kind {sample.kind} over their tables are not shifted")
    own = sample.relevant[0]
    if {row.answer for row in golds_in(sample, table)} != set(sample.gold):
        raise CannotShift("its gold is not what stands in the relation to its interval")
    for _ in range(TRIES):
        moved = exchanged(table, own, rng)
        golds = golds_in(sample, moved)
        answers = tuple(dict.fromkeys(row.answer for row in golds))
        if set(answers) != set(sample.gold) and cardinality_of(len(answers)) == sample.cardinality:
            fields = _fields(sample, moved, golds, answers)
            return ShiftedWorld(sample=fields, pages=_changed_pages(table, moved, own, text_at))
    raise CannotShift(f"no other dates of its rows were found in {TRIES} tries")


def exchanged(table: MaterialTable, own: Sequence[int], rng: Random) -> MaterialTable:
    """The table where these rows have each other's dates."""
    start, end = time_places(table)
    rows = list(table.rows)
    for row, other in zip(own, rng.sample(list(own), len(own)), strict=True):
        cells = list(table.rows[row])
        cells[start], cells[end] = table.rows[other][start], table.rows[other][end]
        rows[row] = tuple(cells)
    return table.model_copy(update={"rows": tuple(rows)})


def golds_in(sample: TdbenchSample, table: MaterialTable) -> tuple[GoldRow, ...]:
    """The rows of the group that stand in the question's relation to b, by start and answer."""
    if sample.b_start is None or sample.b_end is None:
        return ()
    b = _interval(sample.b_start, sample.b_end)
    start, end = time_places(table)
    places = [table.columns.index(name) for name in sample.answers]
    golds = []
    for index in sample.relevant[0]:
        row = table.rows[index]
        last = None if row[end] in (None, "") else str(row[end])
        if relation(_interval(str(row[start]), last), b) == sample.relation:
            answer = ", ".join(str(row[place]) for place in places)
            golds.append(GoldRow(answer=answer, start=str(row[start]), end=last, row=index))
    return tuple(sorted(golds, key=lambda gold: (gold.start, gold.answer)))


def _interval(start: str, end: str | None) -> Interval:
    first = PartialDate.parse(start).first
    return Interval.of(first, None if end is None else PartialDate.parse(end).first)


def _fields(
    sample: TdbenchSample,
    table: MaterialTable,
    golds: Sequence[GoldRow],
    answers: tuple[str, ...],
) -> dict[str, JsonValue]:
    places = [table.columns.index(name) for name in sample.answers]
    every = (", ".join(str(table.rows[i][p]) for p in places) for i in sample.relevant[0])
    start, end = time_places(table)
    rows = [(g.start, g.end or "") for g in golds] or [
        (str(table.rows[i][start]), str(table.rows[i][end] or "")) for i in sample.relevant[0]
    ]
    dates = dict.fromkeys(day for row in rows for day in row if day)
    used = (g.start if role == "start" else g.end for g in golds for role in sample.roles)
    proof = sample.proofs[0].model_copy(
        update={"dates": tuple(dates), "used": tuple(dict.fromkeys(filter(None, used)))}
    )
    return {
        "gold": list(answers),
        "golds": [gold.model_dump(mode="json") for gold in golds],
        "others": [name for name in dict.fromkeys(every) if name not in answers],
        "proofs": [proof.model_dump(mode="json")],
    }


def _changed_pages(
    table: MaterialTable, moved: MaterialTable, own: Sequence[int], text_at: TextAt
) -> tuple[ChangedPage, ...]:
    """The pages of the rows, rendered as the run's web renders them."""
    for level in LIKELY_FIRST:
        plain = [(s.url, s.title, s.text) for s in table_pages(table, level, own)]
        shifted = [(s.url, s.title, s.text) for s in table_pages(moved, level, own)]
        changed = shifted_from(plain, shifted)
        texts = {url: text for url, _, text in plain}
        if all(text_at(page.was) == texts[page.was] for page in changed if page.was is not None):
            return changed
    raise CannotShift("the run's web has other pages of its table than the samples")
