"""What a plain reader takes from names and counts, whichever family asks."""

import pytest

from agent_env.families.traveler.answers import read_answer
from agent_env.features.answers.names import normalise, parse_name_list

KNOWN = ("AC Milan", "Smith, John", "Ann Lee", "Washington, D.C.")
NONE = (
    "N/A|NA|null|nil|None.|no answer|no one|nobody|There is no answer.|[]|none of them|none found"
    "|No team.|[none]|nan|null, as nobody held it|not in any club|{'answer': None}"
)
NOT_TOLD = (
    "|-|unknown|I don't know|not known|cannot be determined|no data|TBD|unknown (not in the text)"
    '|information not available|The text does not say.|{"answer": "unknown"}'
)


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        ((), [*(f"Answer: {text}" for text in NONE.split("|")), '{"answer": null}']),
        (None, [*(f"Answer: {text}" for text in NOT_TOLD.split("|")), "unknown"]),
        (
            ("AC Milan",),
            [
                "The answer is AC Milan.",
                "Answer: The answer is AC Milan.",
                "So the final answer is AC Milan.",
                '{"answer": "AC Milan"}',
                'Answer: {"final_answer": ["AC Milan"]}',
                'I looked. {"note": "x", "answer": "AC Milan"}',
                "Answer: AC Milan (1999-2003)",
                "Answer: AC Milan - he joined in 1999",
                "Answer: AC Milan\nSource: page 3",
                "## Answer\nAC Milan",
                "Answer = AC Milan",
                "<answer>AC Milan</answer>",
                "{'Answer': 'AC Milan'}",
                '{"team": "AC Milan"}',
                '[{"name": "AC Milan"}]',
                "I looked. " * 60 + "\nThe answer is AC Milan.",
            ],
        ),
        (
            ("AC Milan", "Ann Lee"),
            [
                '```json\n{"answer": ["AC Milan", "Ann Lee"]}\n```',
                "Answer:\n1. AC Milan\n2. Ann Lee",
                "Answer:\n- AC Milan, Ann Lee",
                "Answer: both AC Milan and Ann Lee",
                "Answer: AC Milan & Ann Lee",
                "Answer: AC Milan / Ann Lee",
                "Answer:\na) AC Milan\n(b) Ann Lee",
            ],
        ),
        (("Smith, John", "Ann Lee"), ["Answer:\n1. Smith, John\n2. Ann Lee"]),
        (("Jones, Bob", "Ann Lee"), ["Answer:\n1. Jones, Bob\n2. Ann Lee"]),
    ],
)
def test_names_are_read_or_none_or_not_known(names, texts):
    for text in texts:
        read = parse_name_list(text, KNOWN).names
        assert (read and [normalise(name) for name in read]) == (
            names and [normalise(name) for name in names]
        ), text


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
