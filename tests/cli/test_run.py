"""Tables fit the terminal, whatever its width; a pipe has all of them; plain text is sentences."""

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import statistics_of, tables_of
from agent_env.cli.run import print_table
from tests.analysis.simulated import Plant, study

CONDITIONS = {
    "base": 0.0, "web": 0.2, "python": 0.1, "web+python": 0.2, "explicit": 0.2, "cal": 0.0,
}  # fmt: skip


def five_columns():
    names = {"condition": 0, "exact_match": 0, "f1": 2, "tool calls": 0, "tokens in": 1}
    columns = tuple(Column(name, rank=rank) for name, rank in names.items())
    rows = (("web", (1.0, 0.76, 1.0), 1.0, 3.5, 14.0), ("base", (0.1, 0.0, 0.2), 0.2, 0.0, 0.0))
    return ResultTable("t", "runs", columns, rows, ("means",))


def printed(capsys, monkeypatch, table, width, **options):
    monkeypatch.setenv("COLUMNS", str(width))
    print_table(table, **options)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("width", "heading", "row", "hidden"),
    [
        (70, "condition exact_match f1 tool calls tokens in",
         "web 1.000 [0.760, 1.000] 1.000 3.500 14.000", None),
        (53, "condition exact_match f1 calls in", "web 1.000 [0.760, 1.000] 1.000 3.500 14.000",
         None),
        (50, "condition exact_match f1 calls in", "web 1.00 [0.76, 1.00] 1.00 3.50 14.00", None),
        (44, "condition exact_match calls in", "web 1.00 [0.76, 1.00] 3.50 14.00", "f1"),
        (36, "condition exact_match calls", "web 1.00 [0.76, 1.00] 3.50", "f1, tokens in"),
    ],
)  # fmt: skip
def test_headings_wrap_then_figures_are_short_then_columns_are_left_out_by_rank(
    capsys, monkeypatch, width, heading, row, hidden
):
    lines = printed(capsys, monkeypatch, five_columns(), width)
    assert max(map(len, lines)) <= width
    place = next(i for i, line in enumerate(lines) if "─" in line)
    assert " ".join(lines[place - 1].split()) == heading
    assert " ".join(lines[place + 1].split()) == row
    told = " ".join(" ".join(lines).split())
    assert (f"More columns with --wide: {hidden}." in told) is (hidden is not None)


def test_where_no_column_fits_and_in_plain_text_a_row_is_a_sentence(capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, five_columns(), 24)
    assert lines[1:4] == ["web: exact_match 1.000,", "  0.760 to 1.000; f1", "  1.000; tool calls"]
    monkeypatch.setenv("AGENT_ENV_PLAIN", "1")
    assert printed(capsys, monkeypatch, five_columns(), 40) == [
        "runs",
        "web: exact_match 1.000, 0.760 to 1.000; f1 1.000; tool calls 3.500; tokens in 14.000",
        "base: exact_match 0.100, 0.000 to 0.200; f1 0.200; tool calls 0.000; tokens in 0.000",
        "  means",
        "",
    ]


def test_with_wide_and_in_a_pipe_all_columns_stand_unwrapped(capsys, monkeypatch):
    wide = printed(capsys, monkeypatch, five_columns(), 40, wide=True)
    assert wide[1].split() == "condition exact_match f1 tool calls tokens in".split()
    monkeypatch.delenv("COLUMNS")
    print_table(five_columns())
    assert capsys.readouterr().out.splitlines() == wide


def test_small_tables_say_none_keep_markup_and_give_a_name_of_200_letters_four_lines(
    capsys, monkeypatch
):
    def lines(width, columns, *rows):
        table = ResultTable("t", "runs", tuple(map(Column, columns)), rows)
        return printed(capsys, monkeypatch, table, width)

    rows = (("[b]:x:\\", ":cat:"), ("日本", "b"), ("שלום", "c"))
    assert lines(80, ("name", "text"), *rows)[3:6] == [
        "[b]:x:\\  :cat:",
        "日本     b",
        "שלום     c",
    ]
    assert lines(80, "ab") == ["runs", "  none", ""]
    long = lines(40, ("name", "score"), ("m" * 199 + "z", 0.5))[3:7]
    assert [line.split()[0] for line in long] == ["m" * 33, "m" * 33, "…", "m" + "z"]
    assert long[0].split()[1] == "0.500"


@pytest.mark.parametrize("width", [40, 80, 100])
def test_every_table_of_three_models_with_long_names_keeps_to_the_width(capsys, monkeypatch, width):
    models = ("router/lab/" + "a-model-with-a-very-long-name-" * 6, "lab/B", "other/C-235B")
    made = study(Plant(samples=10, repeats=2, base=0.45), CONDITIONS, models, seed=1)
    comparison = Comparison(made, Options(margin=0.1))
    for table in tables_of(comparison, statistics_of(comparison)):
        assert max(map(len, printed(capsys, monkeypatch, table, width))) <= width, table.name
