"""Tables fit the terminal: in parts where it is narrow, whole where nobody says how wide."""

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import statistics_of, tables_of
from agent_env.analysis.summary import summary_table
from agent_env.cli.run import in_parts, print_table
from tests.analysis.simulated import Plant, study


def five_columns():
    names = ("condition", "exact_match", "f1", "steps", "calls")
    row = ("web", (1.0, 0.76, 1.0), 1.0, "3.7", "3.5")
    return ResultTable("t", "runs", tuple(map(Column, names)), (row,), ("means",))


@pytest.mark.parametrize(
    ("width", "parts"),
    [
        (80, ["condition exact_match f1 steps calls"]),
        (48, ["condition exact_match f1", "condition steps calls"]),
        (10, ["condition exact_match", "condition f1", "condition steps", "condition calls"]),
    ],
)
def test_a_wide_table_is_told_in_parts_that_all_say_whose_row_it_is(width, parts):
    told = [part for part, _ in in_parts(five_columns(), width)]
    assert [" ".join(column.name for column in part.columns) for part in told] == parts
    assert told[-1].rows[0][-1] == "3.5"


def test_of_a_table_that_is_too_wide_secondary_columns_are_left_out_from_the_last_and_named(capsys):
    columns = tuple(Column(f"column {i}" + "x" * 20, is_secondary=i in (2, 3)) for i in range(4))
    table = ResultTable("t", "runs", columns, (("web", 1.0, 2.0, 3.0),))
    print_table(table)
    narrow = capsys.readouterr().out
    assert max(map(len, narrow.splitlines())) <= 100
    assert "column 2" in narrow
    assert "More columns with --wide: column 3" in narrow
    print_table(table, wide=True)
    assert "3.000" in capsys.readouterr().out


def test_title_rows_and_notes_are_lines_that_do_not_wrap(capsys):
    print_table(five_columns())
    told = [line.split() for line in capsys.readouterr().out.splitlines() if line.strip(" ─")]
    assert told == [
        ["runs"],
        ["condition", "exact_match", "f1", "steps", "calls"],
        ["web", "1.000", "[0.760,", "1.000]", "1.000", "3.7", "3.5"],
        ["means"],
    ]


def test_cells_are_no_markup(capsys):
    print_table(ResultTable("t", "runs", (Column("a"), Column("b")), (("[b]:x:\\", ":cat:"),)))
    assert "[b]:x:\\   :cat:" in capsys.readouterr().out


def test_every_table_of_three_models_with_long_names_keeps_to_100_columns(capsys):
    models = ("router/lab/a-model-with-a-very-long-name-of-2026-11-22", "lab/B", "other/C-235B")
    conditions = {
        "base": 0.0,
        "web": 0.2,
        "python": 0.1,
        "web+python": 0.2,
        "explicit": 0.2,
        "cal": 0.0,
    }
    made = study(Plant(samples=10, repeats=2, base=0.45), conditions, models, seed=1)
    comparison = Comparison(made, Options(resamples=1000, margin=0.1))
    shown = [each for each in statistics_of(comparison) if each.is_main or each.name == "use"]
    for table in [*tables_of(comparison, shown), summary_table(comparison, "t")]:
        print_table(table)
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) <= 100, table.name
