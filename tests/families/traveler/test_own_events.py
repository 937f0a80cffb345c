"""A user's own events and vocabulary, and what is wrong with them."""

import json
from datetime import UTC, date, datetime
from itertools import product

import pyarrow
import pytest
from pyarrow import parquet

from agent_env.families.traveler import events
from agent_env.families.traveler.periods import period_of
from tests.questions import questions

HEAD = "event,subject,location,time"
MONTHLY = [*product(range(1, 9), ("Tom", "Mary"))]
NOW = 1_696_026_600
"""2023-09-29T22:30 UTC."""


def own(tmp_path, *rows, separator=","):
    file = tmp_path / "mine.csv"
    file.write_text("\n".join((HEAD, *rows)).replace(",", separator))
    return file


def test_own_tables_vocabularies_and_local_times(tmp_path):
    rows = [f"read book,{who},kitchen,2023-0{month}-11T10:00" for month, who in MONTHLY]
    made, _ = questions("traveler", 12, events=own(tmp_path, *rows))
    assert {sample.size for sample in made.samples} == {16}
    (table,) = made.tables
    assert table.rows[0][:4] == ("read book", "Tom", "kitchen", "2023-01-11T10:00+00:00")
    noon = datetime(2023, 1, 1, 12, tzinfo=UTC)
    cells = {"event": "read book", "subject": "Tom", "location": "kitchen", "time": noon}
    parquet_file = tmp_path / "mine.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([cells]), parquet_file)
    text_file = own(tmp_path, "read book,Tom,kitchen,2023-01-01T12:00", separator=";")
    for file in (parquet_file, text_file):
        (event,) = events.read_events(file, events.HOME, NOW, "UTC").events
        assert event.at == noon.timestamp()
    file = tmp_path / "garden.json"
    place = {"name": "pond", "where": "at the pond"}
    swim = {"name": "swim", "do": "swim", "did": "swam", "offset": 0.5}
    file.write_text(json.dumps({"subjects": ["Ann"], "locations": [place], "events": [swim]}))
    made, _ = questions("traveler", 30, sizes=(20,), vocabulary=file, sets=3)
    texts = {sample.question for sample in made.samples}
    assert any(text.startswith("Did Ann swim at the pond ") for text in texts)
    assert any(text.startswith("Who swam at the pond ") for text in texts)
    berlin = events.open_zone("Europe/Berlin")
    for text, offset in (("2023-07-01T12:00", "+02:00"), ("2023-01-01T12:00", "+01:00")):
        assert events.iso_time(events.read_time(text, berlin), berlin) == text + offset


@pytest.mark.parametrize(
    ("kind", "day", "text", "first", "last"),
    [
        ("in-month", "2023-02-11", "in February 2023", "2023-02-01", "2023-02-28"),
        ("last-month", "2023-08-31", "last month", "2023-08-01", "2023-08-31"),
        ("last-week", "2023-09-24", "last week", "2023-09-18", "2023-09-24"),
        ("weekday", "2023-09-22", "last Friday", "2023-09-22", "2023-09-22"),
        ("days-ago", "2023-09-27", "2 days ago", "2023-09-27", "2023-09-27"),
        ("before-holiday", "2023-04-07", "two days before Easter Sunday 2023", *["2023-04-07"] * 2),
    ],
)
def test_periods_of_29_september_2023(kind, day, text, first, last):
    found = period_of(kind, date.fromisoformat(day), date(2023, 9, 29))
    assert (found.text, str(found.first), str(found.last)) == (text, first, last)


@pytest.mark.parametrize(
    ("kind", "day"),
    [("weekday", "2023-09-29"), ("weekday", "2023-09-21"), ("today", "2023-09-28"),
     ("last-week", "2023-09-25"), ("days-ago", "2023-09-28"), ("before-holiday", "2023-04-06")],
)  # fmt: skip
def test_days_that_an_expression_does_not_cover(kind, day):
    assert period_of(kind, date.fromisoformat(day), date(2023, 9, 29)) is None
