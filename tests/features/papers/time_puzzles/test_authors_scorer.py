"""The authors' rules, answer by answer, beside ours."""

import pytest

from agent_env.features.papers.time_puzzles.authors_scorer import measure


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("MY ANSWER: 2001-02-03", 1),
        ("My answer is 2001-02-03.", 1),
        ("my answer: None\nMY ANSWER: 2001-02-03", 1),
        ("MY ANSWER: 2001\u201102\u201103", 1),
        ("MY ANSWER: surely 2001-02-03, or so", 1),
        ("MY ANSWER: 2001-02-03, None", 0),
        ("MY ANSWER: 3 February 2001", 0),
        ("MY ANSWER:\n2001-02-03", 0),
        ("2001-02-03", 0),
        ("MY ANSWER: none", 0),
        ("", 0),
    ],
)
def test_only_dates_behind_the_last_answer_mark_are_read(text, exact):
    assert measure(frozenset({"2001-02-03"}), text)["metrics"]["exact_match"] == exact


def test_none_is_the_empty_set_and_an_unparsable_answer_is_not():
    assert measure(frozenset(), "MY ANSWER: None")["metrics"] == {
        "exact_match": 1.0, "f1": 1.0, "jaccard": 1.0,
    }  # fmt: skip
    assert measure(frozenset(), "There is none.") == {
        "outcome": "unreadable", "metrics": {"exact_match": 0.0, "f1": 0.0, "jaccard": 0.0},
    }  # fmt: skip
    partly = measure(frozenset({"2001-02-03", "2001-02-04"}), "MY ANSWER: 2001-02-03")
    assert partly["metrics"] == {"exact_match": 0.0, "f1": 2 / 3, "jaccard": 0.5}
