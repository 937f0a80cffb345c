"""Temporal tables: loading, dependencies, coalescing, snapshots, the natural join."""

from datetime import date
from itertools import product
from random import Random

import pytest

from agent_env.errors import ConfigError
from agent_env.features.facts.tables import temporal_table as tables
from agent_env.features.facts.tables.table_records import load_table
from agent_env.features.facts.tables.temporal_table import Tfd, natural_join, snapshot

D = date.fromisoformat


def table(name, columns, *rows):
    made = (tables.TemporalRow(tuple(v.split()), D(s), D(e) if e else None) for v, s, e in rows)
    return tables.TemporalTable(name, tuple(columns.split()), tuple(made))


LEADERS = table(
    "leaders", "country name",
    ("US Bush", "2001-01-20", "2009-01-20"),
    ("US Obama", "2009-01-20", "2013-01-20"),
    ("US Obama", "2013-01-20", "2017-01-20"),
    ("FR Chirac", "1995-05-17", "2007-05-16"),
    ("FR Macron", "2017-05-14", None),
)  # fmt: skip


def test_rows_and_dependencies_go_by_day(tmp_path):
    merged = [row for row in tables.coalesced(LEADERS).rows if row.values[1] == "Obama"]
    assert [(row.start, row.end) for row in merged] == [(D("2009-01-20"), D("2017-01-20"))]
    known = tables.as_of(LEADERS, D("2005-01-01"))
    assert [(row.values[1], row.end) for row in known.rows] == [("Bush", None), ("Chirac", None)]
    assert [row.values[1] for row in snapshot(LEADERS, D("2009-01-20"))] == ["Obama"]
    spans = ("x", "2001-02-03", "2001-05-01"), ("y", "2001-02-03", "2002-01-01")
    cut, gone = tables.coarser(table("t", "a", *spans), "year")
    (row,) = cut.rows
    assert (gone, row.start, row.end) == (1, D("2001-01-01"), D("2002-01-01"))
    file = tmp_path / "t.csv"
    file.write_text("who,start,end\nA,2001-02,2003-12\n")
    (row,) = load_table(file, end_included=True).rows
    assert (row.start, row.end) == (D("2001-02-01"), D("2004-01-01"))
    two = table("t", "k v", ("a x", "2001-01-01", None), ("a y", "2002-01-01", "2003-01-01"))
    (broken,) = tables.tfd_violations(two, Tfd.of(["k"], ["v"]))
    assert str(broken) == (
        "a, x (2001-01-01 to now) and a, y (2002-01-01 to 2003-01-01) hold at the same time"
    )
    assert not list(tables.tfd_violations(LEADERS, Tfd.of(["country"], ["name"])))
    tfds = [Tfd.of(["games"], ["country"]), Tfd.of(["country", "role"], ["name"])]
    assert tables.closure(["games", "role"], tfds) == {"games", "role", "country", "name"}
    joined = tables.joined_tfds([["games", "role"], ["games"]], ["name"], tfds)
    assert joined == (Tfd.of(["games", "role"], ["name"]),)
    with pytest.raises(ConfigError, match="no column in common"):
        natural_join(LEADERS, table("t", "city", ("x", "2001-01-01", None)), "j")


def test_the_join_is_that_of_the_snapshots_on_every_day():
    rng = Random(1)

    def some(name, columns):
        rows = []
        for _ in range(30):
            start = 730000 + rng.randint(1, 40)
            is_open, days = rng.random() < 0.2, rng.randint(1, 15)
            end = None if is_open else date.fromordinal(start + days)
            values = (rng.choice("abc"), f"{name}{rng.randint(0, 9)}")
            rows.append(tables.TemporalRow(values, date.fromordinal(start), end))
        return tables.TemporalTable(name, columns, tuple(rows))

    left, right = some("l", ("k", "x")), some("r", ("k", "y"))
    joined = natural_join(left, right, "j").table
    assert joined.columns == ("k", "x", "y")
    for number in range(730000, 730060):
        day = date.fromordinal(number)
        expected = sorted(
            (*one.values, other.values[1])
            for one, other in product(snapshot(left, day), snapshot(right, day))
            if one.values[0] == other.values[0]
        )
        assert sorted(row.values for row in snapshot(joined, day)) == expected
