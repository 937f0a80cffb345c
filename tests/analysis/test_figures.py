"""Figures are written, hold what they should, and tell conditions apart without colour."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.drawing import save
from agent_env.analysis.figures import all_figures, looks
from agent_env.analysis.frames import episodes
from agent_env.analysis.simulated import Plant, study
from agent_env.analysis.statistics.conditions import conditions
from agent_env.analysis.statistics.differences import differences

EFFECTS = {"base": 0.0, "web": 0.2, "ci": 0.0, "web+ci": 0.2}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    made = study(Plant(samples=40, repeats=2), EFFECTS, ("a", "b"), seed=1)
    return Comparison(made, Options(resamples=1000))


def test_each_figure_is_written_as_svg_and_png(comparison: Comparison, tmp_path: Path) -> None:
    figures = all_figures(comparison)
    assert list(figures) == ["conditions", "frontier", "flips", "reliability"]
    for name, figure in figures.items():
        svg, png = save(figure, tmp_path, name)
        assert b"<svg" in svg.read_bytes()
        assert png.read_bytes().startswith(b"\x89PNG")


def test_the_same_study_gives_the_same_picture(comparison: Comparison, tmp_path: Path) -> None:
    first, second = (all_figures(comparison)["frontier"] for _ in range(2))
    one, two = (list(save(f, tmp_path / n, "x"))[1] for f, n in ((first, "1"), (second, "2")))
    assert one.read_bytes() == two.read_bytes()


def test_conditions_differ_in_marker_and_hatch_not_only_in_colour(comparison: Comparison) -> None:
    found = looks(comparison.study.arms).values()
    assert len({look.marker for look in found}) == len({look.hatch for look in found}) == 4


def test_frames(comparison: Comparison) -> None:
    assert len(episodes(comparison)) == 2 * 4 * 40 * 2
    assert episodes(comparison)["cost_usd"].isna().all()
    table = differences(comparison).frame()
    assert list(table["difference"][:2]) == ["a web − a base", "a ci − a base"]
    assert table["exact_match low"][0] <= table["exact_match"][0] <= table["exact_match high"][0]
    assert "exact_match low" in conditions(comparison).frame().columns
