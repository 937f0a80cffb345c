"""compare and diagnose as a user runs them, over two small runs of the scripted policies."""

import json

import pytest

from agent_env.analysis.figures import frontier, scores
from tests.commands import agent_env, typed


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Both policies over the same 12 puzzles, in one command."""
    out = tmp_path_factory.mktemp("matrix") / "both"
    done = typed(
        "run time-puzzles --model reference --model reference-static --condition base "
        "--condition web --condition explicit --limit 12 --seed 5 --json --out {}", out,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 2
    assert f"agent-env compare {out}" in done.stderr
    return out


def test_each_model_has_a_run_over_the_same_samples_and_the_main_tables(runs):
    one, two = (runs / name / "samples.jsonl" for name in ("reference", "reference-static"))
    assert one.read_bytes() == two.read_bytes()
    text = agent_env("compare", str(runs / "reference"), str(runs / "reference-static")).stdout
    assert "How well does each condition do on time-puzzles?" in text
    assert max(map(len, text.splitlines())) <= 100
    every = agent_env("compare", str(runs), "--all").stdout
    assert "How large are the differences, and could they be chance?" in every
    assert text.startswith("Conclusions\n- reference web is better than ")
    shown = agent_env("compare", str(runs), "--table", "ablation", "--table", "faults")
    assert shown.returncode == 0
    assert "No condition has faults of tools; run --faults makes one that has." in shown.stdout
    assert "No condition has a blocked or shifted web" in shown.stdout
    assert "──" not in shown.stdout


def test_what_compare_and_diagnosis_say_of_each_run(runs):
    told = json.loads(agent_env("compare", str(runs), "--json").stdout)
    rows = {row["difference"]: row for row in told["differences"]["rows"]}
    assert rows["reference web − reference base"]["p (Holm)"] < 0.01
    assert rows["reference-static web − reference-static base"]["p"] > 0.05
    assert rows["reference-static web − reference web"]["exact_match"]["value"] < 0
    assert rows["reference-static base − reference base"]["p"] == 1.0
    assert told["by-solutions"]["rows"]
    # reference-static trusts the first snippet, so what it gets wrong it never opened.
    told = json.loads(agent_env("show", "--why", str(runs), "--json").stdout)
    reference, static = told["runs"]
    by_condition = {row["condition"]: row for row in reference["answers"]["rows"]}
    assert by_condition["web"]["read"] == by_condition["web"]["right"] == 12
    assert by_condition["base"]["read"] == 0
    stages = ("not opened", "stopped at a snippet", "another date of the snippets")
    wrong = next(e for e in static["episodes"] if e["failure"] in stages)
    name = f"web/{wrong['sample']}.1"
    text = agent_env("show", str(runs / "reference-static" / name)).stdout
    assert f"== where it came from: {name}: {wrong['verdict']}: " in text
    assert f"  failed first: {wrong['failure']}" in text


def test_tables_are_written_in_each_format(runs, tmp_path):
    for out in ("all.md", "all.tex", "all.json"):
        assert agent_env("compare", str(runs), "--out", str(tmp_path / out)).returncode == 0
    assert "| reference web |" in (tmp_path / "all.md").read_text()
    assert r"\toprule" in (tmp_path / "all.tex").read_text()
    assert "answers" in json.loads((tmp_path / "all.json").read_text())
    agent_env("compare", str(runs), "--to", "csv", "--out", str(tmp_path / "tables"))
    assert (tmp_path / "tables" / "conditions.csv").read_text().startswith("condition,n,")
    one = agent_env("compare", str(runs), "--to", "csv", "--table", "use").stdout
    assert one.startswith("# use\ncondition,input_tokens,input_tokens low,")


def test_figures_and_one_html_file_with_method_tables_and_figures(runs, tmp_path, monkeypatch):
    """With two of the figures: to draw them all takes seconds."""
    pytest.importorskip("matplotlib.figure")
    makers = {"frontier": frontier, "scores": scores}
    monkeypatch.setattr("agent_env.analysis.figures.MAKERS", makers)
    out = tmp_path / "deep/report.html"
    done = typed("compare {} --figures {} --table use --html {}", runs, tmp_path, out)
    assert done.returncode == 0, done.stderr
    names = {file.name for file in tmp_path.iterdir()}
    assert {"frontier.svg", "frontier.png", "scores.pdf"} <= names
    text = out.read_text()
    for part in (
        "12 samples that all runs share", "72 episodes asked for, 72 finished", "seed 20261121",
        "gets better with",
        "Where do answers come from?", "samples&#39; digest", "sealed", "<svg",
        "reference web − reference base",
    ):  # fmt: skip
        assert part in text, part
    for outside in (' src="', "@import", "<link", "url(http"):
        assert outside not in text


def test_requirements_are_told_and_give_the_exit_code(runs, tmp_path):
    run, junit = str(runs / "reference"), tmp_path / "gate.xml"
    done = agent_env("compare", run, "--require", "web-base >= 0.05", "--junit", str(junit))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("met: web-base >= 0.05: web − base 1.000 [")
    assert 'tests="1" failures="0" errors="0"' in junit.read_text()
    unknown = agent_env("compare", run, "--json", "--require", "cost <= 2")
    assert unknown.returncode == 3
    assert json.loads(unknown.stdout)["requirements"][0]["answer"] == "not known yet"
    assert agent_env("compare", run, "--require", "base > 0.99").returncode == 1
    assert agent_env("compare", run, "--require", "base").returncode == 2
