"""A question without its rows has a gold that holds in the world, not in the table alone."""

from datetime import date
from pathlib import Path

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.completeness import is_complete
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.prompts import wish
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.sources import SHIPPED
from agent_env.temporal.allen import FOREVER, Interval
from tests.tables import each
from tests.temporal.relations import HOLDS

UNLISTED = Path(__file__).parent / "data" / "unlisted.csv"
"""Who held the posts before the packaged tables begin and in their gaps, acting ones too."""


def cells(file):
    return [line.split(",") for line in file.read_text("utf-8").splitlines()[1:]]


def world(name, now="2025-06-30"):
    rows = cells(SHIPPED / f"{name}.csv") + cells(UNLISTED)
    return [(*row[:4], row[4] or "9999") for row in rows if row[3] <= now]


def closed(count=390, seed=1, **options):
    values = {"tables": "shipped", "domains": ("offices", "organisations"), "book": "closed"}
    return make(count, seed, TdbenchOptions.model_validate({**values, **options}))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_golds_of_relations_hold_among_all_who_held_the_post(seed):
    everyone = {*world("offices"), *world("organisations")}
    samples = closed(seed=seed, asks="dependent").samples
    assert len(samples) == 390
    for asked in samples:
        right = {
            name
            for *keys, name, start, end in everyone
            if keys == list(asked.asked.values())
            if HOLDS[asked.relation](start, end, asked.b_start, asked.b_end)
        }
        assert set(asked.gold) == right, asked.question
        assert asked.relation != "before"  # nobody knows from the table who came before its rows
        assert wish(asked, "default").startswith("Answer as of 2025-06-30. Write the answer with")


def test_golds_of_hops_and_of_now_hold_among_all_who_held_the_post():
    everyone = world("offices")
    samples = closed(120, kinds=("hops", "current"), phrasings=1).samples
    kinds = [asked.kind for asked in samples]
    assert kinds.count("hops") == 18
    assert kinds.count("current") > 10
    for asked in samples:
        if asked.kind == "current":
            assert len(asked.gold) == 1
            continue
        key, role = asked.asked.values()
        (game,) = [g for g in cells(SHIPPED / "games.csv") if key in g]
        *_, country, start, end = game
        right = {
            name
            for nation, post, name, s, e in everyone
            if (nation, post) == (country, role) and s < end and start < e
        }
        assert right
        assert set(asked.gold) == right, asked.question


def test_an_invented_table_is_the_whole_world():
    relations = {s.relation for s in closed(90, tables="fictional", domains=("clubs",)).samples}
    assert "before" in relations


def test_what_a_table_cannot_know_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"before with one answer .* in what their tables cover"):
        closed(9, relations=("before",))
    file = tmp_path / "t.csv"
    rows = "".join(f"x,A{n},{1990 + n},{1991 + n}\n" for n in range(9))
    file.write_text(f"post,name,start,end\n{rows}")
    own = {"tables": str(file), "now": "2000-01-01", "domains": (), "granularity": "year"}
    own |= {"question": ("post",), "answer": ("name",)}
    with pytest.raises(ConfigError, match="unique=false leaves open whether the table lists all"):
        closed(9, **own, unique=False)
    found = {s.relation for s in closed(30, **own).samples}
    assert "equals" in found
    assert not found & {"before", "after"}  # nothing is known from 1999 on, either


OPEN = """before 1995 1996, meets 1990 1992, overlaps 1989 1992, during 1989 1992,
during 1991 1997, contains 1988 1989, met-by 1991 1995, after 1991 1993, equals 1995 1996"""
CLOSED = """meets 1991 1992, overlaps 1991 1992, during 1991 1994, contains 1992 1993,
met-by 1991 1994, after 1997 1998"""


def days(*years):
    return [date(int(year), 1, 1).toordinal() for year in years]


@pytest.mark.parametrize(
    ("case", "complete"), each({False: OPEN.split(","), True: CLOSED.split(",")})
)
def test_only_days_without_a_row_leave_a_relation_open(case, complete):
    """The rows cover 1990 to 1995 and 1996 to this day."""
    relation, *b = case.split()
    one, two, three = days(1990, 1995, 1996)
    rows = [Interval(one, two), Interval(three, FOREVER)]
    assert is_complete(rows, days(2000)[0], relation, Interval(*days(*b))) is complete
