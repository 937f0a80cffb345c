"""Names as answers: what is one name, how lists are split, and what each metric measures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env.features.answers.names import (
    normalise,
    parse_name_list,
    split_names,
    squad_match,
    token_f1,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A.J. Auxerre", "AJ Auxerre"),
        ("The Hague", "hague"),
        ("Bayern München", "bayern munchen"),
        ("Thale & Sons", "Thale and Sons"),
        ("People’s Party", "Peoples Party"),
        ("Paris Saint-Germain", "paris saint germain"),
    ],
)
def test_these_are_one_name(one, other):
    assert normalise(one) == normalise(other)


KNOWN = ("Mill, Thale & Sons", "Roads and Canals", "A.J. Auxerre")


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("Mill, Thale & Sons", ["Mill, Thale & Sons"]),
        ("A.J. Auxerre, Mill, Thale and Sons", ["A.J. Auxerre", "Mill, Thale and Sons"]),
        ("AJ Auxerre; Roads and Canals", ["AJ Auxerre", "Roads and Canals"]),
        ("AJ Auxerre and Roads and Canals", ["AJ Auxerre", "Roads and Canals"]),
        ("X, Y, and A.J. Auxerre", ["X", "Y", "A.J. Auxerre"]),
        ("- X\n- Y", ["X", "Y"]),
        ("Bread and Butter", ["Bread and Butter"]),
    ],
)
def test_a_list_is_split_but_known_names_stay_whole(said, names):
    assert list(split_names(said, KNOWN)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Reasoning: long\nAnswer: X", ("X",)),
        ("Answer: X\nReasoning: Y was later.", ("X",)),
        ("Answer: X. Reasoning: Y was later.", ("X.",)),
        ('**Answer:** ["X, Y", "Z"]', ("X, Y", "Z")),
        ("Answer: []", ()),
        ("Answer: none", ()),
        ("X", ("X",)),
        ("Answer: X\n\nI hope that helps.", ("X",)),
        ('Answer: ["X"', None),
        ("A long story. " * 40, None),
        ("", None),
        (None, None),
    ],
)
def test_the_answer_is_read_where_it_stands(text, names):
    assert parse_name_list(text).names == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("- A\n- B\n- C\n- D", ("A", "B", "C", "D")),
        ("1. A\n2. B\n3. C\n4. D\n5. E", ("A", "B", "C", "D", "E")),
        ("Teams:\n\n* **A, Inc.**\n* B\n* C\n* D", ("A, Inc.", "B", "C", "D")),
        ("P\nQ\nP, Q\nP", ("P", "Q", "P, Q")),
        ("1. First I look at the dates.\n2. Then\nI compare them.\n3. P fits.", None),
        (f"- {'so it lasted ' * 20}\n- B\n- C\n- D", None),
    ],
)
def test_a_text_that_is_a_list_of_lines_is_read(text, names):
    assert parse_name_list(text, ("P", "Q", "P, Q")).names == names


def test_squad_takes_the_best_and_articles_stay():
    gold = ["canvey island fc", "chesham united fc"]
    assert squad_match(gold, "chesham united fc") == 1.0
    assert squad_match([], "") == 1.0
    assert token_f1(gold, "chesham fc") == pytest.approx(0.8)
    assert token_f1([], "x") == 0.0
    assert normalise("A") == "a"


@given(st.lists(st.sampled_from(["p", "q", "r", "s, t"]), unique=True, min_size=1))
def test_joined_names_are_split_into_themselves(names):
    assert sorted(split_names("; ".join(names), names)) == sorted(names)
