"""Summaries: what counts, what does not, and what is unknown.

Samples about what a model cannot have read.
"""

import pytest

from agent_env.analysis.summary import after_cutoff, summarise
from agent_env.records.schema import ModelFacts, Score
from agent_env.testing import puzzle
from tests.ended import ended, scored

from .studies import study_of


def result(sample, outcome="read", value=1.0, **fields):
    used = {"steps": 2, "input_tokens": 10, "output_tokens": 4, "stop_reason": "answered", **fields}
    if outcome in ("read", "unreadable"):
        episode, score = scored({"exact_match": value}, sample, "web", **used)
        return episode, score.model_copy(update={"outcome": outcome})
    score = Score(sample=sample, condition="web", repeat=1, outcome=outcome)
    return ended(None, sample, "web", status=outcome, **used), score


def summary(*results):
    (row,) = summarise(study_of(results, ["web"], ("exact_match",))).values()
    return row


def test_means_are_over_samples_that_finished():
    row = summary(result("a"), result("b", "failed"), result("c", "unfinished"))
    assert (row["episodes"], row["finished"]) == (3, 1)
    assert (row["failed"], row["unfinished"], row["exact_match"]) == (1, 1, 1.0)
    row = summary(result("a"), result("b", "unreadable", 0.0))
    assert (row["finished"], row["unreadable"], row["exact_match"]) == (2, 1, 0.5)
    row = summary(result("a"), result("b", input_tokens=None))
    assert (row["input_tokens"], row["output_tokens"]) == (None, 4.0)
    once = summary(result("a"), result("b"))
    often = summary(result("a"), result("a"), result("a"), result("b"))
    assert once["exact_match_interval"][0] == pytest.approx(0.3424, abs=1e-4)
    assert often["exact_match_interval"][0] == pytest.approx(0.3424, abs=1e-4)


DATES = {"a": "2023-12-31", "b": "2024", "c": "2024-06-30", "d": "2024-07-01", "e": "2025"}
SAMPLES = [puzzle(name) for name in ("a", "b", "c", "d", "e", "unknown")]


def date(sample):
    return DATES.get(sample.id)


def knowing(cutoff):
    return ModelFacts(date="2026-01-01", source="made up", knowledge_cutoff=cutoff)


@pytest.mark.parametrize(
    ("cutoff", "later"),
    [
        ("2024-06", ("d", "e")),
        ("2024", ("e",)),
        ("2024-06-29", ("c", "d", "e")),
        ("2022", ("a", "b", "c", "d", "e")),
        ("2025", ()),
    ],
)
def test_samples_with_a_later_event_are_flagged_where_a_cutoff_is_known(cutoff, later):
    found = after_cutoff(SAMPLES, date, knowing(cutoff))
    assert (found.samples, found.asked, found.undated) == (later, 6, 1)
    assert after_cutoff(SAMPLES, date, knowing(None)) is None
    assert after_cutoff(SAMPLES, date, None) is None
