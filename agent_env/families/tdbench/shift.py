"""A question's shifted world: the rows of its group exchange their dates, on every page of theirs.

Names and dates of the table stay; who held when is another. The question's own statement finds the
gold there. No exchange changes how many rows fit, so a question without an answer has no twin, nor
has one whose answers are counted; and the statement on common days names its rows by their dates.
"""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import date
from random import Random

from pydantic import JsonValue

from agent_env.families.tdbench.sample import (
    GoldRow,
    Kind,
    TdbenchSample,
    answer_in,
    cardinality_of,
    rows_of,
)
from agent_env.families.tdbench.wording import STYLES, date_text, without_day
from agent_env.features.facts.site.sheet import LIKELY_FIRST
from agent_env.features.facts.site.tables import table_pages
from agent_env.features.facts.tables.articles import time_places
from agent_env.features.facts.tables.temporal_table import LENGTHS
from agent_env.sdk.family import CannotShift
from agent_env.sdk.records import MaterialTable, identifier
from agent_env.sdk.web import ChangedPage, ShiftedWorld

SHIFTED: frozenset[Kind] = frozenset({"relation", "current", "nth", "longest", "hops"})
TRIES = 200


def shifted_world(
    sample: TdbenchSample,
    tables: Sequence[MaterialTable],
    rng: Random,
    text_at: Callable[[str], str | None],
) -> ShiftedWorld:
    """The question's `Task.shift`; as many answers as before, and others. The first of its tables
    has the rows."""
    if sample.kind not in SHIFTED or not sample.proofs:
        raise CannotShift(f"questions of kind {sample.kind} over their tables are not shifted")
    if not sample.gold:
        raise CannotShift("no exchange of dates gives them an answer")
    table, own = tables[0], sample.relevant[0]
    if {row.answer for row in golds_in(sample, tables)} != set(sample.gold):
        raise CannotShift("its gold is not what its statement finds")
    for _ in range(TRIES):
        moved = exchanged(table, own, rng)
        golds = golds_in(sample, [moved, *tables[1:]])
        answers = tuple(dict.fromkeys(row.answer for row in golds))
        is_other = len(answers) == len(sample.gold) and set(answers) != set(sample.gold)
        if is_other and _seams(sample, moved) <= _seams(sample, table):
            every = (_cells(sample, moved, index)[0] for index in sample.relevant[0])
            others = [name for name in dict.fromkeys(every) if name not in answers]
            dates = dict.fromkeys(day for gold in golds for day in (gold.start, gold.end) if day)
            used = (
                gold.start if role == "start" else gold.end
                for gold in golds
                for role in sample.roles
            )
            proof = sample.proofs[-1].model_copy(
                update={"dates": tuple(dates), "used": tuple(dict.fromkeys(filter(None, used)))}
            )
            hops = [hop.model_copy(update={"gold": answers}) for hop in sample.hops[-1:]]
            fields = {
                "gold": list(answers),
                "golds": [gold.model_dump(mode="json") for gold in golds],
                "others": [*others],
                "outdated": [*others] if sample.kind == "current" else [],
                "hops": [hop.model_dump(mode="json") for hop in (*sample.hops[:-1], *hops)],
                "proofs": [each.model_dump(mode="json") for each in (*sample.proofs[:-1], proof)],
            }
            return ShiftedWorld(sample=fields, pages=_changed_pages(table, moved, own, text_at))
    raise CannotShift(f"no other dates of its rows were found in {TRIES} tries")


def retold_pages(
    sample: TdbenchSample,
    tables: Sequence[MaterialTable],
    text_at: Callable[[str], str | None],
    change: Callable[[str], str],
) -> tuple[ChangedPage, ...]:
    """The question's `Task.retell`: rows of its group have each other's answers."""
    table, own, column = tables[0], sample.relevant[0], sample.answers[0]
    place = table.columns.index(column)
    if len(sample.answers) > 1 or place in time_places(table) or sample.hops:
        raise CannotShift("their answers are no single cells of the first table")
    rows = list(table.rows)
    for n in own:
        rows[n] = (*rows[n][:place], change(str(rows[n][place])), *rows[n][place + 1 :])
    return _changed_pages(table, table.model_copy(update={"rows": tuple(rows)}), own, text_at)


def exchanged(table: MaterialTable, own: Sequence[int], rng: Random) -> MaterialTable:
    """The table where these rows have each other's dates."""
    start, end = time_places(table)
    rows = list(table.rows)
    for row, other in zip(own, rng.sample(list(own), len(own)), strict=True):
        cells = list(table.rows[row])
        cells[start], cells[end] = table.rows[other][start], table.rows[other][end]
        rows[row] = tuple(cells)
    return table.model_copy(update={"rows": tuple(rows)})


def golds_in(sample: TdbenchSample, tables: Sequence[MaterialTable]) -> tuple[GoldRow, ...]:
    """The rows of the group that the question's statement finds, by start and answer."""
    with closing(sqlite3.connect(":memory:")) as base:
        for table, own in zip(tables, sample.relevant, strict=True):
            columns = ", ".join(f"{identifier(name)} TEXT" for name in table.columns)
            marks = ", ".join("?" for _ in table.columns)
            base.execute(f"CREATE TABLE {identifier(table.name)} ({columns})")
            rows = (table.rows[index] for index in own)
            base.executemany(f"INSERT INTO {identifier(table.name)} VALUES ({marks})", rows)
        found = {(", ".join(row[:-2]), *row[-2:]) for row in base.execute(sample.sql["sqlite"])}
    golds = [
        GoldRow(answer=answer, start=start, end=end, row=index)
        for index in sample.relevant[0]
        if (cells := _cells(sample, tables[0], index)) in found
        for answer, start, end in (cells,)
    ]
    return tuple(sorted(golds, key=lambda gold: (gold.start, gold.answer)))


def _cells(sample: TdbenchSample, table: MaterialTable, index: int) -> tuple[str, str, str | None]:
    """Answer, start and end of a row."""
    row, (start, end) = table.rows[index], time_places(table)
    answer = ", ".join(str(row[table.columns.index(name)]) for name in sample.answers)
    return answer, str(row[start]), None if row[end] is None else str(row[end])


def _seams(sample: TdbenchSample, table: MaterialTable) -> int:
    """How often a row follows one of the same answer at once, or overlaps it: two rows that a
    reader could take for one. 0 where that would not change the answer."""
    if sample.kind in ("current", "hops"):
        return 0
    cells = sorted(_cells(sample, table, index) for index in sample.relevant[0])
    return sum(
        one[0] == two[0] and (one[2] is None or two[1] <= one[2])
        for one, two in itertools.pairwise(cells)
    )


def _changed_pages(
    table: MaterialTable,
    moved: MaterialTable,
    own: Sequence[int],
    text_at: Callable[[str], str | None],
) -> tuple[ChangedPage, ...]:
    """The pages of the rows, rendered as the run's web renders them."""
    for level in LIKELY_FIRST:
        plain = [(s.url, s.title, s.text) for s in table_pages(table, level, own)]
        shifted = [(s.url, s.title, s.text) for s in table_pages(moved, level, own)]
        changed = ChangedPage.between(plain, shifted)
        texts = {url: text for url, _, text in plain}
        if all(text_at(page.was) == texts[page.was] for page in changed if page.was is not None):
            return changed
    raise CannotShift("the run's web has other pages of its table than the samples")


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
