"""Tables fit the terminal: in parts where it is narrow, whole where nobody says how wide."""

from __future__ import annotations

import pytest

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.cli.tables import in_parts, print_table


def five_columns() -> ResultTable:
    names = ("condition", "exact_match", "f1", "steps", "calls")
    row = ("web", (1.0, 0.76, 1.0), 1.0, "3.7", "3.5")
    return ResultTable("t", "runs", tuple(map(Column, names)), (row,), ("means",))


def names(table: ResultTable) -> list[str]:
    return [column.name for column in table.columns]


def test_a_table_that_fits_stays_whole() -> None:
    table = five_columns()
    assert in_parts(table, 80) == [table]


def test_a_wide_table_is_told_in_parts_that_all_say_whose_row_it_is() -> None:
    first, second = in_parts(five_columns(), 48)
    assert names(first) == ["condition", "exact_match", "f1"]
    assert names(second) == ["condition", "steps", "calls"]
    assert second.rows == (("web", "3.7", "3.5"),)


def test_a_column_wider_than_the_terminal_is_not_cut_away() -> None:
    first, *rest = in_parts(five_columns(), 10)
    assert names(first) == ["condition", "exact_match"]
    assert len(rest) == 3


def test_title_rows_and_notes_are_lines_that_do_not_wrap(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(five_columns())
    told = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert told == [
        ["runs"],
        ["condition", "exact_match", "f1", "steps", "calls"],
        ["web", "1.000", "[0.760,", "1.000]", "1.000", "3.7", "3.5"],
        ["means"],
    ]
