"""A run that stops when its contrast is decided, and goes on with the same test."""

import asyncio
import json
import shutil

import pytest

import agent_env as ae
from agent_env.analysis.comparison import Comparison
from agent_env.analysis.statistics.conclusions import conclusions
from agent_env.errors import ConfigError
from agent_env.records.schema import Condition
from agent_env.runs.many import ManyOptions, start_many
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.stop_options import StopOptions
from agent_env.runs.stopping import Stopping, prior_results
from agent_env.runs.study import read_study
from tests.plans import QUIET


def episodes(folder, condition):
    return sorted((folder / "episodes" / condition).glob("*.jsonl"))


def resume(folder):
    asyncio.run(ae.open(folder, model=with_tools_only).resume(progress=False))


MODELS = """
def better(messages, tools):
    return "MY ANSWER: yes" if tools else "MY ANSWER: no"

def equal(messages, tools):
    return "MY ANSWER: yes"
"""


def two_models(parent, questions, until):
    (parent / "models.py").write_text(MODELS)
    each = [
        RunOptions(
            task="qa", model=f"{parent}/models.py:{name}", dataset=questions, out=parent / name,
            conditions=("base", "cal"), concurrency=1,
            stop=StopOptions(until=tuple(until), margin=0.3),
        )
        for name in ("better", "equal")
    ]  # fmt: skip
    how = ManyOptions(preflight="off")
    return asyncio.run(start_many(each, lambda name: QUIET, lambda line: None, how))


def stopping(folder):
    run = Run(folder)
    settings = run.manifest.until
    return Stopping({folder.name: run}, settings, lambda line: None)


def with_tools_only(messages, tools):
    """Knows the answer where it has a calendar."""
    return "MY ANSWER: yes" if tools else "MY ANSWER: no"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    parent = tmp_path_factory.mktemp("runs")
    lines = [{"id": f"q{n}", "question": f"Is {n} a number?", "answer": "yes"} for n in range(40)]
    questions = parent / "questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ae.run_sync(
        "qa", dataset=questions, model=with_tools_only, conditions=["base", "cal"],
        until=["cal-base"], max=30, out=parent / "one", concurrency=2, progress=False,
    )  # fmt: skip
    return parent / "one"


def test_it_asks_no_more_than_the_contrast_needs(folder):
    result = stopping(folder).results()[0]
    assert (result.name, result.planned, result.clusters) == ("cal − base", 30, 6)
    assert result.decision == "difference"
    assert 6 <= len(episodes(folder, "cal")) <= 8


def test_a_resumed_run_goes_on_with_the_same_test(folder):
    before = stopping(folder).results()
    for path in episodes(folder, "cal")[::2]:
        path.unlink()
    rule = stopping(folder)
    assert rule.results()[0].decision == "undecided"
    resume(folder)
    assert 6 <= len(episodes(folder, "cal")) <= 8
    assert stopping(folder).results() == before


def test_a_run_says_how_many_samples_it_will_take(folder, tmp_path):
    run = Run(folder)
    shutil.copytree(folder, tmp_path / "new", ignore=shutil.ignore_patterns("episodes", "*.jsonl"))
    shutil.copy(folder / "samples.jsonl", tmp_path / "new")
    settings, lines = run.manifest.until, list[str]()
    Stopping({"new": Run(tmp_path / "new", run.objects)}, settings, lines.append)
    assert lines == [
        "cal − base: of 30 samples at most, a difference of 0.20 probably not and one of 0.10 "
        "probably not (forecast: the median, if 30 % of samples differ)"
    ]
    assert stopping(folder).results()[0].decision == "difference"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": ["python-base"]}, "contrast 'python-base': no condition 'python'"),
        ({"until": ["trend:steps"]}, "a trend has no value for each sample"),
        ({"margin": 0.1}, "go with --until; name a contrast there"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(options, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        ae.run_sync(
            "time-puzzles", conditions=["base", "cal"], out=tmp_path / "x", progress=False,
            **options,
        )  # fmt: skip
    assert not (tmp_path / "x").exists()


def test_scores_and_comparisons_say_what_the_test_decided(folder):
    run = ae.open(folder, model=with_tools_only)
    stopped = ae.compare(run, resamples=1000).table("sequential")
    assert stopped.rows[0][:2] == ("cal − base", "difference")
    assert stopped.rows[0][4:] == (6, 30, 6, 1.0)
    again = ae.compare(run, resamples=1000, sequential=True).table("sequential")
    # were 40 samples planned, six would not be enough; one or two were on their way at the stop
    outcomes = {("undecided", 6, 40, 6, 1.0), ("difference", 7, 40, 7, 1.0)}
    assert again.rows[0][0] == "cal − base"
    assert (again.rows[0][1], *again.rows[0][4:]) in outcomes


def test_what_was_not_asked_is_neither_missing_nor_wrong(folder):
    study = read_study([folder])
    assert [arm.missing for arm in study.arms] == [0, 0]
    assert [estimate.value for estimate in Comparison(study).of_all] == [0.0, 1.0]
    assert "could stop early" in study.notes[-1]


def test_one_test_goes_over_the_models_of_a_study(folder, tmp_path):
    """Three contrasts of two models, among them their difference of differences."""
    until = ["cal-base", "(cal:base)@better:(cal:base)@equal"]
    assert two_models(tmp_path, folder.parent / "questions.jsonl", until) == {}
    comparison = Comparison(read_study([tmp_path]))
    decisions = [(each.decision, each.clusters) for each in comparison.sequential]
    assert decisions == [("difference", 9), ("none larger", 18), ("difference", 12)]
    assert 12 <= len(episodes(tmp_path / "equal", "base")) <= 21
    assert "could stop early" in comparison.study.notes[-1]
    assert Comparison(read_study([tmp_path / "equal"])).sequential == ()
    first, second, *_ = conclusions(comparison)
    assert first == (
        "cal raised exact match by 1.000 [0.323, 1.000] over base for models.py:better, "
        "n = 9 samples (sequential test, 40 planned)."
    )
    assert second.startswith(
        "cal against base for models.py:equal: no difference in exact match larger than 0.3: +0.000"
    )


def test_a_contrast_that_no_model_has_leaves_no_folder(folder, tmp_path):
    with pytest.raises(ConfigError, match="no model 'nobody'"):
        two_models(tmp_path, folder.parent / "questions.jsonl", ["cal@nobody:base@better"])
    assert [path.name for path in tmp_path.iterdir()] == ["models.py"]


def test_earlier_runs_predict_and_claims_are_on_the_samples_of_the_run(folder, tmp_path):
    questions = folder.parent / "questions.jsonl"
    later = ae.run_sync(
        "qa", dataset=questions, model=lambda messages: "MY ANSWER: yes", progress=False,
        conditions=["base", "cal"], until=["cal-base"], max=5, prior_results=[folder],
        effect=0.2, out=tmp_path / "later",
    )  # fmt: skip
    until = json.loads((tmp_path / "later" / "run.json").read_text())["until"]
    asked = {path.stem.partition(".")[0] for path in episodes(folder, "cal")}
    assert until["known"]["cal"] == dict.fromkeys(asked, 1.0)
    assert set(until["known"]["base"].values()) == {0.0}
    assert until["effect"] == 0.2
    assert until["known_from"][0].endswith(" under base, cal")
    (note,) = [
        n for n in ae.compare(later, resamples=1000).table("sequential").notes if "Predict" in n
    ]
    assert "the claims are on the samples of the run, not on others" in note


def test_results_of_the_model_and_condition_that_are_to_be_found_out_are_refused(folder):
    run, other = Run(folder), [Condition(name="web")]
    args = [folder], run.manifest.model, run.manifest.conditions, run.samples, lambda line: None
    with pytest.raises(ConfigError, match=r"has results of .* under base, which is what this run"):
        prior_results(*args)
    paths, model, _, *rest = args
    assert set(prior_results(paths, model, other, *rest).scores) == {"base", "cal"}


@pytest.mark.parametrize("model", ["openai/small", "compatible/small@http://127.0.0.1:2/v1"])
def test_the_way_to_a_model_does_not_hide_that_it_is_the_same(folder, tmp_path, model):
    shutil.copytree(folder, tmp_path / "copy")
    manifest = json.loads((folder / "run.json").read_text())
    manifest["model"] = "compatible/small@http://127.0.0.1:1/v1"
    (tmp_path / "copy" / "run.json").write_text(json.dumps(manifest))
    run = Run(folder)
    with pytest.raises(ConfigError, match="has results of compatible/small@"):
        prior_results(
            [tmp_path / "copy"], model, run.manifest.conditions, run.samples, lambda line: None
        )
    others = prior_results(
        [tmp_path / "copy"], "openai/large", run.manifest.conditions, run.samples, lambda line: None
    )
    assert set(others.scores) == {"base", "cal"}
