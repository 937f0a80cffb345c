"""A user's own event table: typed, or refused whole with every defect named."""

from datetime import date
from itertools import pairwise

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.facts.tables import user_tables
from agent_env.features.facts.tables.tables import SHIPPED, read_events
from agent_env.features.facts.tables.user_tables import EventTableOptions, read_user_events
from agent_env.temporal.days import PartialDate

NOW = date(2026, 1, 31)
FULL = "event,kind,summary,hint,start,end,multi_year_spans,source"
SMALL = "event,start,end,multi_year_spans\n"
ROLES = "event,start,end,multi_year_spans,role\n"
PRECISE = "event,start,end,multi_year_spans,precision\n"


def table(folder, text):
    file = folder / "own.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def imported(folder, text, *options, now=NOW, out="out.csv"):
    """What the import of the text says, and the lines that it writes."""
    done = user_tables.import_events(table(folder, text), folder / out, now, *options)
    return done, (folder / out).read_text("utf-8").splitlines()


def defects(folder, text):
    """What the error says behind the folder's name; nothing may have been written."""
    with pytest.raises(DatasetError) as caught:
        imported(folder, text)
    assert [path.name for path in folder.iterdir()] == ["own.csv"]
    return str(caught.value).replace(f"{folder}/", "")


def test_tables_come_out_in_the_full_form_and_in_time(tmp_path):
    text = SMALL + "the Crimean War,1853-10,1856-03-30,\nthe London Games,,,2012;1908;1948~1949\n"
    done, lines = imported(tmp_path, text)
    assert lines == [
        FULL, "the Crimean War,event,,,1853-10,1856-03-30,,",
        "the London Games,event,,,,,1908;1948~1949;2012,",
    ]  # fmt: skip
    assert (done.events, done.lasting) == (2, 0)
    shipped = (SHIPPED / "events.csv").read_bytes()
    assert imported(tmp_path, shipped)[0].events == 269
    assert (tmp_path / "out.csv").read_bytes() == shipped
    done, lines = imported(tmp_path, SMALL + "the Reign of X,2020-05-01,,\nthe Fair,2001,2002,\n")
    assert done.lasting == 1
    reign = "the Reign of X,event,,,2020-05-01,,,,2026-01-31"
    assert lines == [f"{FULL},now", reign, "the Fair,event,,,2001,2002,,,"]
    lasting, over = read_events(tmp_path / "out.csv")
    assert (lasting.end, lasting.now, over.now) == (None, NOW, None)
    once = "\n".join(imported(tmp_path, SMALL + "the Reign of X,2020-05-01,,\n")[1]) + "\n"
    _, twice = imported(tmp_path, once, now=date(2026, 6, 1), out="twice.csv")
    assert "\n".join(twice) + "\n" == once
    text = "Name;Von;Bis;Bild\nder Große Krieg;28.7.1914;Nov 11, 1918;x.png\nMesse;1953;present;\n"
    options = EventTableOptions(event="Name", start="Von", end="Bis")
    done, lines = imported(tmp_path, text.encode("cp1252"), options)
    war = "der Große Krieg,event,,,1914-07-28,1918-11-11,,,"
    assert lines[1:] == [war, "Messe,event,,,1953,,,,2026-01-31"]
    assert done.notes == (
        "encoding cp1252, as it is not UTF-8 ('Große'); encoding=NAME if not",
        "cells separated by ;",
        "no event shows the column bild",
    )
    text = "event,start,end\nthe Fair,01/02/1992,\n"
    with pytest.raises(ConfigError, match="whether '01/02/1992' has the day or the month first"):
        imported(tmp_path, text)
    _, lines = imported(tmp_path, text, EventTableOptions(date_format="month-first"))
    assert ",1992-01-02," in lines[1]
    text = b"\xef\xbb\xbfEvent, start,end,multi_year_spans\r\n\r\nthe  War\t,1914,1918,\r\n,,,\r\n"
    (row,) = read_user_events(table(tmp_path, text), NOW)
    assert (row.event, row.start) == ("the War", PartialDate(1914))
    months = [f"{n // 12 + 1:04d}-{n % 12 + 1:02d}" for n in range(10_001)]
    rows = (f"E{n},{a},{b},,king\n" for n, (a, b) in enumerate(pairwise(months)))
    assert len(read_user_events(table(tmp_path, ROLES + "".join(rows)), NOW)) == 10_000


def test_defects_and_places_leave_the_old_table(tmp_path):
    rows = ["A,1918,1914,", "B,1914-13,1918-02-30,", "C,1914,1918,", '"D",1900,1901,1902']
    assert defects(tmp_path, SMALL + "\n".join(rows) + "\n") == (
        "own.csv:2: 'A' ends on 1914, before its start on 1918\n"
        "own.csv:3: start '1914-13' is not a date: month must be in 1..12\n"
        "own.csv:3: end '1918-02-30' is not a date: day is out of range for month, "
        "or nothing while it lasts\n"
        "own.csv:5: 'D' has the year 1902, after its end on 1901"
    )
    text = defects(tmp_path, SMALL + "".join(f"E{n},x,1900,\n" for n in range(30)))
    assert text.count("is not a date") == 20
    assert text.endswith("\nown.csv: 10 more defects")
    out = tmp_path / "out.csv"
    with pytest.raises(DatasetError, match=r"no\.csv: cannot be read: No such file"):
        user_tables.import_events(tmp_path / "no.csv", out, NOW)
    out.write_text("old")
    with pytest.raises(DatasetError):
        imported(tmp_path, SMALL + "A,1918,1914,\n")
    assert out.read_text() == "old"
    with pytest.raises(ConfigError, match=r"cannot write .*out\.csv: No such file or directory"):
        imported(tmp_path, SMALL + "A,1914,1918,\n", out="nowhere/out.csv")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\r\n\r\n", "own.csv: is empty; its first line is event,start,end"),
        (SMALL.encode() + "Москва,1900,,\n".encode("cp1251"), "own.csv:2: byte 0xcc is not UTF-8"),
        (SMALL.encode("utf-16-le"), "own.csv:1: byte 0x00 is not UTF-8; name the encoding"),
        (SMALL + "A\x07,1914,1918,\n", "own.csv:2: event holds a control character"),
        (PRECISE + "A,1914-07,1918-11,,day\n",
         "own.csv:2: start 1914-07 is written to the month, not to the day"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_table_is_refused(tmp_path, data, reason):
    assert defects(tmp_path, data).startswith(reason)


@pytest.mark.parametrize(
    "rows",
    [
        "A,1901-01-01,1905-06-30,,king\nB,1905-06-30,1910-01-01,,king\n",  # handed over that day
        "A,1901,1905,,king\nB,1905-03,1910,,king\n",  # may have been handed over that year
        "A,1885,1897,1885~1889;1893~1897,king\nB,1889,1893,,king\n",  # held between two terms
        "A,2001,2005,,king\nB,2005,,,king\n",
        "A,2001,,,\nB,2003,,,\n",  # no role at all
    ],
)
def test_spans_of_one_role_may_touch(tmp_path, rows):
    assert len(read_user_events(table(tmp_path, ROLES + rows), NOW)) == 2
