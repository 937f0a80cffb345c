"""Names as answers: what is one name, how lists are split, and what each metric measures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers import names as reader
from agent_env.features.answers.names import normalise, parse_name_list
from tests import TESTS
from tests.tables import rows_of

ANSWERS = TESTS / "data/forms/answers.txt"
NONE = (
    "N/A|NA|null|nil|None.|no answer|no one|nobody|There is no answer.|[]|none of them|none found"
    "|No team.|[none]|nan|null, as nobody held it|not in any club|{'answer': None}"
)
NOT_TOLD = (
    "|-|unknown|I don't know|not known|cannot be determined|no data|TBD|unknown (not in the text)"
    '|information not available|The text does not say.|{"answer": "unknown"}'
)


@pytest.mark.parametrize(("one", "other"), rows_of(ANSWERS, "one name"))
def test_these_are_one_name(one, other):
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(("said", "names"), rows_of(ANSWERS, "lists"))
def test_a_list_is_split_but_known_names_stay_whole(said, names):
    known = ("Mill, Thale & Sons", "Roads and Canals", "A.J. Auxerre")
    assert list(reader.split_names(said, known)) == names.split(" | ")


def read(text, known=()):
    names = parse_name_list(text, known).names
    return "!" if names is None else " | ".join(names) or "no names"


@pytest.mark.parametrize(("text", "names"), rows_of(ANSWERS, "where it stands"))
def test_the_answer_is_read_where_it_stands(text, names):
    assert read(text) == names


@pytest.mark.parametrize("text", [None, "A long story. " * 40])
def test_no_text_and_a_long_one_are_no_answer(text):
    assert read(text) == "!"


LONG = (f"- {'so it lasted ' * 20}\n- B\n- C\n- D", "!")


@pytest.mark.parametrize(("text", "names"), [*rows_of(ANSWERS, "lists of lines"), LONG])
def test_a_text_that_is_a_list_of_lines_is_read(text, names):
    assert read(text, ("P", "Q", "P, Q")) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        *[(f"Answer: {text}", "no names") for text in NONE.split("|")],
        *[(f"Answer: {text}", "!") for text in NOT_TOLD.split("|")],
        *rows_of(ANSWERS, "of AC Milan"),
        ("I looked. " * 60 + "\nThe answer is AC Milan.", "AC Milan"),
    ],
)
def test_names_are_read_or_none_or_not_known(text, names):
    found = read(text, ("AC Milan", "Smith, John", "Ann Lee", "Washington, D.C."))
    assert (normal(found), found == "!") == (normal(names), names == "!")


def normal(names):
    return [normalise(name) for name in names.split(" | ")]


def test_squad_takes_the_best_and_articles_stay():
    gold = ["canvey island fc", "chesham united fc"]
    assert reader.squad_match(gold, "chesham united fc") == reader.squad_match([], "") == 1.0
    assert reader.token_f1(gold, "chesham fc") == pytest.approx(0.8)
    assert reader.token_f1([], "x") == 0.0
    assert normalise("A") == "a"


@given(st.lists(st.sampled_from(["p", "q", "r", "s, t"]), unique=True, min_size=1))
def test_joined_names_are_split_into_themselves(names):
    assert sorted(reader.split_names("; ".join(names), names)) == sorted(names)
