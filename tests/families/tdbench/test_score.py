"""Answers to questions from a temporal table, each with the metrics that it must get."""

import pytest

from agent_env.families.tdbench.score import make_scorer, measure
from agent_env.records.schema import Episode
from tests.families.tdbench.leaders import TABLE, current, episode, hops, question


def metrics(sample, text):
    return measure(sample, text, TABLE)["metrics"]


def triple(sample, text):
    """A, T and AT."""
    found = metrics(sample, text)
    return found["answer"], found.get("time"), found.get("answer_time")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Carl Dahl, from 1999-05-18 to 2006-05-15.", (1, 1, 1)),
        ("Carl Dahl. He began on May 18, 1999 and left on the 15th of May 2006.", (1, 1, 1)),
        ("**Carl Dahl** (18 May 1999 – 15 May 2006)", (1, 1, 1)),
        ("| Carl Dahl | 1999-05-18 | 2006-05-15 |", (1, 1, 1)),
        ("Carl Dahl succeeded Ada Berg on 18 May 1999 and served until 15 May 2006.", (1, 1, 1)),
        ("Carl Dahl, from 1999-05-18 to 2006-05-16.", (1, 0.5, 0)),
        ("Carl Dahl, since 18 May 1999.", (1, 0.5, 0)),
        ("Carl Dahl, from May 1999 to May 2006.", (1, 0, 0)),
        ("Carl Dahl", (1, 0, 0)),
        ("Carl Dahl, from 2006-05-15 to 1999-05-18.", (1, 0, 0)),
        ("Ada Berg, from 1999-05-18 to 2006-05-15.", (0, 1, 0)),
        ("Ada Berg (1992-05-28 to 1999-05-18) or Carl Dahl (1999-05-18 to 2006-05-15)", (0, 1, 0)),
        ("No answer.", (0, 0, 0)),
    ],
)
def test_answer_time_and_both(text, wanted):
    assert triple(question(1), text) == wanted


def test_dates_outcomes_and_hops_are_scored():
    text = "- Carl Dahl: 1999-05-18 to 2006-05-15\n- Eva Fors: 2006-05-15 to 2015-01-14"
    swapped = "- Carl Dahl: 2006-05-15 to 2015-01-14\n- Eva Fors: 1999-05-18 to 2006-05-15"
    assert triple(question(1, 2), text) == (1, 1, 1)
    assert triple(question(1, 2), swapped) == (1, 0, 0)
    text = "Carl Dahl, since 1998-05-18, since 1999-05-18, until 2006-05-15."
    assert triple(question(1), text) == (1, 0.5, 0)
    text = "Carl Dahl served 1999-2006 (from 18 May 1999 to 15 May 2006)."
    assert triple(question(1), text) == (1, 1, 1)
    start = question(1, relation="after", roles=("start",))
    end = question(1, relation="before", roles=("end",))
    assert triple(start, "Carl Dahl, since 18 May 1999") == (1, 1, 1)
    assert triple(end, "Carl Dahl, since 18 May 1999") == (1, 0, 0)
    assert triple(end, "Carl Dahl, until 15 May 2006") == (1, 1, 1)
    assert triple(question(3), "Gun Holm, since 2015-01-14") == (1, 1, 1)
    found = metrics(question(0, 1), "Ada Berg, from 1992-05-28 to 1999-05-18.")
    assert (found["answer"], found["time"], found["answer_time"]) == (0, 0.5, 0)
    assert found["f1"] == pytest.approx(2 / 3)
    nobody = question()
    assert metrics(nobody, "No answer. Carl Dahl left on 15 May 2006.") == {
        "answer": 1,
        "f1": 1,
        "no_answer": 1,
        "unsure": 0,
    }
    found = measure(nobody, "unsure", TABLE)
    assert (found["answer"], found["metrics"]["answer"]) == (("unsure",), 0)
    assert found["metrics"]["unsure"] == 1
    assert metrics(nobody, "Carl Dahl")["answer"] == 0
    score = make_scorer({TABLE.digest: TABLE})
    empty = score(question(1), episode("  "))
    assert (empty.outcome, empty.metrics["answer"], empty.metrics["time"]) == ("unreadable", 0, 0)
    failed = Episode(sample="td-1", condition="base", repeat=1, model="m", status="failed")
    assert score(question(1), failed).metrics == {}
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


@pytest.mark.parametrize(
    ("text", "without", "with_time"),
    [
        ("Gun Holm, since January 2015", "correct", "correct_time"),
        ("Gun Holm, since January 2014", "correct", "incorrect_time"),
        ("Eva Fors, since May 2006", "outdated", "outdated_time"),
        ("Eva Fors, since May 2007", "outdated", "incorrect_time"),
        ("Ivo Juul, since January 1990", "incorrect", "incorrect_time"),
        ("Eva Fors and Gun Holm", "incorrect", "incorrect_time"),
    ],
)
def test_current_answers_are_correct_outdated_or_incorrect(text, without, with_time):
    found = metrics(current(), text)
    classes = {"correct", "outdated", "incorrect"}
    ones = {name for name in found if name.removesuffix("_time") in classes and found[name]}
    assert ones == {without, with_time}
