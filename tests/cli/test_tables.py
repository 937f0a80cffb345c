"""Tables fit the terminal: in parts where it is narrow, whole where nobody says how wide."""

from __future__ import annotations

import io

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from agent_env.cli.tables import in_parts


def five_columns() -> Table:
    table = Table(title="runs", caption="means", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("condition", "exact_match", "f1", "steps", "calls"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("web", "1.000 [0.76, 1.00]", "1.000", "3.7", "3.5")
    return table


def lines(table: Table) -> list[list[str]]:
    told = io.StringIO()
    Console(file=told, width=200).print(table)
    return [line.split() for line in told.getvalue().splitlines() if line.strip(" ─")]


def test_a_table_that_fits_stays_whole() -> None:
    table = five_columns()
    assert in_parts(table, 80) == [table]


def test_a_wide_table_is_told_in_parts_that_all_say_whose_row_it_is() -> None:
    first, second = in_parts(five_columns(), 45)
    assert lines(first) == [
        ["runs"],
        ["condition", "exact_match", "f1"],
        ["web", "1.000", "[0.76,", "1.00]", "1.000"],
    ]
    assert lines(second) == [
        ["condition", "steps", "calls"],
        ["web", "3.7", "3.5"],
        ["means"],
    ]


def test_a_column_wider_than_the_terminal_is_not_cut_away() -> None:
    first, *rest = in_parts(five_columns(), 10)
    assert ["web", "1.000", "[0.76,", "1.00]"] in lines(first)
    assert len(rest) == 3
