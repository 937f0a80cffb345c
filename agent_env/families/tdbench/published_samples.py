"""Makes samples of a published set, so that it can be run like our own.

Gold is what the stored statement gives now; a question whose statement cannot be run is left out.
Dates are asked for as the relation says (Table 10 of the paper): its half `started-by` and
`finished-by` name one bound. The rows of a join carry the dates of the first event, not those of
the answer, so T is not measured there. The precision is the year where all dates of a table are
1 January, else the month, as the published files have it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from random import Random

from agent_env.families.tdbench.published import Blank, Checked, Published, PublishedQuestion
from agent_env.families.tdbench.published_sql import Columns, Row, iso_day
from agent_env.families.tdbench.sample import NAME, GoldRow, Granularity, Hop, Role, TdbenchSample
from agent_env.records.schema import MaterialTable
from agent_env.tasks.family import Made

ROLES: Mapping[str, tuple[Role, ...]] = {
    "after": ("start",),
    "met-by": ("start",),
    "started-by": ("start",),
    "current": ("start",),
    "before": ("end",),
    "meets": ("end",),
    "finished-by": ("end",),
    "hops": (),
}
"""Which dates are asked for; both where nothing else is said."""
BOTH: tuple[Role, ...] = ("start", "end")
_EQUALS = re.compile(r"(?<!\w)(\w++)\s*+=\s*+(?:\"([^\"]*)\"|'((?:[^']|'')*)')")
_LENGTHS = {"year": 4, "month": 7, "day": 10}
IRRELEVANT = 4
"""Rows of other groups that the open book shows."""


def published_samples(found: Published, now: date) -> Made:
    """One sample for each phrasing of each question that can be run, and one for each blank."""
    tables = {id(table): _material(table, now) for table in found.tables}
    samples: list[TdbenchSample] = []
    for checked in found.checked:
        if checked.table is not None and checked.found is not None:
            samples += _samples(checked, checked.table, tables[id(checked.table)], now)
    samples += [_blank(blank, now) for blank in found.blanks]
    named = {digest for sample in samples for digest in sample.materials}
    kept = {table.digest: table for table in tables.values() if table.digest in named}
    return Made(tuple(samples), tuple(kept.values()))


def granularity(table: Columns) -> Granularity:
    """Year where every start is a 1 January, else month."""
    place = table.place("start")
    starts = [row[place] for row in table.rows if place is not None]
    return "year" if all(iso_day(day or "")[4:] in ("-01-01", "") for day in starts) else "month"


def _material(table: Columns, now: date) -> MaterialTable:
    """The table as it is shown and searched: days cut to the precision."""
    length = _LENGTHS[granularity(table)]
    days = {table.place("start"), table.place("end")}
    rows = tuple(
        tuple(
            iso_day(cell)[:length] if place in days and cell else cell
            for place, cell in enumerate(row)
        )
        for row in table.rows
    )
    name = re.sub(r"\W+", "_", table.name.lower()).strip("_") or "table"
    return MaterialTable(name=f"t_{name}"[:60], columns=table.columns, rows=rows)


def _samples(
    checked: Checked, table: Columns, material: MaterialTable, now: date
) -> Iterable[TdbenchSample]:
    question = checked.question
    asked = _asked(question)
    answers = _answer_columns(checked.found or (), question, table, asked)
    golds = tuple(_gold(row, answers, table, now) for row in checked.found or ())
    gold = tuple(dict.fromkeys(row.answer for row in golds))
    group = _group(table, asked)
    others = [_value(table.rows[n], table, answers) for n in group]
    others += [_joined(row, answers) for row in question.incorrect_rows]
    wrong = tuple(dict.fromkeys(value for value in others if value and value not in gold))
    relation = question.relation
    query = f"{_short(checked.file)}-{question.idx}"
    common = {
        "task": NAME,
        "gold": gold,
        "materials": (material.digest,),
        "query": query,
        "domain": table.name,
        "kind": relation if relation in ("current", "hops") else "relation",
        "relation": relation,
        "cardinality": ("none", "unique", "multiple")[min(2, len(gold))],
        "asked": asked,
        "answers": answers,
        "granularity": granularity(table),
        "now": str(now),
        "golds": golds,
        "others": wrong,
        "outdated": wrong if relation == "current" else (),
        "roles": ROLES.get(relation, BOTH) if golds else (),
        "hops": _hops(checked.found or (), question, asked, answers),
        "sql": {"sqlite": question.sql_for_db},
        "context": (_shown(query, group, len(table.rows)),),
        "relevant": (group,),
        "worded_by": "published",
    }
    for number, text in enumerate(question.questions):
        yield TdbenchSample.model_validate(
            {**common, "id": f"{query}-{number}", "phrasing": number, "question": text.strip()}
        )


def _short(file: str) -> str:
    """A file's name as part of an id; with a digest, as the ids of two folders may not collide."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", file.rsplit("/", 1)[-1].rsplit(".", 1)[0]).strip("-")
    return f"{plain[:60] or 'set'}-{hashlib.sha256(file.encode()).hexdigest()[:6]}"


def _asked(question: PublishedQuestion) -> dict[str, str]:
    """The columns that the statement compares with a text."""
    found = _EQUALS.findall(question.sql_for_db)
    return {name: double or single.replace("''", "'") for name, double, single in found}


def _answer_columns(
    rows: Sequence[Row], question: PublishedQuestion, table: Columns, asked: Mapping[str, str]
) -> tuple[str, ...]:
    """What the statement selects beside the dates; of a join the first, as the others are hops."""
    given = re.search(r"select\s++(.{0,300}?)(?<!\s)\s++from\b", question.sql_for_db, re.I | re.S)
    names = [name.strip(' "`') for name in given[1].split(",")] if given else []
    kept = [name for name in names if name.casefold() not in ("start", "end", "*")]
    if not kept and rows:
        kept = [name for name in rows[0] if name.casefold() not in ("start", "end")]
    return tuple(kept[:1] if question.relation == "hops" else kept)


def _gold(row: Row, answers: Sequence[str], table: Columns, now: date) -> GoldRow:
    cells = {name.casefold(): value for name, value in row.items()}
    length = _LENGTHS[granularity(table)]
    start = iso_day(str(cells.get("start") or ""))[:length]
    end = cells.get("end")
    lasting = end is None or iso_day(str(end)) == str(now)
    return GoldRow(
        answer=_joined(row, answers),
        start=start,
        end=None if lasting else iso_day(str(end))[:length],
        row=_place(table, cells, answers),
    )


def _joined(row: Row, answers: Sequence[str]) -> str:
    cells = {name.casefold(): value for name, value in row.items()}
    values = [cells.get(name.casefold()) for name in answers]
    return ", ".join(str(value) for value in values if value is not None)


def _value(row: Sequence[str | None], table: Columns, answers: Sequence[str]) -> str:
    return _joined(dict(zip(table.columns, row, strict=True)), answers)


def _place(table: Columns, cells: Row, answers: Sequence[str]) -> int:
    """The row of the table that has the answer and the start."""
    start, wanted = table.place("start"), _joined(cells, answers)
    day = iso_day(str(cells.get("start") or ""))
    for number, row in enumerate(table.rows):
        if _value(row, table, answers) == wanted and (
            start is None or iso_day(row[start] or "") == day
        ):
            return number
    return 0


def _group(table: Columns, asked: Mapping[str, str]) -> tuple[int, ...]:
    """The rows that have the values asked for, whatever their dates."""
    places = [(place, v) for name, v in asked.items() if (place := table.place(name)) is not None]
    return tuple(n for n, row in enumerate(table.rows) if all(row[p] == v for p, v in places))


def _shown(query: str, group: Sequence[int], count: int) -> tuple[int, ...]:
    """The group and some other rows, in an order that the query's name decides."""
    rng = Random(query)
    rest = [number for number in range(count) if number not in set(group)]
    chosen = [*group, *rng.sample(rest, min(IRRELEVANT, len(rest)))]
    rng.shuffle(chosen)
    return tuple(chosen)


def _hops(
    rows: Sequence[Row],
    question: PublishedQuestion,
    asked: Mapping[str, str],
    answers: Sequence[str],
) -> tuple[Hop, ...]:
    """What a join passes: the columns beside the answer with the first event's month, then the
    answer."""
    if question.relation != "hops" or not rows:
        return ()
    cells = {name.casefold(): str(value) for name, value in rows[0].items()}
    passed = [n for n in cells if n not in ("start", "end", *map(str.casefold, answers))]
    month = iso_day(cells.get("start", ""))[:7]
    gold = (*(cells[name] for name in passed), *((month,) if month else ()))
    named = " and ".join(f"{name} {value}" for name, value in asked.items())
    final = tuple(dict.fromkeys(_joined(row, answers) for row in rows))
    return (
        Hop(asks=f"{', '.join(passed)} and month, of {named}", gold=gold),
        Hop(asks=", ".join(answers), gold=final),
    )


def _blank(blank: Blank, now: date) -> TdbenchSample:
    """A gap to fill: what holds now, with the month since when."""
    start = iso_day(blank.start) if blank.start.strip() else ""
    precise: Granularity = "year" if len(blank.start.strip()) == 4 else "month"
    statement = f"Fill the gap: {blank.statement}"
    query = f"{_short(blank.file)}-{blank.line}"
    golds = (GoldRow(answer=blank.answer, start=start[: _LENGTHS[precise]], end=None, row=0),)
    return TdbenchSample(
        id=f"{query}-0",
        task=NAME,
        gold=(blank.answer,),
        query=query,
        phrasing=0,
        question=statement,
        domain=blank.file.rsplit("/", 1)[-1].rsplit(".", 1)[0],
        kind="current",
        relation="current",
        cardinality="unique",
        asked={},
        answers=("answer",),
        granularity=precise,
        now=str(now),
        golds=golds,
        others=blank.former,
        outdated=blank.former,
        roles=("start",) if start else (),
        worded_by="published",
    )
