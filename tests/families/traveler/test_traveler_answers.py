"""How answers are read: what they say, and when that cannot be told."""

import pytest

from agent_env.families.traveler.answers import read_answer
from agent_env.families.traveler.family import score
from tests.families.traveler.sets import episode, small, vague

WHO = ("Mary", "Tom", "Robot")


def said(template, line):
    return read_answer(template, f"I looked at all of them.\nMY ANSWER: {line}", WHO).answer


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Tom", ("Tom",)),
        ("**Tom, Mary**", ("Mary", "Tom")),
        ("tom and the robot.", ("Robot", "Tom")),
        ("Mary, Tom, and Robot", ("Mary", "Robot", "Tom")),
        ("nobody", ()),
        ("No one did.", ()),
        ("[]", None),
        ("Tom ate risotto in the kitchen", ("Tom",)),
        ("Peter", ("Peter",)),
        ("Tom, Peter", ("Peter", "Tom")),
        ("Tom or Mary", None),
        ("nobody but Tom", None),
        ("Tom did not", None),
        ("the man in the kitchen", None),
        ("", None),
    ],
)
def test_names(line, names):
    assert said("who", line) == names


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("yes", "yes"),
        ("No, Tom did not.", "no"),
        ("TRUE", "yes"),
        ("false", "no"),
        ("yes and no", None),
        ("maybe yes", None),
        ("he did", None),
    ],
)
def test_yes_or_no(line, word):
    assert said("did", line) == (None if word is None else (word,))


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("3", "3"),
        ("3 times", "3"),
        ("three times", "3"),
        ("Twice.", "2"),
        ("once", "1"),
        ("never", "0"),
        ("not at all", "0"),
        ("twenty-one", "21"),
        ("1,204", "1204"),
        ("007", "7"),
        ("-1", "-1"),
        ("1.5", "1.5"),
        ("2 or 3", None),
        ("2, perhaps", None),
        ("between 2 and 3", None),
        ("several", None),
    ],
)
def test_numbers(line, number):
    assert said("how-often", line) == (None if number is None else (number,))


@pytest.mark.parametrize(
    "line",
    [
        "2023-09-13", "2023/09/13", "September 13, 2023", "13 September 2023", "13.09.2023",
        "09/13/2023", "Wednesday, 13 Sept 2023", "2023-09-13 14:27", "2023-09-13T14:27",
        "September 13, 2023 at 2:27 pm", "2023-09-13T14:27:00+00:00",
    ],
)  # fmt: skip
def test_days_in_any_unambiguous_notation(line):
    assert said("when", line) == ("2023-09-13",)


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("never", ()),
        ("09/09/2023", ("2023-09-09",)),
        ("08/09/2023", None),
        ("2023-02-30", None),
        ("2023-09", None),
        ("2023-09-13 or 2023-09-14", None),
        ("2023-09-13, 2023-09-14", None),
    ],
)
def test_other_days(line, day):
    assert said("when", line) == day


def test_the_last_mark_counts_and_the_line_below_an_empty_one():
    text = "MY ANSWER: no\nWait.\n\n**My answer:**\n\nyes"
    assert read_answer("did", text, WHO).answer == ("yes",)


def test_a_short_reply_without_a_mark_is_taken_whole():
    assert read_answer("who", "Tom", WHO).answer == ("Tom",)
    assert read_answer("who", "Tom\nMary\nhm", WHO).answer is None
    assert read_answer("who", "Tom " + "and so on " * 20, WHO).rule == (
        "no line that begins with MY ANSWER:"
    )


def test_unreadable_is_told_apart_from_wrong():
    wrong = score(vague(), episode("MY ANSWER: no"))
    unreadable = score(vague(), episode("MY ANSWER: who knows"))
    assert (wrong.outcome, unreadable.outcome) == ("read", "unreadable")
    assert unreadable.answer is None
    assert unreadable.metrics["accuracy"] == 0.0
    assert unreadable.metrics["ceiling"] == 0.75


def test_a_failed_episode_is_not_scored():
    assert score(vague(), episode(None, "failed")).metrics == {}


def test_the_gold_answer_scores_1_of_the_ceiling_and_others_less():
    words = {"who": "nobody", "when": "never"}
    others = {"who": "Peter", "did": "", "how-often": "77", "when": "1999-01-01"}
    for sample in small(330, seed=4):
        gold = ", ".join(sample.gold) or words[sample.template]
        right = score(sample, episode(f"MY ANSWER: {gold}")).metrics
        assert right["of_ceiling"] == 1.0
        other = others[sample.template] or ("no" if sample.gold == ("yes",) else "yes")
        assert score(sample, episode(f"MY ANSWER: {other}")).metrics["accuracy"] < right["accuracy"]
