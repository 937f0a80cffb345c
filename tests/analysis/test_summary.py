"""Summaries: what counts, what does not, and what is unknown."""

from __future__ import annotations

from typing import Any

from agent_env.analysis.summary import Result, Summary, summarise
from agent_env.records.schema import Episode, Score


def result(sample: str, outcome: str = "read", value: float = 1.0, **fields: Any) -> Result:
    status = "finished" if outcome in ("read", "unreadable") else outcome
    common = {"sample": sample, "condition": "web", "repeat": 1}
    told = {"steps": 2, "input_tokens": 10, "output_tokens": 4, "stop_reason": "answered", **fields}
    episode = Episode.model_validate({**common, "model": "m", "status": status, **told})
    metrics = {"exact_match": value} if status == "finished" else {}
    return Result(episode, Score.model_validate({**common, "outcome": outcome, "metrics": metrics}))


def summary(*results: Result) -> Summary:
    (row,) = summarise(results, ["web"], ["exact_match"])
    return row


def test_failed_and_unfinished_episodes_are_counted_and_enter_no_mean() -> None:
    row = summary(result("a"), result("b", "failed"), result("c", "unfinished"))
    assert (row.episodes, row.finished, row.failed, row.unfinished) == (3, 1, 1, 1)
    assert row.metrics == {"exact_match": 1.0}


def test_an_unreadable_answer_scores_nothing_and_counts() -> None:
    row = summary(result("a"), result("b", "unreadable", 0.0))
    assert (row.finished, row.unreadable, row.metrics["exact_match"]) == (2, 1, 0.5)


def test_one_unknown_figure_makes_the_mean_unknown() -> None:
    row = summary(result("a"), result("b", input_tokens=None))
    assert (row.input_tokens, row.output_tokens) == (None, 4.0)


def test_the_interval_is_over_samples_not_over_repeats() -> None:
    once = summary(result("a"), result("b"))
    often = summary(result("a"), result("a"), result("a"), result("b"))
    assert once.interval == often.interval
    assert once.interval is not None
    assert round(once.interval[0], 4) == 0.3424


def test_one_sample_has_no_interval() -> None:
    assert summary(result("a"), result("a")).interval is None


def test_a_condition_without_episodes_has_no_figures() -> None:
    row = summary()
    assert (row.metrics, row.interval, row.steps) == ({"exact_match": None}, None, None)


def test_how_episodes_ended_is_told() -> None:
    row = summary(result("a"), result("b", stop_reason="steps"), result("c"))
    assert row.stop_reasons == {"answered": 2, "steps": 1}
