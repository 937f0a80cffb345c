"""Figures are written, hold what they should, and tell conditions apart without colour."""

import pytest
from matplotlib.text import Text

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.drawing import save
from agent_env.analysis.episode_tables import episodes
from agent_env.analysis.figures import NARROW, all_figures, scores
from agent_env.analysis.statistics.results import conditions, differences
from tests.analysis.simulated import Plant, study

EFFECTS = {"base": 0.0, "web": 0.2, "python": 0.0, "web+python": 0.2}


@pytest.fixture(scope="module")
def comparison():
    return Comparison(study(Plant(40, repeats=2), EFFECTS, ("a", "b"), seed=1), Options())


def test_a_figure_is_written_as_svg_png_and_pdf(comparison, tmp_path):
    figures = all_figures(comparison)
    assert list(figures) == ["scores", "forest", "frontier"]
    svg, png, pdf = save(figures["forest"], tmp_path, "forest")  # the report draws them all
    assert b"<svg" in svg.read_bytes()
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_figures_tell_apart_and_forests_have_all_contrasts(comparison):
    told = lines_of(scores(comparison))
    assert told.splitlines().count("web+python") == 2  # a row for each model
    assert "gain over base" in told
    assert lines_of(scores(comparison, NARROW)).count("[+") == told.count("[+") > 0
    assert len(episodes(comparison)) == 2 * 4 * 40 * 2
    assert episodes(comparison)["cost_usd"].isna().all()
    table = differences(comparison).frame()
    assert list(table["difference"][:2]) == ["a web − a base", "a python − a base"]
    assert table["exact_match low"][0] <= table["exact_match"][0] <= table["exact_match high"][0]
    assert "exact_match low" in conditions(comparison).frame().columns
    made = study(Plant(samples=40), EFFECTS, ("lab/A", "lab/B"), seed=1)
    texts = ("web:base", "(web:base)@A:(web:base)@B")
    comparison = Comparison(made, Options(contrasts=texts, planned=texts[:1]))
    told = lines_of(all_figures(comparison)["forest"])
    assert told.index("web − base") < told.index("lab/A") < told.index("lab/B")
    assert "(lab/A web − lab/A base) − (lab/B web − lab/B\nbase) (exploratory)" in told
    assert told.count("n = 40") == 3
    made = study(Plant(samples=30), {"base": 0.0, "web": 0.1, "explicit": 0.3}, ("m",), seed=1)
    figures = all_figures(Comparison(made, Options()))
    assert "explicit" in lines_of(figures["scores"])
    assert "explicit" not in lines_of(figures["frontier"])


def lines_of(figure):
    """All texts of a figure."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))
