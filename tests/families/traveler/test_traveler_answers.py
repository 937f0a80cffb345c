"""How answers are read: what they say, and when that cannot be told."""

import pytest

from agent_env.families.traveler.answers import read_answer
from agent_env.families.traveler.family import score
from tests.families.traveler.sets import episode, small, vague
from tests.tables import each, tables

WHO = ("Mary", "Tom", "Robot")


CASES = [
    (template, line, {"nothing": (), "?": None}.get(answer, tuple(answer.split(", "))))
    for template, lines in tables(__file__).items()
    for line, answer in each(lines)
]


@pytest.mark.parametrize(("template", "line", "answer"), CASES)
def test_a_line_is_read_by_what_was_asked(template, line, answer):
    text = f"I looked at all of them.\nMY ANSWER: {line}"
    assert read_answer(template, text, WHO).answer == answer


def test_marks_outcomes_and_right_answers():
    text = "MY ANSWER: no\nWait.\n\n**My answer:**\n\nyes"
    assert read_answer("did", text, WHO).answer == ("yes",)
    assert read_answer("who", "Tom", WHO).answer == ("Tom",)
    assert read_answer("who", "Tom\nMary\nhm", WHO).answer is None
    long = read_answer("who", "Tom " + "and so on " * 20, WHO)
    assert long.rule == "no line that begins with MY ANSWER:"
    wrong = score(vague(), episode("MY ANSWER: no"))
    unreadable = score(vague(), episode("MY ANSWER: who knows"))
    assert (wrong.outcome, unreadable.outcome) == ("read", "unreadable")
    worth = unreadable.metrics
    assert (unreadable.answer, worth["accuracy"], worth["ceiling"]) == (None, 0.0, 0.75)
    assert score(vague(), episode(None, "failed")).metrics == {}
    words = {"who": "nobody", "when": "never"}
    others = {"who": "Peter", "did": "", "how-often": "77", "when": "1999-01-01"}
    for sample in small(330, seed=4):
        gold = ", ".join(sample.gold) or words[sample.template]
        right = score(sample, episode(f"MY ANSWER: {gold}")).metrics
        assert right["of_ceiling"] == 1.0
        other = others[sample.template] or ("no" if sample.gold == ("yes",) else "yes")
        assert score(sample, episode(f"MY ANSWER: {other}")).metrics["accuracy"] < right["accuracy"]
