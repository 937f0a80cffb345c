"""A scorer that raises is an outcome of its episode: shown, counted apart, never 0 and no end."""

import shutil
from dataclasses import replace

import pytest

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.provenance import TraceProvenance
from agent_env.analysis.report import method_words
from agent_env.analysis.statistics.results import conditions
from agent_env.analysis.summary import summarise
from agent_env.episodes.results import score_run
from agent_env.errors import ConfigError
from agent_env.runs.run import Run
from tests import TESTS
from tests.analysis.simulated import Plant, study
from tests.analysis.studies import study_of

RUN = TESTS / "data" / "runs" / "puzzle"


def raising_on(task, condition, error):
    """The task with a scorer that fails on one condition's episodes."""

    def scorer(sample, episode):
        if episode.condition == condition:
            raise error
        return task.scorer(sample, episode)

    return replace(task, scorer=scorer)


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(RUN, tmp_path / "run")
    return Run(tmp_path / "run")


@pytest.fixture
def scored(folder):
    task = raising_on(folder.task, "web", RecursionError("too\ndeep"))
    return score_run(folder, task, lambda reason: None)


def test_the_failed_one_says_why_and_its_provenance_blames_nobody(scored, folder):
    outcomes = {episode.condition: score.outcome for episode, score in scored}
    assert outcomes.pop("web") == "scorer_failed"
    assert "scorer_failed" not in outcomes.values()
    (failed,) = [score for _, score in scored if score.outcome == "scorer_failed"]
    assert failed.rule.startswith("the scorer raised RecursionError: too deep at ")
    assert failed.metrics == {}
    assert failed.answer is None
    task = folder.task
    samples = {sample.id: sample for sample in folder.samples}
    known = {condition.name: condition for condition in folder.manifest.conditions}
    ((episode, score),) = [pair for pair in scored if pair[1].outcome == "scorer_failed"]
    sample = samples[episode.sample]
    found = TraceProvenance(sample, episode, score, known["web"], task.right_metric, None).record()
    assert (found.verdict, found.because, found.failure) == ("not scored", score.rule, "")


def test_a_scorer_that_gives_no_score_has_failed_and_what_the_user_can_mend_stops(folder):
    task = replace(folder.task, scorer=lambda sample, episode: {"near": 1.0})
    outcomes = {score.rule for _, score in score_run(folder, task, lambda reason: None)}
    (rule,) = outcomes
    assert rule.startswith("the scorer raised TypeError: it gave dict, not a Score")
    task = raising_on(folder.task, "web", ConfigError("needs the extra 'answers'"))
    with pytest.raises(ConfigError, match="needs the extra"):
        score_run(folder, task, lambda reason: None)


def test_the_summary_counts_it_apart_and_takes_no_mean_of_it(scored):
    pairs = [(e, s) for e, s in scored if e.condition in ("base", "web")]
    made = study_of(pairs, ("base", "web"), ("exact_match",))
    base, web = summarise(made).values()
    assert (web["scorer_failed"], web["finished"], web["exact_match"]) == (1, 0, None)
    assert base["scorer_failed"] == 0
    shown = [column.name for column in conditions(made).without_empty().columns]
    assert "scorer failed" in shown
    alone = study_of([pair for pair in pairs if pair[0].condition == "base"], ("base",), ("f1",))
    shown = [column.name for column in conditions(alone).without_empty().columns]
    assert "scorer failed" not in shown


def test_a_comparison_counts_it_in_no_figure_not_even_as_zero():
    made = study(Plant(samples=40, repeats=2, base=0.5), {"base": 0.0, "web": 0.0}, ("m",), seed=3)
    before = Comparison(made, Options())
    arm = made.arms[0]
    sample = arm.observations[0].sample
    broken = tuple(
        replace(o, outcome="scorer_failed", metrics={}) if o.sample == sample else o
        for o in arm.observations
    )
    after = Comparison(
        replace(made, arms=(replace(arm, observations=broken), *made.arms[1:])),
        Options(),
    )
    own = [o.metrics[made.metrics[0]] for o in arm.observations if o.sample != sample]
    assert after.of_all[0].value == pytest.approx(sum(own) / len(own))
    assert after.of_all[0].value == after.means[made.metrics[0]][0].value
    assert before.of_all[0].value == before.means[made.metrics[0]][0].value
    columns = [column.name for column in conditions(after).without_empty().columns]
    assert columns[-1] == "scorer failed"
    assert "scorer failed" not in [c.name for c in conditions(before).without_empty().columns]
    assert "2 whose scorer failed are in no figure." in " ".join(method_words(after, {}))
