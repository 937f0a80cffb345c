"""What judges say, clusters by query, everything counted."""

from __future__ import annotations

import pytest

from agent_env.features.judge.tables import judge_rates, last_verdict
from agent_env.records.schema import JudgeCall, Sample, Usage, Verdict
from agent_env.testing import answer, puzzle
from tests.ended import scored as scored_pair

J = "compatible/j"


class Phrased(Sample):
    """A sample that shares its query with others."""

    query: str


def judged(says, judge=J, metric="answer"):
    reply = answer("VERDICT", Usage(input_tokens=100, output_tokens=10, source="provider"))
    call = JudgeCall(latency_s=0.1, reply=None if says == "failed" else reply)
    return Verdict(judge=judge, metric=metric, says=says, calls=(call,))


def pair(sample, reader, *said):
    metrics = {"f1": 1} if reader is None else {"answer": reader}
    episode, score = scored_pair(metrics, sample, judged=said)
    return episode, score.metrics


def made(*cells):
    samples, scored = {}, []
    for n, (reader, says) in enumerate(cells):
        samples[f"s{n}"] = Phrased(id=f"s{n}", task="t", gold=(), query=f"q{n}")
        scored.append(pair(f"s{n}", reader, judged(says)))
    return samples, scored


def test_judges_metrics_and_last_verdicts_are_counted_apart():
    scored = [
        pair(name, reader, *map(judged, says)) for name, reader, *says in (
            ("a", 1, "right"), ("b", 1, "wrong"), ("c", 0, "right"), ("d", 0, "wrong"),
            ("e", 1, "unparsable"), ("f", 1, "failed"), ("g", 0), ("h", None, "right"),
        )
    ]  # fmt: skip
    (found,) = judge_rates({name: puzzle(name) for name in "abcdefgh"}, scored)
    assert (found.judge, found.metric, found.answers) == (J, "answer", 7)
    assert (found.judged, found.unparsable, found.failed, found.not_asked) == (4, 1, 1, 1)
    assert (found.right.value, found.cost_usd) == (0.5, None)
    assert (found.calls, found.input_tokens, found.output_tokens) == (7, 600, 60)
    other = judged("wrong", judge="openai/k")
    dated = judged("wrong", metric="answer_time")
    episode, metrics = pair("a", 1, *map(judged, ("wrong", "right", "failed")), other, dated)
    assert last_verdict(episode, J, "answer") == "right"
    assert last_verdict(episode, J, "answer_time") == "wrong"
    assert last_verdict(episode, "openai/k", "answer_time") is None
    rows = judge_rates({"a": puzzle("a")}, [(episode, metrics)])
    assert [(row.judge, row.metric, row.right.value) for row in rows] == [
        (J, "answer", 1.0), (J, "answer_time", None), ("openai/k", "answer", 0.0),
    ]  # fmt: skip


def test_what_judges_say_has_intervals_by_query():
    apart, scored = made(*[(1, "right")] * 16, *[(1, "wrong")] * 4)
    together = dict(apart)
    for n, (name, sample) in enumerate(apart.items()):
        together[name] = sample.model_copy(update={"query": f"q{n // 4}"})
    (alone,), (clustered,) = judge_rates(apart, scored), judge_rates(together, scored)
    assert (alone.queries, clustered.queries) == (20, 5)
    assert alone.right.value == clustered.right.value == 0.8
    assert (alone.right.low, alone.right.high) == pytest.approx((0.584, 0.919), abs=0.001)
    assert (clustered.right.low, clustered.right.high) == pytest.approx((0.223, 0.982), abs=0.001)
    (found,) = judge_rates(*made(*[(1, "right")] * 4))
    assert (found.right.value, found.right.high, found.right.samples) == (1.0, 1.0, 4)
    assert round(found.right.low, 3) == 0.51
    (found,) = judge_rates(*made(*[(1, "right")] * 2, *[(0, "wrong")] * 2))
    assert (found.right.value, found.right.samples) == (0.5, 4)
    assert found.right.low < 0.5 < found.right.high
