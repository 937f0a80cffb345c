"""Oracles score all, constants their true share, an answer short of one row nothing; shortcuts
solve no other questions than theirs.

The questions come from the generator; benchmarks/tdbench_scoring.py does the same with thousands.
"""

from collections import Counter

import pytest

from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.score import measure
from agent_env.tasks.shortcut_scores import solved_by
from tests.families.tdbench.leaders import TABLE, current, hops, question

KINDS = ("relation", "current", "nth", "longest", "count", "duration", "hops")


def told(sample, rows):
    if sample.answer_type == "number":
        return sample.gold[0]
    lines = [f"- {row.answer}, from {row.start} to {row.end or 'present'}" for row in rows]
    hops = "".join(f"{' '.join(hop.gold)}\n" for hop in sample.hops)
    return f"{hops}ANSWER:\n" + ("\n".join(lines) or "No answer")


def mean(samples, name, answer):
    rows = [measure(sample, answer(sample))["metrics"] for sample in samples]
    known = [row[name] for row in rows if row.get(name) is not None]
    return sum(known) / len(known)


def test_an_oracle_scores_all_a_row_less_nothing_and_constants_their_share():
    questions = make(260, 11, TdbenchOptions(kinds=KINDS, phrasings=1)).samples
    for name in ("answer", "time", "answer_time", "f1"):
        assert mean(questions, name, lambda s: told(s, s.golds)) == 1
    several = [s for s in questions if s.cardinality == "multiple" and len(s.golds) == len(s.gold)]
    assert len(several) > 20
    assert mean(several, "answer", lambda s: told(s, s.golds[1:])) == 0
    assert mean(several, "answer", lambda s: told(s, s.golds[:-1])) == 0
    assert 0 < mean(several, "f1", lambda s: told(s, s.golds[1:])) < 1
    none = sum(s.cardinality == "none" for s in questions) / len(questions)
    assert mean(questions, "answer", lambda s: "No answer") == pytest.approx(none)
    assert mean(questions, "answer", lambda s: "unsure") == 0
    values = Counter(value for s in questions for value in (*s.gold, *s.others))
    for value, _ in values.most_common(5):
        share = sum(s.gold == (value,) for s in questions) / len(questions)
        assert mean(questions, "answer", lambda s, v=value: v) == pytest.approx(share)


@pytest.mark.parametrize(
    ("sample", "right"),
    [
        (question(1), {"oracle"}),
        (question(), {"constant", "oracle"}),
        (current(), {"latest-row", "oracle"}),
        (hops(), {"oracle"}),
    ],
)
def test_a_question_is_solved_by_these_shortcuts_only(sample, right):
    task = make_task("default", TdbenchOptions(), {TABLE.digest: TABLE})
    asked = [sample.model_copy(update={"relevant": ((0, 1, 2, 3),)})]
    solved = {each.name for each in task.shortcuts if solved_by(task, each, asked)}
    assert solved - {"random-row", "ignore-entity"} == right
