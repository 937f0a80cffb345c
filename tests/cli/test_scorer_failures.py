"""A scorer that raises is an outcome of its episode: shown, counted apart, never 0 and no end."""

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
from tests.analysis.simulated import Plant, study
from tests.analysis.studies import study_of


def raising_on(task, condition, error):
    """The task with a scorer that fails on one condition's episodes."""

    def scorer(sample, episode):
        if episode.condition == condition:
            raise error
        return task.scorer(sample, episode)

    return replace(task, scorer=scorer)


@pytest.fixture
def folder(recorded):
    return Run(recorded)


def test_the_failed_one_says_why_and_is_blamed_on_nobody_counted_apart_and_in_no_mean(folder):
    task = raising_on(folder.task, "web", RecursionError("too\ndeep"))
    scored = score_run(folder, task, lambda reason: None)
    ((episode, score),) = [pair for pair in scored if pair[1].outcome == "scorer_failed"]
    assert episode.condition == "web"
    assert score.rule.startswith("the scorer raised RecursionError: too deep at ")
    assert (score.metrics, score.answer) == ({}, None)
    (web,) = [each for each in folder.manifest.conditions if each.name == "web"]
    (sample,) = folder.samples
    found = TraceProvenance(sample, episode, score, web, task.right_metric, None).record()
    assert (found.verdict, found.because, found.failure) == ("not scored", score.rule, "")
    pairs = [(e, s) for e, s in scored if e.condition in ("base", "web")]
    made = study_of(pairs, ("base", "web"), ("exact_match",))
    base, web = summarise(made).values()
    assert (web["scorer_failed"], web["finished"], web["exact_match"]) == (1, 0, None)
    assert base["scorer_failed"] == 0
    assert "scorer failed" in columns_of(made)
    alone = study_of([pair for pair in pairs if pair[0].condition == "base"], ("base",), ("f1",))
    assert "scorer failed" not in columns_of(alone)


def columns_of(study):
    return [column.name for column in conditions(study).without_empty().columns]


def test_a_scorer_that_gives_no_score_has_failed_and_what_the_user_can_mend_stops(folder):
    task = replace(folder.task, scorer=lambda sample, episode: {"near": 1.0})
    (rule,) = {score.rule for _, score in score_run(folder, task, lambda reason: None)}
    assert rule.startswith("the scorer raised TypeError: it gave dict, not a Score")
    task = raising_on(folder.task, "web", ConfigError("needs the extra 'answers'"))
    with pytest.raises(ConfigError, match="needs the extra"):
        score_run(folder, task, lambda reason: None)


def test_a_comparison_counts_it_in_no_figure_not_even_as_zero():
    made = study(Plant(samples=40, repeats=2, base=0.5), {"base": 0.0, "web": 0.0}, ("m",), seed=3)
    first, *others = made.arms
    sample, (metric, *_) = first.observations[0].sample, made.metrics
    broken = tuple(
        replace(o, outcome="scorer_failed", metrics={}) if o.sample == sample else o
        for o in first.observations
    )
    harmed = replace(made, arms=(replace(first, observations=broken), *others))
    before, after = (Comparison(each, Options()) for each in (made, harmed))
    own = [o.metrics[metric] for o in first.observations if o.sample != sample]
    assert after.of_all[0].value == pytest.approx(sum(own) / len(own))
    for each in (before, after):
        assert each.of_all[0].value == each.means[metric][0].value
    assert columns_of(after)[-1] == "scorer failed"
    assert "scorer failed" not in columns_of(before)
    assert "2 whose scorer failed are in no figure." in " ".join(method_words(after, {}))
