"""Generated questions: right by an oracle that shares nothing, and the same from the same seed."""

from collections import Counter

import pytest

from agent_env.families.timed_facts.family import TEMPREASON, TIMEQA
from agent_env.families.timed_facts.sample import timed

from .oracle import brute_force

BOTH = pytest.mark.parametrize("family", [TEMPREASON, TIMEQA], ids=lambda family: family.name)
WITH_NONE = {"answers": ("single", "multi", "none")}


def make(family, count, seed=3, **options):
    made = family.make_samples(count, seed, family.options.model_validate(options))
    return tuple(map(timed, made.samples))


@BOTH
def test_every_gold_answer_is_what_going_through_the_months_gives(family):
    questions = make(family, 1000, **WITH_NONE)
    assert len(questions) == 1000
    for asked in questions:
        query = asked.query()
        assert brute_force(asked.own_facts, query) == set(asked.gold), asked.id


@BOTH
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(family):
    assert make(family, 60) == make(family, 60)
    assert make(family, 60, seed=4) != make(family, 60)


def test_cells_months_and_relations_are_drawn_as_wished():
    options = {"per_cell": 7, "levels": ("L1", "L2", "L3"), **WITH_NONE}
    cells = Counter(asked.cell for asked in make(TEMPREASON, 1, **options))
    assert cells == {
        "L1-single": 7, "L2-single": 7, "L2-multi": 7, "L2-none": 7,
        "L3-single": 7, "L3-multi": 7, "L3-none": 7,
    }  # fmt: skip
    asked = make(TEMPREASON, 600, levels=("L2",), **WITH_NONE)
    assert set(Counter(a.boundary for a in asked)) == {
        "first", "last", "inside", "just-before", "just-after",
    }  # fmt: skip
    assert min(Counter(a.boundary for a in asked).values()) > 30
    assert len({asked.kind for asked in make(TEMPREASON, 200)}) == 8
    assert {a.kind for a in make(TEMPREASON, 30, kinds=("owner", "coach"))} == {"owner", "coach"}


def test_closed_books_tables_and_webs(tmp_path):
    (asked, *_) = make(TEMPREASON, 4)
    assert asked.context("closed-book") == ""
    assert asked.context("reasonqa").count("\n") == len(asked.facts) - 1
    assert asked.context("open-book") != asked.context("reasonqa")
    table = tmp_path / "intervals.csv"
    rows = ["subject,relation,object,start,end"]
    rows += [f"P,plays_for,Club {n},{1990 + n}-03-05,{1991 + n}-06-07" for n in range(5)]
    table.write_text("\n".join(rows) + "\n")
    asked = make(TEMPREASON, 8, intervals=table, levels=("L2",))
    assert len(asked) == 8
    assert {a.topic for a in asked} == {"P"}
    for each in asked:
        query = each.query()
        assert brute_force(each.own_facts, query) == set(each.gold)
