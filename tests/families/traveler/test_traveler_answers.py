"""How answers are read: what they say, and when that cannot be told."""

import pytest

from agent_env.families.traveler.answers import read_answer
from agent_env.families.traveler.family import score
from tests.families.traveler.sets import episode, small, vague
from tests.tables import each

WHO = ("Mary", "Tom", "Robot")


def said(template, line):
    return read_answer(template, f"I looked at all of them.\nMY ANSWER: {line}", WHO).answer


LINES = {
    ("who", ("Tom",)): ["Tom", "Tom ate risotto in the kitchen"],
    ("who", ("Mary", "Tom")): ["**Tom, Mary**"],
    ("who", ("Robot", "Tom")): ["tom and the robot."],
    ("who", ("Mary", "Robot", "Tom")): ["Mary, Tom, and Robot"],
    ("who", ()): ["nobody", "No one did."],
    ("who", ("Peter",)): ["Peter"],
    ("who", ("Peter", "Tom")): ["Tom, Peter"],
    ("who", None): ["[]", "Tom or Mary", "nobody but Tom", "Tom did not", "",
                    "the man in the kitchen"],
    ("did", ("yes",)): ["yes", "TRUE"],
    ("did", ("no",)): ["No, Tom did not.", "false"],
    ("did", None): ["yes and no", "maybe yes", "he did"],
    ("how-often", ("3",)): ["3", "3 times", "three times"],
    ("how-often", ("2",)): ["Twice."],
    ("how-often", ("1",)): ["once"],
    ("how-often", ("0",)): ["never", "not at all"],
    ("how-often", ("21",)): ["twenty-one"],
    ("how-often", ("1204",)): ["1,204"],
    ("how-often", ("7",)): ["007"],
    ("how-often", ("-1",)): ["-1"],
    ("how-often", ("1.5",)): ["1.5"],
    ("how-often", None): ["2 or 3", "2, perhaps", "between 2 and 3", "several"],
    ("when", ()): ["never"],
    ("when", ("2023-09-09",)): ["09/09/2023"],
    ("when", ("2023-09-13",)): [
        "2023-09-13", "2023/09/13", "September 13, 2023", "13 September 2023", "13.09.2023",
        "09/13/2023", "Wednesday, 13 Sept 2023", "2023-09-13 14:27", "2023-09-13T14:27",
        "September 13, 2023 at 2:27 pm", "2023-09-13T14:27:00+00:00",
    ],
    ("when", None): ["08/09/2023", "2023-02-30", "2023-09", "2023-09-13 or 2023-09-14",
                     "2023-09-13, 2023-09-14"],
}  # fmt: skip


@pytest.mark.parametrize(("line", "read"), each(LINES))
def test_a_line_is_read_by_what_was_asked(line, read):
    template, answer = read
    assert said(template, line) == answer


def test_marks_outcomes_and_right_answers():
    text = "MY ANSWER: no\nWait.\n\n**My answer:**\n\nyes"
    assert read_answer("did", text, WHO).answer == ("yes",)
    assert read_answer("who", "Tom", WHO).answer == ("Tom",)
    assert read_answer("who", "Tom\nMary\nhm", WHO).answer is None
    assert read_answer("who", "Tom " + "and so on " * 20, WHO).rule == (
        "no line that begins with MY ANSWER:"
    )
    wrong = score(vague(), episode("MY ANSWER: no"))
    unreadable = score(vague(), episode("MY ANSWER: who knows"))
    assert (wrong.outcome, unreadable.outcome) == ("read", "unreadable")
    assert unreadable.answer is None
    assert unreadable.metrics["accuracy"] == 0.0
    assert unreadable.metrics["ceiling"] == 0.75
    assert score(vague(), episode(None, "failed")).metrics == {}
    words = {"who": "nobody", "when": "never"}
    others = {"who": "Peter", "did": "", "how-often": "77", "when": "1999-01-01"}
    for sample in small(330, seed=4):
        gold = ", ".join(sample.gold) or words[sample.template]
        right = score(sample, episode(f"MY ANSWER: {gold}")).metrics
        assert right["of_ceiling"] == 1.0
        other = others[sample.template] or ("no" if sample.gold == ("yes",) else "yes")
        assert score(sample, episode(f"MY ANSWER: {other}")).metrics["accuracy"] < right["accuracy"]
