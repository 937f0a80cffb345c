"""The paper's tables over a few answers whose figures are worked out by hand."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.layout_columns import ScoredAnswer
from agent_env.families.tdbench.layouts import LAYOUTS, make_layout
from agent_env.families.tdbench.sample import Certificate
from agent_env.families.tdbench.score import measure
from tests.families.tdbench.leaders import TABLE, current, hops, question


def answered(sample, text, model="m", prompt="default", condition="base", label=None):
    metrics = measure(sample, text, TABLE)["metrics"]
    return ScoredAnswer(sample, metrics, model, prompt, condition, label, TABLE)


RIGHT = "Carl Dahl, from 1999-05-18 to 2006-05-15"
NOW = "Gun Holm, since January 2015"


def figures(name, answers, row=0):
    layout = make_layout(name, answers)
    return {column: layout.cells[layout.rows[row], column].value for column in layout.columns}


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
    layout = make_layout("22", both)
    assert set(layout.rows) - set(layout.shortcuts) == {"m"}


def test_the_classes_of_table_19_have_shares_with_and_without_time():
    found = figures("classes", [answered(current(), "Eva Fors, since May 2007")])
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
    layout = make_layout("5", two)
    assert layout.rows[:2] == ("m base", "n sql")
    assert layout.rows[2:] == layout.shortcuts


def test_an_unknown_layout_is_named():
    with pytest.raises(ConfigError, match=f"known: {', '.join(LAYOUTS)}"):
        make_layout("9", [])


def test_each_figure_has_its_own_number_and_interval():
    answers = [answered(question(1, query=f"q-{n}"), RIGHT) for n in range(3)]
    answers += [answered(question(query=f"r-{n}"), "Ada Berg") for n in range(57)]
    layout = make_layout("5", answers)
    unique, none = layout.cells["m", "unique A"], layout.cells["m", "none A"]
    assert (unique.value, unique.samples, none.value, none.samples) == (100, 3, 0, 57)
    assert (unique.low, unique.high) == (pytest.approx(43.85, abs=0.01), 100)
    assert layout.table().texts()[0] == ["unique A", "m", "100.0 [43.9, 100.0]", "3", "3"]


def test_phrasings_of_a_query_narrow_no_interval():
    one = [answered(question(1, id=f"td-{n}", query="q-1"), RIGHT) for n in range(9)]
    assert make_layout("5", one).cells["m", "unique A"].clusters == 1


def test_shortcuts_stand_below_the_models():
    group = {"relevant": ((0, 1, 2, 3),), "relation": "before", "b_start": "2007-01-01"}
    group |= {"b_end": "2008-01-01"}
    answers = [answered(question(0, 1, id="td-1", **group), RIGHT)]
    answers += [answered(question(id="td-2", query="q-2", **group), RIGHT)]
    layout = make_layout("5", answers)
    assert layout.shortcuts == (
        "constant", "latest-row", "ignore-time", "ignore-entity", "random-row", "oracle",
    )  # fmt: skip
    found = {name: layout.cells[name, "multiple A"].value for name in layout.shortcuts}
    assert found == {
        "constant": 0, "latest-row": 0, "ignore-time": 0, "ignore-entity": 100,
        "random-row": 0, "oracle": 100,
    }  # fmt: skip
    assert layout.cells["oracle", "multiple AT"].value == 100
    assert [layout.cells[n, "none A"].value for n in ("constant", "latest-row")] == [100, 0]


LABELLED = (
    ("Gun Holm, since January 2015", "correct"), ("Gun Holm, since 1999", "incorrect"),
    ("Eva Fors, since May 2006", "outdated"), ("Eva Fors, since May 2007", "incorrect"),
    ("Ada Berg", "unsure"),
)  # fmt: skip


def test_table_19_sets_the_classes_against_people():
    answers = [answered(current(), text, label=label) for text, label in LABELLED]
    found = figures("19", answers)
    assert (found["correct P"], found["correct R"], found["correct F1"]) == (
        50, 100, pytest.approx(66.67, abs=0.01),
    )  # fmt: skip
    assert (found["correct +T P"], found["correct +T R"], found["outdated +T P"]) == (100, 100, 100)


def test_tables_8_and_23_are_by_task_and_need_labels():
    answers = [
        answered(question(1), RIGHT, label="correct"),
        answered(question(), "No answer", label="correct"),
        answered(question(1), "Carl Dahl", label="correct"),
    ]  # fmt: skip
    found = figures("23", answers)
    assert (found["reasoning P"], found["reasoning R"]) == (100, pytest.approx(66.67, abs=0.01))
    assert (found["reasoning none R"], found["reasoning unique R"]) == (100, 50)
    assert found["alignment P"] is None
    with pytest.raises(ConfigError, match="--labels"):
        make_layout("8", [answered(question(1), RIGHT)])


def test_table_26_counts_the_tokens_of_both_ways():
    sample = question(1, relevant=((0, 1, 2, 3),), sql={"sqlite": "SELECT 1"})
    layout = make_layout("26", [answered(sample, RIGHT)])
    assert layout.unit == "tokens"
    assert figures("26", [answered(sample, RIGHT)]) == {
        "offices from SQL": pytest.approx(56),
        "offices LLM only": pytest.approx(104),
    }


def test_figures_are_drawn_with_every_model(tmp_path):
    pytest.importorskip("matplotlib")
    from agent_env.families.tdbench.commands import draw

    answers = [answered(question(1), RIGHT), answered(question(1), "Ada Berg", model="n")]
    files = draw(make_layout("fig2", answers), tmp_path)
    assert [file.name for file in files] == ["fig2.svg", "fig2.png", "fig2.pdf"]
    with pytest.raises(ConfigError, match="layout 5 is no figure"):
        draw(make_layout("5", answers), tmp_path)


def test_a_layout_of_imported_questions_bears_their_certificate():
    certificate = Certificate(file="a.json", reading="days", stored=4, reproduced=3, agrees=True)
    layout = make_layout("5", [answered(question(1, certificate=certificate), RIGHT)])
    assert layout.notes[-1] == (
        "imported: 3 of 4 stored results come out; 0 of 1 answers are to questions that differ"
    )
