"""The paper's tables over a few answers whose figures are worked out by hand."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.layouts import LAYOUTS, ScoredAnswer, make_layout
from agent_env.families.tdbench.score import measure
from agent_env.records.schema import Score
from tests.families.tdbench.leaders import TABLE, current, hops, question


def answered(sample, text, model="m", prompt="default", condition="base"):
    found = measure(sample, text, TABLE)
    score = Score.model_validate(
        {"sample": sample.id, "condition": condition, "repeat": 1, **found}
    )
    return ScoredAnswer(sample, score, model, prompt, condition)


RIGHT = "Carl Dahl, from 1999-05-18 to 2006-05-15"
NOW = "Gun Holm, since January 2015"


def figures(name, answers, row=0):
    layout = make_layout(name, answers)
    return dict(zip(layout.columns, layout.rows[row][1], strict=True))


def test_table_4_has_a_at_and_their_difference_by_domain():
    found = figures("4", [answered(current(), NOW), answered(current(), "Gun Holm, since 2015")])
    assert found == {"offices A": 100, "offices AT": 50, "offices Δ": 50}


def test_table_5_has_only_a_where_there_is_no_answer():
    found = figures("5", [answered(question(1), "Carl Dahl"), answered(question(), "No answer")])
    assert (found["unique A"], found["unique T"], found["unique AT"]) == (100, 0, 0)
    assert (found["none A"], found["multiple A"]) == (100, None)


def test_table_6_takes_the_rate_over_right_hops_only():
    texts = (
        f"The Winter Games of 2002 were in Aland in February 2002. ANSWER: {RIGHT}",
        "The Winter Games of 2002 were in Bland. ANSWER: Ivo Juul",
        "ANSWER: Ivo Juul",
    )
    found = figures("6", [answered(hops(), text) for text in texts])
    assert found["3-hop A"] == pytest.approx(100 / 3)
    assert (found["3-hop H1"], found["3-hop H2"]) == (50, 0)


def test_tables_7_and_22_have_prompts_as_columns():
    both = [answered(question(1), RIGHT), answered(question(1), "Carl Dahl", prompt="time-cot")]
    found = figures("22", both)
    assert (found["unique original"], found["unique Time-CoT"]) == (100, 0)
    assert len(make_layout("22", both).rows) == 1


def test_table_19_has_each_class_with_and_without_time():
    found = figures("19", [answered(current(), "Eva Fors, since May 2007")])
    assert found["outdated"] == found["incorrect +T"] == 100
    assert found["outdated +T"] == found["incorrect"] == 0


def test_figure_2_shows_half_relations_apart():
    half = question(1, relation="started-by", roles=("start",))
    full = question(1, relation="started-by", roles=("start", "end"))
    found = figures("fig2", [answered(half, RIGHT), answered(full, "Ada Berg")])
    assert found == {"started-by": 50, "started-by (start)": 100, "started-by (start+end)": 0}


def test_figure_3_goes_by_five_years_of_the_closed_book():
    answers = [answered(question(n), RIGHT, condition="base closed") for n in (0, 1)]
    assert figures("fig3", answers) == {"1990-1994": 0, "1995-1999": 100}
    with pytest.raises(ConfigError, match="no answers that it shows"):
        make_layout("fig3", [answered(question(1), RIGHT)])


def test_models_and_conditions_are_rows():
    two = [answered(question(1), RIGHT), answered(question(1), RIGHT, model="n", condition="sql")]
    assert [name for name, _, _ in make_layout("5", two).rows] == ["m base", "n sql"]


def test_an_unknown_layout_is_named():
    with pytest.raises(ConfigError, match=f"known: {', '.join(LAYOUTS)}"):
        make_layout("8", [])
