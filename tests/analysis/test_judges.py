"""How judges agree with the reader: kappa by hand, clusters by query, everything counted.

Agreement on figures worked out by hand and on published examples.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.analysis.intervals import Estimate
from agent_env.analysis.judges import (
    by_class,
    cohen,
    judge_agreements,
    krippendorff_alpha,
    last_verdict,
    majority,
    mean_kappa,
)
from agent_env.records.schema import Episode, JudgeCall, Sample, Score, Usage, Verdict
from agent_env.testing import answer, puzzle

J = "compatible/j"


class Phrased(Sample):
    """A sample that shares its query with others."""

    query: str


def judged(says, judge=J, metric="answer"):
    reply = answer("VERDICT", Usage(input_tokens=100, output_tokens=10, source="provider"))
    call = JudgeCall(latency_s=0.1, reply=None if says == "failed" else reply)
    return Verdict(judge=judge, metric=metric, says=says, calls=(call,))


def pair(sample, reader, *said):
    episode = Episode(
        sample=sample, condition="base", repeat=1, model="m", status="finished", judged=said
    )
    metrics = {} if reader is None else {"answer": reader}
    score = Score(sample=sample, condition="base", repeat=1, outcome="read", metrics=metrics)
    return episode, score


def made(*cells, query="q{n}"):
    names = [f"s{n}" for n in range(len(cells))]
    samples = {
        name: Phrased(id=name, task="t", gold=(), query=query.format(n=n))
        for n, name in enumerate(names)
    }
    scored = [pair(n, reader, judged(s)) for n, (reader, s) in zip(names, cells, strict=True)]
    return samples, scored


def test_kappa_is_agreement_beyond_chance():
    # 20 + 15 of 50 agree; by chance 25·30/2500 + 25·20/2500 = 0.5
    assert round(cohen((20, 5, 10, 15)) or 0, 12) == 0.4
    assert cohen((10, 0, 0, 10)) == 1.0
    assert cohen((5, 5, 0, 0)) == 0.0
    assert cohen((10, 0, 0, 0)) is None
    assert cohen((0, 0, 0, 0)) is None


def test_every_answer_is_counted_once_by_what_became_of_it():
    samples = {name: puzzle(name) for name in "abcdefgh"}
    scored = [
        pair("a", 1, judged("right")),
        pair("b", 1, judged("wrong")),
        pair("c", 0, judged("right")),
        pair("d", 0, judged("wrong")),
        pair("e", 1, judged("unparsable")),
        pair("f", 1, judged("failed")),
        pair("g", 0),
        pair("h", None, judged("right")),
    ]
    (found,) = judge_agreements(samples, scored)
    assert (found.judge, found.metric, found.answers) == (J, "answer", 7)
    assert (found.judged, found.unparsable, found.failed, found.not_asked) == (4, 1, 1, 1)
    assert found.confusion == {"both": 1, "reader": 1, "judge": 1, "neither": 1}
    assert (found.agreement.value, found.kappa.value) == (0.5, 0.0)
    assert (found.calls, found.input_tokens, found.output_tokens) == (7, 600, 60)
    assert found.cost_usd is None


def test_several_judges_and_metrics_are_apart_and_the_last_verdict_counts():
    first, second = judged("wrong"), judged("right")
    other = judged("wrong", judge="openai/k")
    dated = judged("wrong", metric="answer_time")
    episode, score = pair("a", 1, first, second, judged("failed"), other, dated)
    assert last_verdict(episode, J, "answer") == "right"
    assert last_verdict(episode, J, "answer_time") == "wrong"
    assert last_verdict(episode, "openai/k", "answer_time") is None
    rows = judge_agreements({"a": puzzle("a")}, [(episode, score)])
    assert [(row.judge, row.metric) for row in rows] == [
        (J, "answer"), (J, "answer_time"), ("openai/k", "answer"),
    ]  # fmt: skip
    assert [row.agreement.value for row in rows] == [1.0, None, 0.0]


def test_phrasings_of_one_query_are_drawn_together():
    cells = [(1, "right")] * 10 + [(0, "wrong")] * 6 + [(1, "wrong")] * 4
    _, scored = made(*cells)
    apart, _ = made(*cells)
    together = {
        name: sample.model_copy(update={"query": f"q{n // 4}"})
        for n, (name, sample) in enumerate(apart.items())
    }
    (alone,), (clustered,) = judge_agreements(apart, scored), judge_agreements(together, scored)
    assert (alone.queries, clustered.queries) == (20, 5)
    assert alone.agreement.value == clustered.agreement.value == 0.8
    assert (alone.agreement.low, alone.agreement.high) == pytest.approx((0.6, 0.95), abs=0.051)
    assert (clustered.agreement.low, clustered.agreement.high) == pytest.approx((0.2, 1.0))
    assert alone.kappa.low < 0.6 < (alone.kappa.high or 0)


def test_where_all_agree_the_interval_is_wilsons_and_kappa_has_none():
    samples, scored = made((1, "right"), (1, "right"), (0, "wrong"), (0, "wrong"))
    (found,) = judge_agreements(samples, scored)
    assert found.kappa == Estimate(1.0)
    assert (found.agreement.value, found.agreement.high) == (1.0, 1.0)
    assert round(found.agreement.low or 0, 3) == 0.51


def test_a_reader_that_always_says_the_same_gives_kappa_zero_and_no_interval():
    samples, scored = made((1, "right"), (1, "right"), (1, "wrong"), (1, "right"))
    (found,) = judge_agreements(samples, scored)
    assert found.kappa == Estimate(0.0)
    assert found.agreement.value == 0.75


def labels(text):
    """One letter an item; a dot is no label."""
    return {str(n): letter for n, letter in enumerate(text) if letter != "."}


def test_precision_recall_and_f1_of_each_class():
    yes, no = reversed(by_class(labels("yyyn"), labels("yynn")))
    assert (yes.name, yes.precision, yes.recall, yes.f1) == ("y", 2 / 3, 1, 0.8)
    assert (no.name, no.precision, no.recall) == ("n", 1, 0.5)


def test_a_class_that_one_side_never_gives_has_no_precision():
    (a, b) = by_class(labels("aa"), labels("ab"))
    assert (b.precision, b.recall, b.f1) == (None, 0, 0)
    assert a.precision == 0.5


def test_alpha_of_krippendorffs_own_example_with_missing_labels():
    """Four observers, twelve units: nominal alpha 0.743."""
    observers = ["123321412...", "1233224125.3", ".3332342251.", "12332441251."]
    found = krippendorff_alpha([labels(row) for row in observers])
    assert found == pytest.approx(0.743, abs=0.001)


def test_ties_are_left_out_and_counted():
    assert majority([labels("aab"), labels("abb"), labels("a..")]) == ({"0": "a", "2": "b"}, 1)


@given(st.text("abc.", min_size=2, max_size=30))
def test_perfect_agreement_is_one_or_undefined(text):
    for found in (
        krippendorff_alpha([labels(text), labels(text)]),
        mean_kappa([labels(text), labels(text)]),
    ):
        assert found is None or found == pytest.approx(1)
