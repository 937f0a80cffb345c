"""Generated questions: right by an oracle that shares nothing, by a plain reader of their words and
in the world; the same from the same seed."""

import re
from collections import Counter

import pytest

from agent_env.families.timed_facts.sample import timed
from agent_env.features.extraction.wording import read_query
from tests.questions import questions
from tests.tables import tables

from .oracle import brute_force, months_of

NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
CASES = tables(__file__)
BOTH = pytest.mark.parametrize("family", ["tempreason", "timeqa"])
WITH_NONE = {"answers": ("single", "multi", "none")}


def make(family, count, seed=3, **options):
    return tuple(map(timed, questions(family, count, seed, **options)[0].samples))


def number(text):
    name, year = text[:3], text.split(" ")[-1]
    return int(year) * 12 + NAMES.index(name)


@BOTH
def test_every_gold_answer_is_what_going_through_the_months_gives(family):
    made = make(family, 1000, **WITH_NONE)
    assert len(made) == 1000
    for asked in made:
        assert brute_force(asked.own_facts, asked.query()) == set(asked.gold), asked.id
    for asked in make(family, 500, **WITH_NONE):  # by its words alone
        query = read_query(asked.question, tuple(fact.value for fact in asked.own_facts))
        assert brute_force(asked.own_facts, query) == set(asked.gold), asked.question


@BOTH
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(family):
    assert make(family, 60) == make(family, 60) != make(family, 60, seed=4)


def test_cells_months_and_relations_are_drawn_as_wished():
    asked = make("tempreason", 1, per_cell=7, levels=("L1", "L2", "L3"), **WITH_NONE)
    cells = "L1-single L2-single L2-multi L2-none L3-single L3-multi L3-none".split()
    assert Counter(each.cell for each in asked) == dict.fromkeys(cells, 7)
    asked = make("tempreason", 600, levels=("L2",), **WITH_NONE)
    boundaries = Counter(each.boundary for each in asked)
    assert set(boundaries) == {"first", "last", "inside", "just-before", "just-after"}
    assert min(boundaries.values()) > 30
    assert len({asked.kind for asked in make("tempreason", 200)}) == 8
    kinds = ("owner", "coach")
    assert {asked.kind for asked in make("tempreason", 30, kinds=kinds)} == {*kinds}


def test_closed_books_tables_and_webs(tmp_path):
    (asked, *_) = make("tempreason", 4)
    assert asked.context("closed-book") == ""
    assert asked.context("reasonqa").count("\n") == len(asked.facts) - 1
    assert asked.context("open-book") != asked.context("reasonqa")
    table = tmp_path / "intervals.csv"
    rows = [f"P,plays_for,Club {n},{1990 + n}-03-05,{1991 + n}-06-07\n" for n in range(5)]
    table.write_text("subject,relation,object,start,end\n" + "".join(rows))
    asked = make("tempreason", 8, intervals=table, levels=("L2",))
    assert [each.topic for each in asked] == ["P"] * 8
    for each in asked:
        assert brute_force(each.own_facts, each.query()) == set(each.gold)


@pytest.mark.parametrize("setting", ["reasonqa", "closed-book"])
def test_a_month_beside_another_is_asked_by_what_held_in_it(setting):
    made = make("timeqa", 400, setting=setting, levels=("hard",))
    words = re.compile(r"in the month (before|after) (\w+ \d+)\?$")
    beside = [(each, match) for each in made if (match := words.search(each.question))]
    assert {match[1] for _, match in beside} == {"before", "after"}
    for each, match in beside:
        at = number(match[2]) + (1 if match[1] == "after" else -1)
        assert set(each.gold) == {f.value for f in each.own_facts if at in months_of(f)}, each.id
    assert not any(re.search(r"for right |right (before|after) \d", q.question) for q in made)


@pytest.mark.parametrize(("when", "first", "last"), CASES["beside"])
def test_the_month_and_the_year_beside_another_are_read(when, first, last):
    query = read_query(f"Which team did T play for {when}?")
    assert query.relation == "in"
    assert (query.reference.first, query.reference.last) == (number(first), number(last))


@BOTH
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_closed_book_golds_hold_in_the_world(family, seed):
    world = []
    for start, end, name in CASES["presidents"]:
        first, last = (int(text[:4]) * 12 + int(text[5:]) - 1 for text in (start, end))
        world.append((name, set(range(first, last + 1))))
    made = make(family, 60, seed, setting="closed-book")
    assert len(made) >= 30
    for each in made:
        query = each.query()
        if isinstance(query.reference, str):
            names = [name for name, _ in world]
            at = names.index(query.reference)
            right = {names[at + (1 if query.relation == "after" else -1)]}
        else:
            asked = set(range(query.reference.first, query.reference.last + 1))
            enough = len(asked) if query.relation == "throughout" else 1
            assert max(asked) <= 2025 * 12 + 11
            right = {name for name, months in world if len(asked & months) >= enough}
        assert set(each.gold) == right, each.question


@BOTH
def test_a_closed_book_asks_for_no_empty_answer(family, tmp_path):
    table = tmp_path / "intervals.csv"
    table.write_text(
        "subject,relation,object,start,end\n"
        "P,plays_for,A,1990-01-01,1991-06-30\nP,plays_for,B,1993-01-01,1995-06-30\n"
        "P,plays_for,C,1995-07-01,1999-01-01\n"
    )
    for each in make(family, 60, setting="closed-book", intervals=table):
        assert "before B" not in each.question  # who came between A and B is not told
        assert "after A" not in each.question
        query = each.query()
        if not isinstance(query.reference, str):
            asked = range(query.reference.first, query.reference.last + 1)
            known = set().union(*map(months_of, each.own_facts))
            assert known.issuperset(asked), each.question
