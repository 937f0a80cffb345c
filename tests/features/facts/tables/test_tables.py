"""Tables of intervals are read as written, and their defects are named. One event table holds a
whole world."""

from datetime import date

import pytest

from agent_env.errors import DatasetError
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.tables import tables
from agent_env.features.facts.tables.tables import IntervalRow, read_intervals, shipped_tables

MARA = IntervalRow("Mara Thell", "holds_office", "Reeve", date(1900, 1, 1), date(1903, 12, 31))
JOSS = IntervalRow("Joss Carrow", "holds_office", "Reeve", date(1904, 1, 1), None)
PLAYER = IntervalRow("Joss Carrow", "plays_for", "Rovers", date(1890, 5, 1), date(1892, 5, 1))


def test_tables_and_worlds_are_read_as_written(tmp_path):
    file = tmp_path / "intervals.csv"
    tables.write_intervals([MARA, JOSS, PLAYER], file)
    assert file.read_text().splitlines()[:3] == [
        "subject,relation,object,start,end",
        "Mara Thell,holds_office,Reeve,1900-01-01,1903-12-31",
        "Joss Carrow,holds_office,Reeve,1904-01-01,",
    ]
    assert read_intervals(file) == (MARA, JOSS, PLAYER)
    world, file = make_world(200, seed=4), tmp_path / "world.csv"
    tables.write_world(world, file)
    found = tables.read_world(file, shipped_tables())
    assert (found.events, found.people, found.presidents) == (world.events, world.people, ())
    file = tmp_path / "own.csv"
    head = "event,kind,summary,hint,start,end,multi_year_spans,source\n"
    file.write_text(f"{head}the fair,fair,,,1901-02-03,1901-02-04,,\n")
    found = tables.read_world(file, shipped_tables())
    assert [row.event for row in found.events] == ["the fair"]
    assert found.people == shipped_tables().people
    file.write_text(f"{head}Mara Thell,person,a printer,,1901-02,1950-01-01,,\n")
    with pytest.raises(DatasetError, match="'Mara Thell' is a person without a full day"):
        tables.read_world(file, shipped_tables())


FIRST, LAST = date(1990, 5, 3), date(1991, 6, 30)


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        ("1990-05-03", "1991-06-30", (FIRST, LAST)),
        ("1990-05", "1992-02", (date(1990, 5, 1), date(1992, 2, 29))),
        ("3 May 1990", "June 1991", (FIRST, LAST)),
        ("May 3, 1990", "", (FIRST, None)),
        ("1990-05-03T00:00:00", "1991-06-30 12:00", (FIRST, LAST)),
        ("3.5.1990", "30.6.1991", (FIRST, LAST)),
        ("1990/05/03", "19910630", (FIRST, LAST)),
    ],
)
def test_dates_of_intervals_are_written_in_any_form_of_one_meaning(tmp_path, start, end, days):
    file = tmp_path / "intervals.csv"
    file.write_text(f'subject,relation,object,start,end\nA,manages,B,"{start}","{end}"\n')
    (row,) = read_intervals(file)
    assert (row.start, row.end) == days
