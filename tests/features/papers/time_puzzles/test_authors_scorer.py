"""The authors' rules, answer by answer, beside ours."""

import pytest

from agent_env.features.papers.time_puzzles.authors_scorer import measure
from tests.tables import each

DAY = frozenset({"2001-02-03"})
TEXTS = {
    1: [
        "MY ANSWER: 2001-02-03", "My answer is 2001-02-03.", "MY ANSWER: 2001\u201102\u201103",
        "my answer: None\nMY ANSWER: 2001-02-03", "MY ANSWER: surely 2001-02-03, or so",
    ],
    0: [
        "MY ANSWER: 2001-02-03, None", "MY ANSWER: 3 February 2001", "MY ANSWER:\n2001-02-03",
        "2001-02-03", "MY ANSWER: none", "",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("text", "exact"), each(TEXTS))
def test_only_dates_behind_the_last_answer_mark_are_read(text, exact):
    assert measure(DAY, text)["metrics"]["exact_match"] == exact


def test_none_is_the_empty_set_and_an_unparsable_answer_is_not():
    names = ("exact_match", "f1", "jaccard")
    assert measure(frozenset(), "MY ANSWER: None")["metrics"] == dict.fromkeys(names, 1.0)
    unreadable = {"outcome": "unreadable", "metrics": dict.fromkeys(names, 0.0)}
    assert measure(frozenset(), "There is none.") == unreadable
    partly = measure(DAY | {"2001-02-04"}, "MY ANSWER: 2001-02-03")
    assert partly["metrics"] == {"exact_match": 0.0, "f1": 2 / 3, "jaccard": 0.5}
