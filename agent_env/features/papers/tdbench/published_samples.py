"""Makes samples of a published set, so that it can be run like our own.

Gold is what the stored statement returns, where these are the stored rows; a question for which
they differ is refused unless the user says whose rows to take. The relation decides which dates are
asked for (Table 10 of the paper): its half `started-by` and `finished-by` name one bound. The rows
of a join carry the dates of the first event, not those of the answer, so T is not measured there.
The precision is the year where all dates of a table are 1 January, else the month, as the published
files have it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from typing import Literal

from agent_env.families.tdbench import query
from agent_env.families.tdbench.sample import (
    Certificate,
    GoldRow,
    Granularity,
    Hop,
    Role,
    TdbenchSample,
    cardinality_of,
)
from agent_env.features.facts.tables.temporal_table import LENGTHS
from agent_env.features.papers.tdbench.published import (
    Blank,
    CheckedQuestion,
    PublishedQuestion,
    PublishedSet,
)
from agent_env.features.papers.tdbench.published_sql import Columns, Reading, Row, is_open, iso_day
from agent_env.sdk.family import SampleSet
from agent_env.sdk.records import MaterialTable

ROLES: Mapping[str, tuple[Role, ...]] = {
    **query.ROLES, "started-by": ("start",), "finished-by": ("end",), "hops": (),
}  # fmt: skip
"""Which dates are asked for; both for relations that are not listed."""
_EQUALS = re.compile(
    r"(?:\"([^\"]{1,100})\"|`([^`]{1,100})`|\[([^\[\]]{1,100})\]|(?<!\w)(\w++))\s*+=\s*+"
    r"(?:\"([^\"]*)\"|'((?:[^']|'')*)')"
)
_SELECT = re.compile(r"select\s++(.{0,300}?)(?<!\s)\s++from\b", re.I | re.S)
IRRELEVANT = 4
"""Rows of other groups that the open book shows."""
Differing = Literal["refuse", "stored", "returned"]
"""What becomes of a question whose statement returns other rows than those stored: no sample, the
published gold, or the corrected one."""


def published_samples(
    published: PublishedSet, now: date | None, differing: Differing = "refuse"
) -> SampleSet:
    """One sample for each phrasing of each question that can be run, and one for each blank."""
    tables = {id(table): _Shown.of(table) for table in published.tables}
    proofs = {(proof.file, proof.group): proof for proof in published.proofs}
    samples: list[TdbenchSample] = []
    refused = 0
    for checked in published.questions:
        if checked.table is None or checked.rows is None:
            continue
        if checked.reason and differing == "refuse":
            refused += 1
            continue
        agrees = not checked.reason
        proof = proofs[checked.file, checked.question.group]
        certificate = Certificate(
            file=checked.file,
            folder=published.folder,
            reading=proof.reading.words,
            stored=proof.stored,
            reproduced=proof.reproduced,
            agrees=agrees,
            gold="both" if agrees or differing == "refuse" else differing,
        )
        shown = tables[id(checked.table)]
        day = checked.reading.now or (now.isoformat() if now else shown.last_day)
        rows: Sequence[Row] = checked.rows
        if certificate.gold == "stored":
            answers = _answer_columns(rows, checked.question)
            returned = tuple(_gold(row, answers, shown, checked.reading) for row in rows)
            certificate = certificate.model_copy(update={"returned": returned})
            rows = checked.question.correct_rows
        samples += _samples(checked, rows, shown, day, certificate)
    made = max((p.reading.now or "" for p in published.proofs), default="")
    day = (now.isoformat() if now else made) or max(
        (s.last_day for s in tables.values()), default=""
    )
    samples += [_blank(blank, day) for blank in published.blanks]
    used = {digest for sample in samples for digest in sample.materials}
    materials = [shown.material for shown in tables.values()]
    by_digest = {material.digest: material for material in materials if material.digest in used}
    left_out = {REFUSED: refused} if refused else {}
    notes = tuple(published.notes)
    return SampleSet(tuple(samples), tuple(by_digest.values()), left_out, notes=notes)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A table as samples show it, with what is read of all its rows once."""

    table: Columns
    material: MaterialTable
    digest: str
    precision: Granularity
    last_day: str
    """The last start or end that is no far day: the table was known no earlier."""
    cells: tuple[Row, ...]
    """Its rows by column, in small letters."""

    @classmethod
    def of(cls, table: Columns) -> _Shown:
        """The days are cut to the year where every start is a 1 January, else to the month."""
        years = all(iso_day(day)[4:] in ("-01-01", "") for day in table.days("start"))
        precision: Granularity = "year" if years else "month"
        time = {table.place("start"), table.place("end")}
        rows = tuple(
            tuple(
                iso_day(cell)[: LENGTHS[precision]] if place in time and cell else cell
                for place, cell in enumerate(row)
            )
            for row in table.rows
        )
        name = re.sub(r"\W+", "_", table.name.lower()).strip("_") or "table"
        material = MaterialTable(name=f"t_{name}"[:60], columns=table.columns, rows=rows)
        days = (iso_day(day)[:10] for day in table.days("start", "end"))
        last = max((day for day in days if re.fullmatch(r"[12]\d{3}-\d\d-\d\d", day)), default="")
        cells = tuple(_folded(dict(zip(table.columns, row, strict=True))) for row in table.rows)
        return cls(table, material, material.digest, precision, last, cells)


def _folded(row: Row) -> Row:
    return {name.casefold(): value for name, value in row.items()}


REFUSED = "questions whose statement returns other rows than those stored"


def _samples(
    checked: CheckedQuestion, rows: Sequence[Row], shown: _Shown, now: str,
    certificate: Certificate,
) -> list[TdbenchSample]:  # fmt: skip
    question, table = checked.question, shown.table
    keys = _keys(question, table)
    answers = _answer_columns(rows, question)
    golds = tuple(_gold(row, answers, shown, checked.reading) for row in rows)
    gold = tuple(dict.fromkeys(row.answer for row in golds))
    named = [(name.casefold(), value) for name, value in keys.items()]
    group = tuple(
        n for n, row in enumerate(shown.cells) if all(row[name] == value for name, value in named)
    )
    others = [_joined(shown.cells[n], answers) for n in group]
    others += [_joined(row, answers) for row in question.incorrect_rows]
    wrong = tuple(dict.fromkeys(value for value in others if value and value not in gold))
    relation = question.relation
    name = f"{_short(checked.file)}-{question.idx}"
    # the group and some other rows, in an order that depends on the query's name
    count = len(table.rows)
    rng = Random(name)
    rest = [number for number in range(count) if number not in set(group)]
    indices = [*group, *rng.sample(rest, min(IRRELEVANT, len(rest)))]
    rng.shuffle(indices)
    common = {
        "gold": gold,
        "materials": (shown.digest,),
        "domain": table.name,
        "kind": relation if relation in ("current", "hops") else "relation",
        "relation": relation,
        "cardinality": cardinality_of(len(gold)),
        "asked": keys,
        "answers": answers,
        "granularity": shown.precision,
        "now": now,
        "golds": golds,
        "others": wrong,
        "outdated": wrong if relation == "current" else (),
        "roles": ROLES.get(relation, query.BOTH) if golds else (),
        "hops": _hops(rows, question, keys, answers, shown.cells[group[0]] if group else {}),
        "sql": {"sqlite": question.sql_for_db},
        "context": (tuple(indices),),
        "relevant": (group,),
        "worded_by": "published",
        "certificate": certificate,
    }
    return query.phrased(name, [text.strip() for text in question.questions], **common)


def _short(file: str) -> str:
    """A file's name as part of an id; with a digest, as the ids of two folders may not collide."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", file.rsplit("/", 1)[-1].rsplit(".", 1)[0]).strip("-")
    return f"{plain[:60] or 'set'}-{hashlib.sha256(file.encode()).hexdigest()[:6]}"


def _keys(question: PublishedQuestion, table: Columns) -> dict[str, str]:
    """The columns, but those of time, that the statement compares with a text, and the texts."""
    keys = {}
    for *names, double, single in _EQUALS.findall(question.sql_for_db):
        name = next(name for name in names if name)
        if table.place(name) is not None and name.casefold() not in ("start", "end"):
            keys[name] = double or single.replace("''", "'")
    return keys


def _answer_columns(rows: Sequence[Row], question: PublishedQuestion) -> tuple[str, ...]:
    """What the statement selects beside the dates; of a join the first, as the others are hops."""
    if rows:
        names = list(rows[0])
    else:
        match = _SELECT.search(question.sql_for_db)
        parts = match[1].split(",") if match else []
        names = [part.strip().split(".")[-1].strip('"`[] ') for part in parts]
    selected = [name for name in names if name.casefold() not in ("start", "end", "*")]
    return tuple(selected[:1] if question.relation == "hops" else selected)


def _gold(row: Row, answers: Sequence[str], shown: _Shown, reading: Reading) -> GoldRow:
    cells, answer, length = _folded(row), _joined(row, answers), LENGTHS[shown.precision]
    day = iso_day(str(cells.get("start") or ""))
    end = cells.get("end")
    lasting = end is None or is_open(str(end), reading)
    rows = (  # of the table that have the answer and the start
        number
        for number, own in enumerate(shown.cells)
        if "start" not in own or iso_day(str(own["start"] or "")) == day
        if _joined(own, answers) == answer
    )
    return GoldRow(
        answer=answer,
        start=day[:length],
        end=None if lasting else iso_day(str(end))[:length],
        row=next(rows, 0),
    )


def _joined(row: Row, answers: Sequence[str]) -> str:
    cells = _folded(row)
    values = [cells.get(name.casefold()) for name in answers]
    return ", ".join(str(value) for value in values if value is not None)


def _hops(
    rows: Sequence[Row],
    question: PublishedQuestion,
    keys: Mapping[str, str],
    answers: Sequence[str],
    event_row: Row,
) -> tuple[Hop, ...]:
    """The hops of a join: of three first the event's city, as the authors do; the columns beside
    the answer with the first event's month; the answer."""
    if question.relation != "hops" or not rows:
        return ()
    cells = {name.casefold(): str(value) for name, value in rows[0].items()}
    between = [n for n in cells if n not in ("start", "end", *map(str.casefold, answers))]
    month = iso_day(cells.get("start", ""))[:7]
    gold = (*(cells[name] for name in between), *((month,) if month else ()))
    event = " and ".join(f"{name} {value}" for name, value in keys.items())
    final = tuple(dict.fromkeys(_joined(row, answers) for row in rows))
    known = {"start", "end", *map(str.casefold, (*keys, *answers)), *between}
    free = sorted((name for name in event_row if name not in known), key=lambda n: n != "city")
    middle = [Hop(asks=f"{n} of {event}", gold=(str(event_row[n]),)) for n in free if event_row[n]]
    return (
        *middle[: question.hops - 2],
        Hop(asks=f"{', '.join(between)} and month, of {event}", gold=gold),
        Hop(asks=", ".join(answers), gold=final),
    )


def _blank(blank: Blank, now: str) -> TdbenchSample:
    """A gap to fill: what holds now, and since which month."""
    start = iso_day(blank.start) if blank.start.strip() else ""
    precise: Granularity = "year" if len(blank.start.strip()) == 4 else "month"
    name = f"{_short(blank.file)}-{blank.line}"
    golds = (GoldRow(answer=blank.answer, start=start[: LENGTHS[precise]], end=None, row=0),)
    (sample,) = query.phrased(
        name,
        [f"Fill the gap: {blank.statement}"],
        gold=(blank.answer,),
        domain=blank.file.rsplit("/", 1)[-1].rsplit(".", 1)[0],
        kind="current",
        relation="current",
        cardinality="unique",
        asked={},
        answers=("answer",),
        granularity=precise,
        now=now,
        golds=golds,
        others=blank.former,
        outdated=blank.former,
        roles=("start",) if start else (),
        worded_by="published",
    )
    return sample
