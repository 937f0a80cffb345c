"""Every place that shows a mean of a run shows the same one."""

import json
import re

import pytest

import agent_env as ae
from agent_env.analysis.episode_tables import episode_table
from agent_env.analysis.statistics.results import conditions as conditions_table
from agent_env.episodes.index_pages import IndexPages
from agent_env.features.interop.run_export import ExportOptions, export
from agent_env.runs.run import Run
from agent_env.runs.scores.running_scores import SoFar
from agent_env.runs.scores.score import read_scores
from agent_env.runs.screen.progress import scores_text

METRIC = "exact_match"
REPEATS = 3
RIGHT = {"base": ["100", "0ff", "1f1", "000"], "cal": ["111", "1ff", "fff", "010"]}
"""By condition and question, how each repeat ends: right, wrong, or failed."""
MEANS = {"base": (1 / 3 + 0 + 1 + 0) / 4, "cal": (1 + 1 + 1 / 3) / 3}
"""Over samples. Over episodes they would be 3/9 and 5/7."""


def uneven():
    times = {}

    def model(messages, tools):
        condition = "cal" if tools else "base"
        number = int(re.findall(r"Number (\d)", messages[-1].content)[0])
        place = times.get((condition, str(number)), 0)
        times[condition, str(number)] = place + 1
        end = RIGHT[condition][number][place]
        if end == "f":
            raise ValueError("this one fails")
        return f"MY ANSWER: {'yes' if end == '1' else 'no'}"

    return model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    parent = tmp_path_factory.mktemp("uneven")
    lines = [{"id": f"q{n}", "question": f"Number {n}?", "answer": "yes"} for n in range(4)]
    (parent / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ae.run_sync(
        "qa", dataset=parent / "q.jsonl", model=uneven(), conditions=["base", "cal"],
        repeats=REPEATS, concurrency=1, out=parent / "run", progress=False,
        stop_after_failures=0,
    )  # fmt: skip
    return Run(parent / "run")


def ignore(text):
    """Takes a note."""


def test_score_compare_and_progress_average_samples(run):
    scores = read_scores(run, None, ignore)
    conditions = scores.as_json(False)["conditions"]
    table = conditions_table(run.comparison(ignore))
    place = [column.name for column in table.columns].index(METRIC)
    shown = {row[0]: row[place] for row in table.rows}
    so_far = SoFar(run)
    so_far.read()
    for name, mean in MEANS.items():
        means = conditions[name][METRIC], shown[name][0], so_far.estimates[name].value
        assert means == pytest.approx((mean,) * 3)
    assert scores_text(so_far.estimates) == "0.33 to 0.78"


def test_the_list_of_episodes_and_the_viewer_have_the_same_means(run):
    read_scores(run, None, ignore)
    rows, totals = run.episode_rows(())
    table = episode_table(rows, totals)
    ends = {row[0]: row[3] for row in table.rows[-2:]}
    for name, mean in MEANS.items():
        assert totals.metrics[name][METRIC] == pytest.approx(mean)
        assert ends[f"mean of {name}"] == pytest.approx(mean)
    _, filtered = run.episode_rows(["condition=cal"])
    assert filtered.metrics == {"cal": totals.metrics["cal"]}
    pages = IndexPages(run.path / "index.db", METRIC)
    for group in pages.groups():
        assert group.metrics[METRIC] == pytest.approx(MEANS[group.condition])
    comparison = run.comparison(ignore)
    for name in ("steps", "input_tokens", "output_tokens", "duration_s"):
        shown = {group.condition: getattr(group, name) for group in pages.groups()}
        for arm, mean in zip(comparison.study.arms, comparison.values_of(name), strict=True):
            assert shown[arm.condition.name] == pytest.approx(mean)
    pages.close()


def test_an_exported_log_of_inspect_has_the_same_means(run, tmp_path):
    log = pytest.importorskip("inspect_ai.log", reason="needs the extra inspect")
    export(run, ExportOptions("inspect", tmp_path / "logs"), ignore)
    for name, mean in MEANS.items():
        results = log.read_eval_log(str(tmp_path / "logs" / f"{name}.eval")).results
        (score,) = [each for each in results.scores if each.name == METRIC]
        assert score.metrics["mean"].value == pytest.approx(mean)
