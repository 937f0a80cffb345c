"""Golds of generated questions: what a plain reader of the words says, and what held in truth."""

import re
from itertools import product

import pytest

from agent_env.families.timed_facts.family import TEMPREASON, TIMEQA
from agent_env.families.timed_facts.sample import timed
from agent_env.features.extraction.wording import read_query
from tests.tables import tables

from .oracle import brute_force, months_of

NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
CASES = tables(__file__)


def make(family, count, seed=3, **options):
    made = family.make_samples(count, seed, family.options.model_validate(options))
    return tuple(map(timed, made.samples))


def number(text):
    name, year = text[:3], text.split(" ")[-1]
    return int(year) * 12 + NAMES.index(name)


@pytest.mark.parametrize("setting", ["reasonqa", "closed-book"])
def test_a_month_beside_another_is_asked_by_what_held_in_it(setting):
    questions = make(TIMEQA, 400, setting=setting, levels=("hard",))
    words = re.compile(r"in the month (before|after) (\w+ \d+)\?$")
    beside = [(each, match) for each in questions if (match := words.search(each.question))]
    assert {match[1] for _, match in beside} == {"before", "after"}
    for each, match in beside:
        at = number(match[2]) + (1 if match[1] == "after" else -1)
        assert set(each.gold) == {f.value for f in each.own_facts if at in months_of(f)}, each.id
    assert not any(re.search(r"for right |right (before|after) \d", q.question) for q in questions)


@pytest.mark.parametrize("family", [TEMPREASON, TIMEQA], ids=lambda family: family.name)
def test_the_words_alone_give_the_gold(family):
    for each in make(family, 500, answers=("single", "multi", "none")):
        query = read_query(each.question, tuple(fact.value for fact in each.own_facts))
        assert brute_force(each.own_facts, query) == set(each.gold), each.question


@pytest.mark.parametrize(("when", "first", "last"), CASES["beside"])
def test_the_month_and_the_year_beside_another_are_read(when, first, last):
    query = read_query(f"Which team did T play for {when}?")
    assert query.relation == "in"
    assert (query.reference.first, query.reference.last) == (number(first), number(last))


@pytest.mark.parametrize(("family", "seed"), [*product([TEMPREASON, TIMEQA], [1, 2, 3])])
def test_closed_book_golds_hold_in_the_world(family, seed):
    world = []
    for start, end, name in CASES["presidents"]:
        first, last = (int(text[:4]) * 12 + int(text[5:]) - 1 for text in (start, end))
        world.append((name, set(range(first, last + 1))))
    questions = make(family, 60, seed, setting="closed-book")
    assert len(questions) >= 30
    for each in questions:
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


def test_a_closed_book_asks_for_no_empty_answer(tmp_path):
    table = tmp_path / "intervals.csv"
    table.write_text(
        "subject,relation,object,start,end\n"
        "P,plays_for,A,1990-01-01,1991-06-30\nP,plays_for,B,1993-01-01,1995-06-30\n"
        "P,plays_for,C,1995-07-01,1999-01-01\n"
    )
    for family in (TEMPREASON, TIMEQA):
        for each in make(family, 60, setting="closed-book", intervals=table):
            assert "before B" not in each.question  # who came between A and B is not told
            assert "after A" not in each.question
            query = each.query()
            if not isinstance(query.reference, str):
                asked = range(query.reference.first, query.reference.last + 1)
                known = set().union(*map(months_of, each.own_facts))
                assert known.issuperset(asked), each.question
