"""The paper's figures for any answers: drawn from few, many, hopeless and strangely named ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from agent_env.analysis.drawing import save
from agent_env.families.temp_answers.responses import ResponseFile
from agent_env.families.temp_answers.study.figures import all_figures
from agent_env.families.temp_answers.study.layouts import Answers, rankings
from agent_env.families.temp_answers.study.modes import score_paper, score_v2, summarize
from tests.families.temp_answers.study.test_modes import MIXED, object_file, table_file, years

ALWAYS = ["figure_2_ranking_smape", "figure_3_ranking_mase", "figure_5_possible", "figure_12_smape",
          "figure_13_mase"]  # fmt: skip


def drawn(mode: str, *files: ResponseFile) -> dict[str, Figure]:
    scores = score_v2(files) if mode == "v2" else score_paper(files)
    means = summarize(scores.items, mode)
    return all_figures(Answers(files, mode, scores, means))


@pytest.fixture(scope="module")
def several() -> dict[str, Figure]:
    texts = [
        ("{'answer': 5}", "days", ' "2 + 2 = 5", "answer": 6}'),
        ("{'answer': 9}", "days", "?"),
    ]
    files = [table_file(MIXED[: 4 + n], name) for n, name in enumerate(("A", "B", "big$x$", "D"))]
    return drawn("v2", *files, object_file(texts * 3))


def test_each_figure_of_the_paper_is_there(several: dict[str, Figure]) -> None:
    assert set(several) == {
        *ALWAYS, "figure_4_correlations", "figure_11_reasoning", "table_3_errors",
        "figures_6_10_labels_ttqa_head", "figures_6_10_labels_tot_arithmetic",
    }  # fmt: skip


def test_names_are_no_formulas_and_dates_are_years(
    several: dict[str, Figure], tmp_path: Path
) -> None:
    svg, png, _ = save(several["figure_2_ranking_smape"], tmp_path, "x")
    assert b"  big$x$ -->" in svg.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")
    panels = {axes.get_title(): axes for axes in several["figures_6_10_labels_ttqa_head"].axes}
    assert {"years (n = 4)", "days (n = 1)", "date (n = 1)"} <= panels.keys()
    assert panels["date (n = 1)"].get_xlabel() == "year"
    assert 1837.1 < panels["date (n = 1)"].patches[0].get_x() < 1837.2  # type: ignore[attr-defined]


def test_points_have_their_intervals(several: dict[str, Figure]) -> None:
    (panel, *_) = several["figure_13_mase"].axes
    assert panel.containers[0].has_yerr  # type: ignore[attr-defined]
    assert "n = " in panel.get_title()


@pytest.mark.parametrize("mode", ["paper", "v2"])
def test_one_file_without_any_answer_is_drawn_too(mode: str, tmp_path: Path) -> None:
    found = drawn(mode, table_file([years(n, "perhaps") for n in range(3)]))
    assert set(found) == {"figure_2_ranking_smape", "figure_5_possible", "figure_12_smape",
                          "figures_6_10_labels_ttqa_head"}  # fmt: skip
    for name, figure in found.items():
        assert len(list(save(figure, tmp_path, name))) == 3


def test_equal_means_share_a_rank_and_move_nowhere() -> None:
    same = [years(10 + k, 10 + k + (k % 3 == 0)) for k in range(30)]
    files = [table_file(same, name) for name in ("A", "A", "B")]
    scores = score_v2(files)
    means = summarize(scores.items, "v2")
    rows = rankings(Answers(tuple(files), "v2", scores, means)).rows
    assert [(row[0], row[1], row[2], row[6]) for row in rows] == [
        (name, 1, model, 0) for name in ("exact_match", "smape", "mase") for model in "AB"
    ]
    assert rows[0][4] - 3 < rows[1][4] < rows[0][5] < rows[1][5] + 3  # type: ignore[operator]


def test_files_that_cannot_be_drawn_are_counted() -> None:
    finite = [years(10 + k, 11 + k) for k in range(12)]
    infinite = object_file([("{'answer': 5}", "days", ' "2 + 2 = 5", "answer": 6}')] * 3)
    made = drawn("paper", table_file(finite), infinite)
    for name in ("figure_3_ranking_mase", "figure_13_mase"):
        told = [text.get_text() for text in made[name].texts]
        assert "1 of 2 files not drawn: infinite MASE" in told


def test_calendar_years_have_a_panel_apart_and_equal_ones_a_share() -> None:
    rows = [("1907", "yyyy", "years", "Final Answer: 1907")] * 2 + [years(k, k) for k in (3, 8)]
    figure = drawn("v2", table_file(rows))["figures_6_10_labels_ttqa_head"]
    panels = {axes.get_title(): axes for axes in figure.axes if axes.get_visible()}
    assert set(panels) == {"calendar years (n = 2)", "years (n = 2)"}
    equal = panels["calendar years (n = 2)"]
    assert [tick.get_text() for tick in equal.get_xticklabels()] == ["1907"]
    assert (equal.get_ylabel(), equal.patches[0].get_height()) == ("share", 1.0)  # type: ignore[attr-defined]
