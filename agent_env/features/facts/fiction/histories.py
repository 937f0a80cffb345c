"""Life stories of an invented world: who worked, played, learned or ruled where, by the month.

They are made to be hard to read in a hurry: spells that meet in one month, overlap, begin or
coincide with another, last a single month, or have not ended.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterator
from datetime import date
from random import Random

from agent_env.features.facts.fiction.names import Names
from agent_env.features.facts.tables.tables import IntervalRow, Relation

VERSION = 2
"""Raised whenever the same seed would give other stories."""
RELATIONS: tuple[Relation, ...] = (
    "holds_office", "plays_for", "works_for", "member_of", "attends", "owns", "heads", "manages",
)  # fmt: skip
OF_OBJECT: frozenset[Relation] = frozenset({"owns", "heads", "manages"})
"""Relations whose story is told of the object: who owned it, one after the other."""
_ENDS = {
    "holds_office": "Provost of {}|Warden of {}|Minister, Roads and Canals of {}|Envoy to {}",
    "plays_for": "{} F.C.|{} Rovers|A.S. {}|{} Athletic",
    "works_for": "{}, Thale & Sons|University of {}|{} Institute|The {} Company",
    "member_of": "{} People's Party|Union of {}|{} League, Old Branch",
    "attends": "{} Grammar School|St. Orrin's College, {}|{} Academy",
    "owns": "{} Holdings|{}, Kell & Co.|The {} Trust",
    "heads": "",
    "manages": "",
}
_TOPICS = {"owns": "{} Mill", "heads": "the {} Society", "manages": "{} Wanderers"}
FIRST_YEAR, LAST_YEAR = 1900, 2022
LEAST, MOST = 3, 7


def make_histories(seed: int) -> Iterator[tuple[IntervalRow, ...]]:
    """Stories without end, each of one topic; the same seed gives the same. In each the rows are
    in no order that means anything."""
    rng = Random(f"histories/{VERSION}/{seed}")
    names = Names(rng)
    places = [names.place() for _ in range(400)]
    people = [names.person() for _ in range(400)]
    while True:
        relation = rng.choice(RELATIONS)
        yield tuple(_story(relation, rng, places, people))


def _story(
    relation: Relation, rng: Random, places: list[str], people: list[str]
) -> Iterator[IntervalRow]:
    many = rng.randint(LEAST, MOST)
    of_object = relation in OF_OBJECT
    topic = _TOPICS[relation].format(rng.choice(places)) if of_object else rng.choice(people)
    values = _values(relation, many, rng, places, people)
    spans = _spans(many, rng)
    order = rng.sample(range(many), many)
    for n in order:
        first, last = spans[n]
        who, what = (values[n], topic) if of_object else (topic, values[n])
        yield IntervalRow(
            who, relation, what, date(first // 12, first % 12 + 1, 1), _last_day(last)
        )


def _values(
    relation: Relation, many: int, rng: Random, places: list[str], people: list[str]
) -> list[str]:
    if relation in ("heads", "manages"):
        return rng.sample(people, many)
    forms = _ENDS[relation].split("|")
    return [rng.choice(forms).format(place) for place in rng.sample(places, many)]


def _spans(many: int, rng: Random) -> list[tuple[int, int | None]]:
    """First and last months: one after the other, with gaps, overlaps and coincidences."""
    begin = rng.randint(FIRST_YEAR * 12, (LAST_YEAR - 50) * 12)
    spans: list[tuple[int, int | None]] = []
    for _ in range(many):
        last = begin + rng.choice((0, 2, 11, 24, 37, 60, rng.randint(1, 90)))
        spans.append((begin, last))
        how = rng.random()
        if how < 0.4:
            begin = last  # the next begins in the month in which this one ends
        elif how < 0.6:
            begin = last + 1
        elif how < 0.75:
            begin = last + rng.randint(2, 30)
        elif how < 0.9:
            begin = rng.randint(begin, last)
        else:
            spans.append((begin, last))  # two with one interval
            begin = last + rng.randint(0, 2)
    spans = spans[:many]
    if rng.random() < 0.25:
        spans[-1] = (spans[-1][0], None)
    return spans


def _last_day(month: int | None) -> date | None:
    if month is None:
        return None
    year, index = divmod(month, 12)
    return date(year, index + 1, calendar.monthrange(year, index + 1)[1])
