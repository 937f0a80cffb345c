"""TRAVELER's tables and curves from a handful of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from xml.etree import ElementTree

from matplotlib.figure import Figure

from agent_env.analysis.drawing import svg_of
from agent_env.families.traveler.figures import (
    Cell,
    Mean,
    ScoredEpisode,
    categories_table,
    configurations_table,
    lengths_table,
    models_table,
)
from agent_env.families.traveler.length_curves import length_curves

CHOSEN, OTHER = "cot-review+date-only+language", "zero-shot+date-only+json"


def row(
    model: str, name: str, category: str, size: int, accuracy: float, condition: str = "base"
) -> ScoredEpisode:
    best = 0.5 if category == "vague" else 1.0
    kind = (category, "did", size)
    listed = f"list of {size}"
    return ScoredEpisode(
        model, condition, name, *kind, listed, accuracy, accuracy / best, best, 0.25, 0.6
    )


def values(rows: Sequence[tuple[Cell, ...]]) -> list[tuple[object, ...]]:
    """The rows without intervals."""
    return [tuple(c.value if isinstance(c, Mean) else c for c in line) for line in rows]


ROWS = [
    row("a", OTHER, "explicit", 5, 1.0),
    row("a", OTHER, "explicit", 50, 0.0),
    row("a", OTHER, "implicit", 50, 1.0),
    row("a", CHOSEN, "explicit", 5, 1.0),
    row("b", CHOSEN, "explicit", 5, 0.0),
    row("b", CHOSEN, "vague", 5, 0.4),
    row("b", CHOSEN, "explicit", 5, 1.0, "events"),
]


def test_configurations_stand_in_the_slides_order_with_vague_questions_left_out() -> None:
    sheet = configurations_table(ROWS)
    assert sheet.columns == ("condition", "manner", "dates", "events as", "5", "50", "average")
    assert values(sheet.rows) == [
        ("base", "zero-shot", "date-only", "json", 1.0, 0.5, 0.75),
        ("base", "cot-review", "date-only", "language", 0.5, None, 0.5),
        ("events", "cot-review", "date-only", "language", 1.0, None, 1.0),
    ]
    assert "vague questions are left out" in sheet.title


def test_a_figure_has_its_number_and_lists_not_questions_make_its_interval_narrow() -> None:
    answers = [row("a", CHOSEN, "explicit", 5, worth) for worth in (1.0, 0.0, 1.0, 1.0)]
    apart = [replace(each, cluster=f"list {at}") for at, each in enumerate(answers)]
    one, four = (configurations_table(rows).rows[0][4] for rows in (answers, apart))
    assert isinstance(one, Mean)
    assert isinstance(four, Mean)
    assert (one.value, one.n, four.value, four.n) == (0.75, 4, 0.75, 4)
    assert (round(one.low, 2), round(one.high, 2)) == (0.12, 0.99)
    assert (round(four.low, 2), round(four.high, 2)) == (0.3, 0.95)


def test_models_stand_beside_each_other_and_tools_are_told() -> None:
    sheet = models_table(ROWS)
    assert sheet.columns[4:] == ("a", "b", "average")
    assert [line[0] for line in sheet.rows] == ["base", "base", "events"]
    assert [line[4:] for line in values(sheet.rows)[1:]] == [(1.0, 0.0, 0.5), (None, 1.0, 1.0)]


def test_a_vague_score_stands_with_its_ceiling_and_the_constant_answer() -> None:
    rows = {line[0]: line[1:] for line in values(categories_table(ROWS).rows)}
    assert rows["vague"] == (None, 0.4, None, 0.4)
    assert rows["vague, of the ceiling"] == (None, 0.8, None, 0.8)
    assert rows["vague, the ceiling"] == (None, 0.5, None, 0.5)
    assert rows["vague, always no, nobody, 0, never"] == (None, 0.25, None, 0.25)
    assert rows["explicit, the time ignored"] == (0.6, 0.6, 0.6, 0.6)
    assert rows["did, the time ignored"] == (0.6, 0.6, 0.6, 0.6)
    assert rows["explicit"] == (2 / 3, 0.0, 1.0, (2 / 3 + 1) / 3)
    assert "when" not in rows


def test_texts_write_figures_as_the_slides_do() -> None:
    sheet = configurations_table(ROWS)
    assert sheet.text().splitlines()[-1].split() == (
        "events cot-review date-only language 1.00 [.21, 1.00] 1 - 1.00".split()
    )
    assert "| json | 1.00 [.21, 1.00] 1 | .50 [.05, .95] 2 | .75 |" in sheet.markdown()
    head, first, *_ = sheet.csv().splitlines()
    assert head.endswith(",5,5 low,5 high,5 n,50,50 low,50 high,50 n,average")
    assert first.startswith("base,zero-shot,date-only,json,1.0,0.2")


def test_lengths_stand_by_category() -> None:
    sheet = lengths_table(ROWS)
    assert [line[:2] for line in sheet.rows] == [
        ("explicit", "5"), ("explicit", "50"), ("implicit", "50"), ("vague", "5"),
    ]  # fmt: skip
    assert values(sheet.rows)[0][2:] == (1.0, 0.0, 1.0)


def test_curves_are_well_formed_with_a_line_for_each_model() -> None:
    svg = svg_of(length_curves([*ROWS, row("<c>", CHOSEN, "vague", 50, 0.1)]))
    texts = [found.text for found in ElementTree.fromstring(svg).iter() if found.text]
    assert [text for text in texts if text in ("explicit", "implicit", "vague")] == [
        "explicit", "implicit", "vague",
    ]  # fmt: skip
    assert {"a", "b", "b · events", "<c>"} <= set(texts)


def test_no_line_goes_through_points_of_one_question() -> None:
    single = [row("a", CHOSEN, "explicit", size, 1.0) for size in (5, 50)]
    lines = [_unbroken(length_curves(rows)) for rows in (single, single * 2)]
    assert lines == [0, 4]  # the model's, the ceiling's and the two shortcuts'


def _unbroken(figure: Figure) -> int:
    """Lines that are seen between points."""
    (axes,) = figure.axes
    lines = [line for line in axes.lines if line.get_linestyle() != "None"]
    return sum(not isnan(sum(line.get_ydata())) for line in lines)
