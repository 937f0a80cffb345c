"""Tables on paper: every format, and text that means something to the format."""

import csv
import io
import json

from agent_env.analysis.result_tables import Column, ResultTable, render

TABLE = ResultTable(
    "t", "A & B",
    (Column("name"), Column("score"), Column("delta", 2, signed=True), Column("p"), Column("n", 0)),
    (
        ("x|y_z", (0.5, 0.25, 0.75), -0.001, 0.0004, 1200),
        ("=1+1", (0.5, None, None), None, None, 3),
    ),
    ("50 % of it",),
)  # fmt: skip


def test_each_format_escapes_its_own_signs():
    assert TABLE.markdown().splitlines() == [
        "## A & B", "",
        "| name | score | delta | p | n |",
        "|---|---:|---:|---:|---:|",
        r"| x\|y_z | 0.500 [0.250, 0.750] | +0.00 | <0.001 | 1200 |",
        "| =1+1 | 0.500 | – | – | 3 |", "",
        "- 50 % of it",
    ]  # fmt: skip
    rows = list(csv.reader(io.StringIO(TABLE.csv())))
    assert rows[0] == ["name", "score", "score low", "score high", "delta", "p", "n"]
    assert rows[1] == ["x|y_z", "0.5", "0.25", "0.75", "-0.001", "0.0004", "1200"]
    assert rows[2] == ["'=1+1", "0.5", "", "", "", "", "3"]
    told = json.loads(render([TABLE], "json"))["t"]
    assert told["rows"][0]["score"] == {"value": 0.5, "low": 0.25, "high": 0.75}
    assert told["rows"][1]["delta"] is None
    assert told["notes"] == ["50 % of it"]
    text = TABLE.latex()
    assert r"\caption{A \& B}" in text
    assert r"x|y\_z & 0.500 [0.250, 0.750] & +0.00 & $<$0.001 & 1200 \\" in text
    assert r"50 \% of it" in text


def test_columns_leave_for_want_of_values_or_repetition_with_their_notes():
    columns = (Column("name"), Column("right"), Column("failed", 0, if_any=True), Column("cost"))
    table = ResultTable("t", "t", columns, (("a", 0.0, 0, None), ("b", 0.0, 0, None)))
    assert [column.name for column in table.without_empty().columns] == ["name", "right"]
    columns = (Column("name"), Column("lost"), Column("says so"), Column("strict"))
    rows = (
        ("a", (0.0, -0.2, 0.2), (0.0, 0.0, 0.6), 0.0), ("b", (0.5, 0.1, 0.9), (0.5, 0.2, 0.8), 0.5),
    )  # fmt: skip
    table = ResultTable("t", "T", columns, rows).without_constant()
    assert [column.name for column in table.columns] == ["name", "lost", "says so"]
    assert table.notes == ("In all rows: ‘strict’ equals ‘lost’.",)
    notes = ("All: of the run.", "N: samples.", "p (Holm): corrected.")
    table = ResultTable(
        "t", "T", (Column("a"), Column("n"), Column("p (Holm)")), (("x", 1, None),), notes
    )
    assert table.without_empty().notes == ("All: of the run.", "N: samples.")
    assert table.of_columns([0]).notes == ("All: of the run.",)
