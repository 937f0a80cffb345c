"""What a plain reader takes from answers about events, in one word or in many."""

import pytest

from agent_env.families.traveler.answers import read_answer

ONE = "3|3.|exactly 3|three times|It happened 3 times.|3 (three)"
BOUNDS = (
    "more than 2|fewer than 3|less than 3|about 3|up to 3|<3|> 3|~3|at least 3|at most 3|3 or more"
    "|3+|around three|over 3|under 3|ca. 3|no more than 3|a maximum of 3|min. 3|max 3|3 at most"
    "|>=3|as many as 3|some 3|almost 3|3 or so|- 3\n- 0"
    "|3-4"
)
BOTH = (
    "\n- Tom\n- Mary|\nTom\nMary|Tom,\nMary|\n* Tom\n\n* Mary|TOM AND MARY|Both Tom and Mary"
    "|both Mary and Tom did|tom, mary|Tom + Mary|Tom (on Monday), Mary"
)


@pytest.mark.parametrize(
    ("template", "answer", "texts"),
    [
        ("who", ("Mary", "Tom"), BOTH),
        ("who", ("Ann", "Mary", "Tom"), "\n1. Tom\n2. Mary\n3. Ann|All three: Tom, Mary and Ann"),
        ("who", ("Tom",), "Tom did.|It was Tom.|Only Tom|Tom\n\nI looked at Mary, too."),
        ("who", (), "nobody did|Nobody."),
        ("who", None, "Neither Tom nor Mary"),
        ("how-often", ("3",), ONE),
        ("how-often", ("0",), "never|It never happened.|It did not happen.|zero"),
        ("how-often", None, BOUNDS),
        ("when", (), "It never happened|It never happened.|never|It did not happen"),
        ("when", None, "before 2019-05-17"),
        ("did", None, "Yes.\nNo."),
    ],
)
def test_answers_about_events_are_read_as_a_plain_reader_does(template, answer, texts):
    for text in texts.split("|"):
        read = read_answer(template, f"MY ANSWER: {text}", ("Tom", "Mary", "Ann"))
        assert read.answer == answer, text
