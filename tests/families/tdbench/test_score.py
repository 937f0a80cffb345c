"""Answers to questions from a temporal table, each with the metrics that it must get; oracles score
all, constants their true share, an answer short of one row nothing.

Generated questions come from the generator; benchmarks/tdbench_scoring.py asks thousands.
"""

from collections import Counter

import pytest

from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.score import make_scorer, measure
from agent_env.tasks.shortcut_scores import solved_by
from tests.ended import ended
from tests.families.tdbench.leaders import TABLE, current, hops, question
from tests.questions import questions
from tests.tables import each, tables

CASES = tables(__file__)
ASKED = {"Carl Dahl": question(1), "Carl Dahl, Eva Fors": question(1, 2), "nobody": question()}
PLAIN = [(*case, n) for n, key in enumerate(("wrong", "right")) for case in each(CASES[key])]


def metrics(sample, text):
    return measure(sample, text, TABLE)["metrics"]


def triple(sample, text):
    """A, T and AT."""
    found = metrics(sample, text)
    return found["answer"], found.get("time"), found.get("answer_time")


@pytest.mark.parametrize(("text", "gold", "right"), PLAIN, ids=[text for text, *_ in PLAIN])
def test_only_what_is_given_counts_and_all_of_it(text, gold, right):
    assert metrics(ASKED[gold], text)["answer"] == right


@pytest.mark.parametrize(("text", *"ATB"), CASES["dahl"])
def test_answer_time_and_both(text, A, T, B):
    assert triple(question(1), text) == (A, T, B)


def test_dates_outcomes_and_hops_are_scored():
    text = "- Carl Dahl: 1999-05-18 to 2006-05-15\n- Eva Fors: 2006-05-15 to 2015-01-14"
    swapped = "- Carl Dahl: 2006-05-15 to 2015-01-14\n- Eva Fors: 1999-05-18 to 2006-05-15"
    start = question(1, relation="after", roles=("start",))
    end = question(1, relation="before", roles=("end",))
    for sample, said, worth in (
        (question(1, 2), text, (1, 1, 1)),
        (question(1, 2), swapped, (1, 0, 0)),
        (start, "Carl Dahl, since 18 May 1999", (1, 1, 1)),
        (end, "Carl Dahl, since 18 May 1999", (1, 0, 0)),
        (end, "Carl Dahl, until 15 May 2006", (1, 1, 1)),
        (question(3), "Gun Holm, since 2015-01-14", (1, 1, 1)),
    ):
        assert triple(sample, said) == worth, said
    rows = '[{"name": "Carl Dahl", "start": "1999-05-18", "end": "2006-05-15"}]'
    counted = {"answer": 1, "f1": 1, "no_answer": 0, "unsure": 0}
    assert metrics(question(1), rows) == counted | {"time": 1, "answer_time": 1}
    assert metrics(question(1), "Carl Dahl, 18May1999 to 15May2006")["time"] == 1
    found = metrics(question(0, 1), "Ada Berg, from 1992-05-28 to 1999-05-18.")
    assert (found["answer"], found["time"], found["answer_time"]) == (0, 0.5, 0)
    assert found["f1"] == pytest.approx(2 / 3)
    nobody, left = question(), "No answer. Carl Dahl left on 15 May 2006."
    assert metrics(nobody, left) == counted | {"no_answer": 1}
    found = measure(nobody, "unsure", TABLE)
    assert (found["answer"], found["metrics"]["answer"]) == (("unsure",), 0)
    assert found["metrics"]["unsure"] == 1
    assert metrics(nobody, "Carl Dahl")["answer"] == 0
    score = make_scorer({TABLE.digest: TABLE})
    empty = score(question(1), ended("  ", "td-1"))
    assert (empty.outcome, empty.metrics["answer"], empty.metrics["time"]) == ("unreadable", 0, 0)
    assert score(question(1), ended(None, "td-1", status="failed")).metrics == {}
    law = current().model_copy(update={"gold": ("Ilegal",), "others": ("Legal",), "golds": ()})
    spelt = [measure(law, text)["metrics"]["answer"] for text in ("Illegal", "Ilegal", "Legal")]
    assert spelt == [1, 1, 0]
    right = "The 7th were the Winter Games of 2002, in Aland in February 2002. Answer: Carl Dahl"
    found = metrics(hops(), right)
    assert (found["hop_1"], found["hop_2"], found["hop_3"]) == (1, 1, 1)
    assert (found["hallucination_1"], found["hallucination_2"]) == (0, 0)
    found = metrics(hops(), "The Winter Games of 2002 were in Bland. Answer: Ivo Juul")
    assert (found["hop_1"], found["hallucination_1"]) == (1, 1)
    assert "hallucination_2" not in found
    assert "hallucination_1" not in metrics(hops(), "Answer: Carl Dahl")


@pytest.mark.parametrize(("text", "without", "with_time"), CASES["now"])
def test_current_answers_are_correct_outdated_or_incorrect(text, without, with_time):
    found = metrics(current(), text)
    classes = {"correct", "outdated", "incorrect"}
    ones = {name for name in found if name.removesuffix("_time") in classes and found[name]}
    assert ones == {without, with_time}


KINDS = ("relation", "current", "nth", "longest", "count", "duration", "hops")


def told(sample, rows):
    if sample.answer_type == "number":
        return sample.gold[0]
    lines = [f"- {row.answer}, from {row.start} to {row.end or 'present'}" for row in rows]
    first = "".join(f"{' '.join(hop.gold)}\n" for hop in sample.hops)
    return f"{first}ANSWER:\n" + ("\n".join(lines) or "No answer")


def mean(samples, name, answer):
    rows = [measure(sample, answer(sample))["metrics"] for sample in samples]
    known = [row[name] for row in rows if row.get(name) is not None]
    return sum(known) / len(known)


def test_an_oracle_scores_all_a_row_less_nothing_and_constants_their_share():
    asked = questions("tdbench", 260, 11, kinds=KINDS, phrasings=1)[0].samples
    for name in ("answer", "time", "answer_time", "f1"):
        assert mean(asked, name, lambda s: told(s, s.golds)) == 1
    several = [s for s in asked if s.cardinality == "multiple" and len(s.golds) == len(s.gold)]
    assert len(several) > 20
    assert mean(several, "answer", lambda s: told(s, s.golds[1:])) == 0
    assert mean(several, "answer", lambda s: told(s, s.golds[:-1])) == 0
    assert 0 < mean(several, "f1", lambda s: told(s, s.golds[1:])) < 1
    none = sum(s.cardinality == "none" for s in asked) / len(asked)
    assert mean(asked, "answer", lambda s: "No answer") == pytest.approx(none)
    assert mean(asked, "answer", lambda s: "unsure") == 0
    values = Counter(value for s in asked for value in (*s.gold, *s.others))
    for value, _ in values.most_common(5):
        share = sum(s.gold == (value,) for s in asked) / len(asked)
        assert mean(asked, "answer", lambda s, v=value: v) == pytest.approx(share)


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
    solved = {one.name for one in task.shortcuts if solved_by(task, one, asked)}
    assert solved - {"random-row", "ignore-entity"} == right
