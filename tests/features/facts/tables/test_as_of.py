"""Tables as of a day: what had begun, what still lasted, what was announced, and nothing else."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.facts.tables import tables
from agent_env.features.facts.tables.as_of import material_as_of, tables_as_of, undated_rows
from agent_env.features.facts.tables.tables import EventRow, FactTables, TermRow
from agent_env.features.facts.tables.temporal_table import TemporalRow, TemporalTable, as_of
from agent_env.records.schema import MaterialTable
from agent_env.temporal.days import PartialDate


def event(name, start, end, kind="war", years=(), summary="One side won."):
    bounds = [PartialDate.parse(day) if day else None for day in (start, end)]
    return EventRow(name, kind, summary, "a hint", *bounds, years, "Source")


def events_on(day, *rows):
    return tables_as_of(FactTables(rows, (), ()), date.fromisoformat(day)).events


def test_what_is_over_lasts_or_is_planned_is_told_as_such():
    war = event("the war", "1914-07-28", "1918-11-11")
    assert events_on("1914-07-27", war) == ()
    (going_on,) = events_on("1918-11-10", war)
    assert (going_on.start, going_on.end) == (war.start, None)
    assert (going_on.summary, going_on.hint) == ("", "")
    assert events_on("1918-11-11", war) == (war,)
    row = event("a fair", None, None, years=(1908, 1948, 2012))
    assert events_on("1908-12-31", row) == ()
    assert [each.years for each in events_on("1949-01-01", row)] == [(1908, 1948)]
    row = event("x", "1899-05-18", "1899-07-29", summary="The first; the second was in 1907.")
    told = [events_on(day, row)[0].summary for day in ("1906-12-31", "1907-01-01")]
    assert told == ["", row.summary]
    games = event("the games", "1966-07-11", "1966-07-30", "tournament")
    world = FactTables((games, event("the war", "1966-07-11", "1966-07-30")), (), ())
    days = (date(1964, 1, 22), date(1964, 1, 23), date(1966, 7, 10), date(1966, 7, 11))
    planned = [tables_as_of(world, day).planned for day in days]
    names = [[row.event for row in rows] for rows in planned]
    assert names == [[], ["the games"], ["the games"], []]
    (row,) = planned[2]
    assert (row.summary, row.hint, row.start, row.end) == ("", "", games.start, games.end)
    rows = tuple(event(f"the {n}th Games of Ny", f"190{n}-05-01", f"190{n}-05-09", "games")
                 for n in (4, 5, 6))  # fmt: skip
    planned = tables_as_of(FactTables(rows, (), ()), date(1904, 5, 2)).planned
    assert [row.event for row in planned] == ["the 5th Games of Ny"]
    world = FactTables(
        (),
        (TermRow("A", date(1993, 1, 20), date(2001, 1, 20), ""),
         TermRow("B", date(2001, 1, 20), None, "")),
        (tables.LifeRow("C", "mayor who wrote a book", date(1930, 5, 5), date(2003, 2, 1), "C"),),
        (tables.IntervalRow("C", "heads", "D", date(1990, 1, 1), date(1996, 1, 1)),),
    )  # fmt: skip
    then = tables_as_of(world, date(1995, 6, 1))
    assert [(row.person, row.end) for row in then.presidents] == [("A", None)]
    assert [row.end for row in then.intervals] == [None]
    assert then.people == ()
    assert [(row.person, row.description) for row in then.living] == [("C", "")]
    later = tables_as_of(world, date(2003, 2, 1))
    assert (later.people, later.living) == (world.people, ())
    assert [row.end for row in later.presidents] == [date(2001, 1, 20), None]
    assert [len(tables_as_of(world, date(1946, 5, day)).living) for day in (3, 6)] == [0, 1]
    rows = (("a", "spring", None), ("b", "1995", "1997"), ("c", 1994, ""))
    table = MaterialTable(name="t", columns=("name", "start", "end"), rows=rows)
    assert undated_rows(table) == 1
    assert material_as_of(table, date(1996, 1, 1)).rows == (("b", "1995", None), ("c", 1994, None))


@pytest.mark.parametrize(
    ("start", "end", "day", "known"),
    [
        ("1914-07", "1918", "1914-07-30", None),
        ("1914-07", "1918", "1914-07-31", ("1914-07", None)),
        ("1914-07", "1918", "1918-12-30", ("1914-07", None)),
        ("1914-07", "1918", "1918-12-31", ("1914-07", "1918")),
        (None, "1918", "1918-12-30", None),
        (None, "1918", "1918-12-31", (None, "1918")),
        ("1914", None, "2024-01-01", ("1914", None)),
    ],
)
def test_a_month_or_a_year_is_past_when_its_last_day_is(start, end, day, known):
    rows = events_on(day, event("x", start, end))
    found = [tuple(each and str(each) for each in (row.start, row.end)) for row in rows]
    assert found == ([known] if known else [])


DAYS = st.dates(date(1990, 1, 1), date(1999, 12, 31))


@given(st.lists(st.tuples(DAYS, st.none() | DAYS), max_size=6), DAYS)
def test_a_material_is_what_its_temporal_table_is_as_of_the_day(spans, day):
    rows = tuple(
        TemporalRow((f"n{n}",), start, end)
        for n, (start, end) in enumerate(spans)
        if end is None or start < end
    )
    table = TemporalTable("t", ("name",), rows)
    assert material_as_of(table.material(), day) == as_of(table, day).material()
