"""Every kind of table file gives the same rows; what is found out is said, what is not is asked."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime

import duckdb
import pyarrow.parquet
import pytest

from agent_env.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.features.facts.tables import table_files
from agent_env.features.facts.tables.table_files import cell_text, read_table_file
from agent_env.worker import child
from agent_env.worker.wire import JOBS

pytestmark = pytest.mark.usefixtures("unconfined")

DAY = datetime(2001, 5, 3, tzinfo=UTC)
ROWS = [("Æthelstan", "924"), ("Eadred", "946")]


def texts(file, **options):
    source = read_table_file(file, table_files.TableOptions.model_validate(options))
    assert source.columns == ("king", "from")
    return [tuple(cell_text(row.cells[name]) for name in source.columns) for row in source.rows]


def csv_text(separator=","):
    return "".join(f"{a}{separator}{b}\r\n" for a, b in [("king", "from"), *ROWS])


def test_all_kinds_of_files_give_the_same_rows(tmp_path):
    records = [{"king": king, "from": int(year)} for king, year in ROWS]
    (tmp_path / "a.csv").write_text(csv_text(), "utf-8")
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "c.json").write_text(json.dumps(records))
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), tmp_path / "d.parquet")
    with closing(sqlite3.connect(tmp_path / "e.db")) as base:
        base.execute('CREATE TABLE kings(king, "from")')
        base.executemany("INSERT INTO kings VALUES (?, ?)", ROWS)
        base.commit()
        base.execute("CREATE TABLE other(x)")
    with duckdb.connect(str(tmp_path / "f.duckdb")) as base:
        base.execute(f"CREATE TABLE kings AS SELECT * FROM read_csv('{tmp_path}/a.csv')")
    for file in sorted(tmp_path.iterdir()):
        assert texts(file, **({"table": "kings"} if file.suffix == ".db" else {})) == ROWS, file
    with pytest.raises(ConfigError, match="by --option table=NAME: kings, other"):
        texts(tmp_path / "e.db")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separator_and_encoding_are_found(tmp_path, separator, encoding):
    file = tmp_path / "t.csv"
    file.write_bytes(csv_text(separator).encode(encoding))
    assert texts(file) == ROWS
    notes = read_table_file(file).notes
    assert ("encoding cp1252" in " ".join(notes)) == (encoding == "cp1252")
    assert any("separated by" in note for note in notes) == (separator != ",")


def test_encodings_rows_and_missing_values(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes("king,from\nБорис,1598\n".encode("cp1251"))
    with pytest.raises(DatasetError, match=r"t\.csv:2: byte 0xc1 is not UTF-8; name the encoding"):
        read_table_file(file)
    assert texts(file, encoding="cp1251") == [("Борис", "1598")]
    with pytest.raises(ConfigError, match="encoding 'martian' is unknown"):
        texts(file, encoding="martian")
    with pytest.raises(DatasetError, match=r"t\.csv:2: byte 0xc1 is not utf-8; name another"):
        texts(file, encoding="utf-8")
    file.write_text("king;from\na;1;2\nb\nc;3\n")
    with pytest.raises(DatasetErrors) as caught:
        table_files.checked_rows(file, read_table_file(file))
    quote = "cells under 2 columns; quote cells that hold semicolons"
    assert caught.value.lines == (f"{file}:2: 3 {quote}", f"{file}:3: 1 {quote}")
    values = [None, float("nan"), DAY, DAY.replace(hour=12), " a  b ", 3]
    read = ["", "", "2001-05-03", "2001-05-03T12:00:00+00:00", "a b", "3"]
    assert [cell_text(value) for value in values] == read
    cells = {
        "id": ["a", "b"],
        "score": [1, 0.5],
        "day": [date(2024, 2, 29), None],
        "at": [DAY.replace(hour=12, tzinfo=None), DAY.replace(tzinfo=None)],
        "names": [["x", "y"], []],
    }
    pyarrow.parquet.write_table(pyarrow.table(cells), tmp_path / "t.parquet")
    source = read_table_file(tmp_path / "t.parquet")
    assert source.columns == tuple(cells)
    assert [(row.line, row.cells) for row in source.rows] == [
        (1, {"id": "a", "score": 1.0, "day": "2024-02-29", "at": "2001-05-03T12:00:00",
             "names": ["x", "y"]}),
        (2, {"id": "b", "score": 0.5, "day": None, "at": "2001-05-03", "names": []}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04", "is a spreadsheet or an archive; save the table as CSV"),
        (b"PAR1", "is not a Parquet file"),
        (b'{"a": 1}\n[2]', ":2: is not a JSON object"),
    ],
)
def test_what_is_no_table_is_told_whatever_its_name_says(tmp_path, data, reason):
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(DatasetError, match=reason):
        read_table_file(tmp_path / "t.csv")


def test_views_without_end_or_of_other_files_are_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(child, "is_worker", False)
    monkeypatch.setitem(JOBS, "table", JOBS["table"]._replace(cpu_s=0.5))
    with closing(sqlite3.connect(tmp_path / "t.db")) as base:
        base.execute(
            "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i FROM n WHERE i < 0"
        )
        base.commit()
    with pytest.raises(DatasetError, match=r"t\.db: cannot be read: that took more than"):
        read_table_file(tmp_path / "t.db")
    (tmp_path / "mine.csv").write_text(csv_text())
    with duckdb.connect(str(tmp_path / "sent.duckdb")) as base:
        base.execute(f"CREATE VIEW kings AS SELECT * FROM read_csv('{tmp_path}/mine.csv')")
    with pytest.raises(DatasetError, match="cannot be read: Permission Error: Cannot access file"):
        texts(tmp_path / "sent.duckdb")
