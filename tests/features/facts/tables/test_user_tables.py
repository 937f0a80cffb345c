"""A user's own event table: typed, or refused whole with every defect named."""

from datetime import date

import pytest

from agent_env.errors import ConfigError, DatasetError
from agent_env.features.facts.tables.tables import SHIPPED, read_events
from agent_env.features.facts.tables.user_tables import (
    EventTableOptions,
    import_events,
    read_user_events,
)
from agent_env.temporal.days import PartialDate

NOW = date(2026, 1, 31)
SMALL = "event,start,end,multi_year_spans\n"
ROLES = "event,start,end,multi_year_spans,role\n"
PRECISE = "event,start,end,multi_year_spans,precision\n"


def table(folder, text, name="own.csv"):
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def defects(folder, text, now=NOW):
    """What the error says behind the folder's name; nothing may have been written."""
    out = folder / "out.csv"
    with pytest.raises(DatasetError) as caught:
        import_events(table(folder, text), out, now)
    assert [path.name for path in folder.iterdir()] == ["own.csv"]
    return str(caught.value).replace(f"{folder}/", "")


def test_tables_come_out_in_the_full_form_and_in_time(tmp_path):
    text = SMALL + "the Crimean War,1853-10,1856-03-30,\nthe London Games,,,2012;1908;1948~1949\n"
    done = import_events(table(tmp_path, text), tmp_path / "out.csv", NOW)
    assert (tmp_path / "out.csv").read_bytes() == (
        b"event,kind,summary,hint,start,end,multi_year_spans,source\n"
        b"the Crimean War,event,,,1853-10,1856-03-30,,\n"
        b"the London Games,event,,,,,1908;1948~1949;2012,\n"
    )
    assert (done.events, done.lasting) == (2, 0)
    shipped = SHIPPED / "events.csv"
    assert import_events(shipped, tmp_path / "out.csv", NOW).events == 269
    assert (tmp_path / "out.csv").read_bytes() == shipped.read_bytes()
    file = table(tmp_path, SMALL + "the Reign of X,2020-05-01,,\nthe Fair,2001,2002,\n")
    done = import_events(file, tmp_path / "out.csv", NOW)
    assert done.lasting == 1
    assert (tmp_path / "out.csv").read_text() == (
        "event,kind,summary,hint,start,end,multi_year_spans,source,now\n"
        "the Reign of X,event,,,2020-05-01,,,,2026-01-31\n"
        "the Fair,event,,,2001,2002,,,\n"
    )
    lasting, over = read_events(tmp_path / "out.csv")
    assert (lasting.end, lasting.now, over.now) == (None, NOW, None)
    file = table(tmp_path, SMALL + "the Reign of X,2020-05-01,,\n")
    import_events(file, tmp_path / "once.csv", NOW)
    import_events(tmp_path / "once.csv", tmp_path / "twice.csv", date(2026, 6, 1))
    assert (tmp_path / "twice.csv").read_bytes() == (tmp_path / "once.csv").read_bytes()
    text = "Name;Von;Bis;Bild\nder Große Krieg;28.7.1914;Nov 11, 1918;x.png\nMesse;1953;present;\n"
    file = table(tmp_path, text.encode("cp1252"))
    options = EventTableOptions(event="Name", start="Von", end="Bis")
    done = import_events(file, tmp_path / "out.csv", NOW, options)
    assert (tmp_path / "out.csv").read_text("utf-8").splitlines()[1:] == [
        "der Große Krieg,event,,,1914-07-28,1918-11-11,,,", "Messe,event,,,1953,,,,2026-01-31",
    ]  # fmt: skip
    assert done.notes == (
        "encoding cp1252, as it is not UTF-8 ('Große'); encoding=NAME if not",
        "cells separated by ;",
        "no event shows the column bild",
    )
    file = table(tmp_path, "event,start,end\nthe Fair,01/02/1992,\n")
    with pytest.raises(ConfigError, match="whether '01/02/1992' has the day or the month first"):
        import_events(file, tmp_path / "out.csv", NOW)
    import_events(file, tmp_path / "out.csv", NOW, EventTableOptions(date_format="month-first"))
    assert ",1992-01-02," in (tmp_path / "out.csv").read_text()
    text = b"\xef\xbb\xbfEvent, start,end,multi_year_spans\r\n\r\nthe  War\t,1914,1918,\r\n,,,\r\n"
    (row,) = read_user_events(table(tmp_path, text), NOW)
    assert (row.event, row.start) == ("the War", PartialDate(1914))
    rows = "".join(f"E{n},{n // 12 + 1:04d}-{n % 12 + 1:02d},,,\n" for n in range(10_000))
    ends = (f"{n // 12 + 1:04d}-{n % 12 + 1:02d}" for n in range(1, 10_001))
    closed = "".join(
        line.replace(",,,", f",{end},,king") + "\n"
        for line, end in zip(rows.splitlines(), ends, strict=True)
    )
    assert len(read_user_events(table(tmp_path, ROLES + closed), NOW)) == 10_000


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
    with pytest.raises(DatasetError, match=r"no\.csv: cannot be read: No such file"):
        import_events(tmp_path / "no.csv", tmp_path / "out.csv", NOW)
    out = tmp_path / "out.csv"
    out.write_text("old")
    with pytest.raises(DatasetError):
        import_events(table(tmp_path, SMALL + "A,1918,1914,\n"), out, NOW)
    assert out.read_text() == "old"
    file = table(tmp_path, SMALL + "A,1914,1918,\n")
    with pytest.raises(ConfigError, match=r"cannot write .*out\.csv: No such file or directory"):
        import_events(file, tmp_path / "nowhere/out.csv", NOW)


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
