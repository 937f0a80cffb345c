"""Oracles score all, constants their true share, an answer short of one row nothing.

The questions come from the generator; benchmarks/tdbench_scoring.py does the same with thousands.
"""

from collections import Counter

import pytest

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.score import measure

KINDS = ("relation", "current", "nth", "longest", "count", "duration", "hops")


@pytest.fixture(scope="module")
def questions():
    made = make(260, 11, TdbenchOptions(kinds=KINDS, phrasings=1))
    return made.samples


def told(sample, rows):
    if sample.answer_type == "number":
        return sample.gold[0]
    lines = [f"- {row.answer}, from {row.start} to {row.end or 'present'}" for row in rows]
    hops = "".join(f"{' '.join(hop.gold)}\n" for hop in sample.hops)
    return f"{hops}ANSWER:\n" + ("\n".join(lines) or "No answer")


def metric(samples, name, answer):
    return mean([measure(sample, answer(sample))["metrics"] for sample in samples], name)


def mean(rows, name):
    known = [row[name] for row in rows if row.get(name) is not None]
    return sum(known) / len(known)


def test_an_oracle_scores_all_a_row_less_nothing_and_constants_their_share(questions):
    rows = [measure(sample, told(sample, sample.golds))["metrics"] for sample in questions]
    for name in ("answer", "time", "answer_time", "f1"):
        assert mean(rows, name) == 1
    several = [s for s in questions if s.cardinality == "multiple" and len(s.golds) == len(s.gold)]
    assert len(several) > 20
    assert metric(several, "answer", lambda s: told(s, s.golds[1:])) == 0
    assert metric(several, "answer", lambda s: told(s, s.golds[:-1])) == 0
    assert 0 < metric(several, "f1", lambda s: told(s, s.golds[1:])) < 1
    none = sum(s.cardinality == "none" for s in questions) / len(questions)
    assert metric(questions, "answer", lambda s: "No answer") == pytest.approx(none)
    assert metric(questions, "answer", lambda s: "unsure") == 0
    values = Counter(value for s in questions for value in (*s.gold, *s.others))
    for value, _ in values.most_common(5):
        share = sum(s.gold == (value,) for s in questions) / len(questions)
        assert metric(questions, "answer", lambda s, v=value: v) == pytest.approx(share)
