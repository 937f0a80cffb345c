"""The report: whole, escaped, small, and its one script allowed by name."""

import base64
import hashlib
import re

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.examples import examples
from agent_env.analysis.first_page import finding
from agent_env.analysis.report import chapter_of, report_of, settings
from agent_env.records.escaping import visible
from agent_env.records.manifest import WebSettings
from tests.analysis.simulated import Plant, study
from tests.features.viewer.stage import make_run
from tests.lazy_modules import LazyModule

drawing, figures, html = (
    LazyModule(f"agent_env.analysis.{name}") for name in ("drawing", "figures", "html")
)

TURNED = "a\u202egnp.exe\x1b[2J\x9d"
HOSTILE = "</script><script>hacked=1</script><img src=x onerror=hacked=1>--><b>"


def report(*models, samples=20):
    made = study(Plant(samples=samples, repeats=2), {"base": 0.0, "web": 0.2}, models, 1)
    chapter = chapter_of(Comparison(made, Options()), {})
    return report_of([chapter], f"{made.task}: {models[-1]}")


@pytest.fixture(scope="module")
def text():
    """Of a study of models with hostile names."""
    return report(TURNED + "z" * 5000, HOSTILE)


def test_hostile_names_scripts_and_references(text):
    assert "hacked=1" in text
    assert "<script>hacked" not in text
    assert "<img" not in text
    assert text.count("<script>") == text.count("</script>") == 1
    assert "--><b>" not in text
    assert not set("\u202e\x1b\x9d") & set(text)
    assert r"a\u202egnp.exe\u001b[2J\u009d" in text
    assert visible(drawing.literal(TURNED)) == drawing.literal(TURNED)
    assert len(drawing.literal("z" * 5000)) == drawing.LONGEST
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    wanted = re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', text)
    assert {one or other for one, other in wanted} <= set(ids)


def test_it_invents_no_figure_and_draws_the_same_twice():
    alone = report("a", "b", samples=1)
    assert "With 1 question no smallest difference" in alone
    assert not re.search(r">\s*nan\b", alone, re.IGNORECASE)
    made = Comparison(study(Plant(samples=20), {"base": 0.0, "web": 0.6}, ("a",), 1))
    first, second = (html.inline_svg(figures.all_figures(made)["scores"], "x") for _ in range(2))
    assert ">web</text>" in first  # texts are texts
    assert "style=" not in first  # which a strict policy refuses
    assert "var(--better, #0b62a8)" in first  # and it goes dark with its page
    assert first == second


def test_the_headline_is_the_finding():
    def headline(effects, models=("m",), samples=40, **options):
        made = study(Plant(samples=samples), effects, models, 1)
        return finding(Comparison(made, Options(**options)))

    gain = {"base": 0.0, "web": 0.6}
    assert headline(gain) == "m gets better with web: 40 of 40 right with web instead of 18"
    assert headline({"base": 0.6, "web": 0.0}).startswith("m gets worse with web: ")
    assert headline({"base": 0.0, "web": 0.0}) == "No gain over base can be shown for m"
    assert headline(gain, ("a", "b")) == "a gets better with web; b gets better with web"
    assert headline({"base": 0.0}, ("a", "b")) == "How a and b did on simulated"
    given_away = {"base": 0.0, "web": 0.0, "explicit": 0.6}
    assert headline(given_away) == "No gain over base can be shown for m"


def test_examples_are_a_gain_a_loss_and_an_answer_that_stayed_wrong():
    made = study(Plant(samples=40), {"base": 0.0, "web": 0.3, "python": -0.3}, ("m",), 1)
    found = examples(Comparison(made, Options()))
    assert [each.title for each in found] == ["Gained with web", "Lost with python"]
    for each, sign in zip(found, (1, -1), strict=True):
        before, after = each.answers
        assert before.condition == "base"
        assert sign * (after.score - before.score) > 0
    assert found[0].answers[-1].episode.startswith("web/")


def test_settings_tell_what_a_method_section_needs(tmp_path):
    manifest = make_run(tmp_path / "run", ["s1", "s2"]).manifest
    web = WebSettings(pages_digest="abc", search="brave", block_leaks=True)
    found = settings({"run": manifest.model_copy(update={"web_settings": web, "sandbox": "x"})})
    told = {row[0]: row[1] for row in found.rows}
    wanted = {
        "samples": 2, "limits of an episode": "steps 9", "page store's digest": "abc",
        "web": "sealed", "web search": "brave", "leaks withheld": "yes", "sandbox": "x", "seed": 1,
        "versions": "agent-env 0", "scorer": "the task's",
    }  # fmt: skip
    assert {name: told.get(name) for name in wanted} == wanted
    assert "dataset" not in told
    update = {"scorer": "m.py:strict", "options": {"scorer": "exact", "case": True}}
    named = dict(settings({"run": manifest.model_copy(update=update)}).rows)
    assert (named["scorer"], named["task options"]) == ("m.py:strict", "case True")
