"""Agreement over the phrasings of one query, on scores whose figures are told by hand."""

from __future__ import annotations

import pytest

from agent_env.analysis.statistics.phrasings import consistency as consistency_of
from agent_env.families.tdbench.family import HOOKS
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.records.schema import Episode, Sample, Score
from agent_env.tasks.task import AnalysisHooks

from .studies import study_of

QUERIES = {f"q{query}-{n}": f"q{query}" for query in range(5) for n in range(3)}


def score(sample, right, *answer, repeat=1, outcome="read"):
    fields = {"sample": sample, "condition": "base", "repeat": repeat, "outcome": outcome}
    return Score.model_validate({**fields, "answer": answer, "metrics": {"answer": right}})


class Phrased(Sample):
    """A sample that words a query."""

    query: str = ""


def consistency(scores):
    pairs = [(episode(score), score) for score in scores]
    samples = [
        Phrased(id=name, task="t", gold=(), query=QUERIES.get(name, ""))
        for name in dict.fromkeys(score.sample for score in scores)
    ]
    return consistency_of(study_of(pairs, ("base",), ("answer",), samples))


def episode(score):
    status = score.outcome if score.outcome in ("failed", "unfinished") else "finished"
    fields = {"sample": score.sample, "condition": "base", "repeat": score.repeat, "model": "m"}
    return Episode.model_validate({**fields, "status": status})


MIXED = [
    score("q0-0", 1, "Ada"), score("q0-1", 1, "Ada"), score("q0-2", 1, "Ada"),
    score("q1-0", 1, "Ada"), score("q1-1", 0, "Bo"), score("q1-2", 0, "Cy"),
    score("q2-0", 0, "Bo", "Cy"), score("q2-1", 0, "Cy", "Bo"),
    score("q2-2", 0, outcome="failed"),
    score("q3-0", 1, "Di"), score("q3-1", 0, outcome="unfinished"),
]  # fmt: skip


def test_verdicts_answers_and_pairs_are_counted_by_query():
    (found,) = consistency(MIXED)
    assert (found.queries, found.phrasings, found.alone) == (3, 8, 1)
    assert found.same_verdict.value == pytest.approx(2 / 3)
    assert found.same_answer.value == pytest.approx(2 / 3)
    assert found.agreement.value == pytest.approx((1 + 1 / 3 + 1) / 3)
    for share in (found.same_verdict, found.same_answer):
        assert 0 <= share.low < share.value < share.high <= 1
    assert (found.agreement.low, found.agreement.high) == (None, None)  # three queries are too few


def test_where_all_agree_the_interval_is_wilsons_over_queries():
    alike = [score(f"q{q}-{n}", 1, "Ada") for q in range(5) for n in range(3)]
    (found,) = consistency(alike)
    assert (found.same_verdict.low, found.same_verdict.high) == (pytest.approx(0.5655, abs=1e-4), 1)


def test_phrasings_of_one_query_are_no_further_evidence():
    scores = [score(name, 1.0) for name in QUERIES]
    pairs = [(episode(each), each) for each in scores]
    by_query = AnalysisHooks(cluster=lambda sample: QUERIES[sample.id])
    (apart,) = study_of(pairs, ("base",), ("answer",)).estimates_of("answer")
    (together,) = study_of(pairs, ("base",), ("answer",), hooks=by_query).estimates_of("answer")
    assert (apart.clusters, together.clusters) == (15, 5)
    assert (apart.low, apart.high) == pytest.approx((0.7961, 1.0), abs=1e-4)
    assert (together.low, together.high) == pytest.approx((0.5655, 1.0), abs=1e-4)


def test_comparisons_draw_the_phrasings_of_a_query_together():
    samples = make(9, 1, TdbenchOptions(rows=60)).samples
    assert [HOOKS.cluster(s) for s in samples] == [s.query for s in samples]
    assert len({HOOKS.cluster(sample) for sample in samples}) == 3
    assert HOOKS.groups(samples[0])["worded_by"] == ("template",)
