"""Shifted worlds of questions from tables: the rows exchange dates, and rules agree with SQL."""

from datetime import date
from functools import cache
from random import Random

import pytest

from agent_env.families.tdbench.shift import SHIFTED, exchanged, golds_in, shifted_world
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.site.tables import table_pages
from agent_env.records.schema import Proof
from agent_env.tasks.task import CannotShift
from agent_env.temporal.allen import Interval, relation
from tests.questions import questions

from .leaders import TABLE, question

KINDS = (*sorted(SHIFTED), "count", "duration")


@cache
def made():
    return questions("tdbench", 42, 5, book="open", kinds=KINDS)[0]


def texts_of(*tables):
    sheets = (sheet for table in tables for sheet in table_pages(table, LEVELS["medium"]))
    return {sheet.url: sheet.text for sheet in sheets}


@cache
def texts():
    return texts_of(*made().tables)


def tables_of(sample):
    return [made().tables_by_digest[digest] for digest in sample.materials]


def interval(start, end):
    first = date.fromisoformat(f"{start}-01-01"[:10])
    return Interval.of(first, None if end is None else date.fromisoformat(f"{end}-01-01"[:10]))


def by_rule(sample, tables):
    """The answers without SQL; of the n-th row by the place that the gold has in the table."""
    places = [tables[0].columns.index(name) for name in sample.answers]
    rows = []
    for index in sample.relevant[0]:
        *_, start, end = row = tables[0].rows[index]
        rows.append((", ".join(row[place] for place in places), interval(start, end), start, end))
    ended = [i.end - i.start for _, i, _, end in rows if end is not None]
    if sample.kind == "relation":
        b = interval(sample.b_start, sample.b_end)
        fits = [relation(i, b) == sample.relation for _, i, _, _ in rows]
    elif sample.kind == "current":
        fits = [end is None for *_, end in rows]
    elif sample.kind == "nth":
        fits = [start == sample.golds[0].start for *_, start, _ in rows]
    elif sample.kind == "longest":
        fits = [end is not None and i.end - i.start == max(ended) for _, i, _, end in rows]
    else:
        game = interval(*tables[1].rows[sample.relevant[1][0]][-2:])
        fits = [i.meet(game) is not None for _, i, _, _ in rows]
    return {row[0] for row, fit in zip(rows, fits, strict=True) if fit}


def test_twins_of_exchanged_tables_and_their_presidents():
    kinds = set()
    for sample in made().samples:
        if sample.kind in SHIFTED and sample.gold:
            kinds.add(sample.kind)
            table, *rest = tables_of(sample)
            for seed in range(3):
                moved = [exchanged(table, sample.relevant[0], Random(seed)), *rest]
                assert {row.answer for row in golds_in(sample, moved)} == by_rule(sample, moved)
    assert kinds == SHIFTED
    for sample in made().samples:
        try:
            world = shifted_world(sample, tables_of(sample), Random(1), texts().get)
        except CannotShift:
            continue
        twin = type(sample).model_validate(sample.model_dump(mode="json") | world.sample)
        kinds.add(sample.kind)
        assert (twin.question, len(twin.gold)) == (sample.question, len(sample.gold))
        assert set(twin.gold) != set(sample.gold)
        assert set(twin.gold).isdisjoint(twin.others)
        assert set(twin.gold) | set(twin.others) == set(sample.gold) | set(sample.others)
        assert {gold.start for gold in twin.golds} <= set(twin.proofs[-1].dates)
        assert [hop.gold for hop in twin.hops[-1:]] == [twin.gold for _ in twin.hops[-1:]]
        assert twin.hops[:-1] == sample.hops[:-1]
    assert kinds == SHIFTED
    statement = (
        "SELECT name, start, end FROM leader WHERE country = 'Aland' ORDER BY start LIMIT 1, 1"
    )
    proof = Proof(constraint=0, urls=(), dates=("1999-05-18",), used=(), shares="span")
    sample = question(
        1, kind="nth", relation="nth", relevant=((0, 1, 2, 3),), sql={"sqlite": statement},
        proofs=(proof,),
    )  # fmt: skip
    world = shifted_world(sample, [TABLE], Random(2), texts_of(TABLE).get)
    assert (sample.gold, world.sample["gold"]) == (("Carl Dahl",), ["Gun Holm"])
    assert world.sample["golds"] == [
        {"answer": "Gun Holm", "start": "1999-05-18", "end": "2006-05-15", "row": 3}
    ]
    assert world.sample["proofs"][0]["dates"] == ["1999-05-18", "2006-05-15"]
    text = next(page.text for page in world.pages if page.title == "Aland")
    assert text.splitlines()[2:6] == [
        "1: Aland | president | Ada Berg | May 28, 1992 | May 18, 1999",
        "2: Aland | president | Gun Holm | May 18, 1999 | May 15, 2006",
        "3: Aland | president | Eva Fors | May 15, 2006 | January 14, 2015",
        "4: Aland | president | Carl Dahl | January 14, 2015 | still",
    ]
    sample = next(each for each in made().samples if each.kind == "longest")
    with pytest.raises(CannotShift, match="the run's web has other pages of its table"):
        shifted_world(sample, tables_of(sample), Random(1), lambda url: "other")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "count"}, "questions of kind count"),
        ({"kind": "duration"}, "questions of kind duration"),
        ({"gold": ()}, "no exchange of dates gives them an answer"),
    ],
)
def test_what_no_exchange_of_dates_can_change_is_not_shifted(changes, reason):
    sample = made().samples[0].model_copy(update=changes)
    with pytest.raises(CannotShift, match=reason):
        shifted_world(sample, tables_of(sample), Random(1), texts().get)
