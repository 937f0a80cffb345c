"""What a model is asked, and what it is never told."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.prompts import (
    EXAMPLES,
    make_fields,
    prompt_text,
)
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.families.tdbench.score import measure
from agent_env.records.schema import Condition
from tests.families.tdbench.leaders import NAMES, TABLE, current, hops, question

BASE = Condition(name="base")
TABLES = {TABLE.digest: TABLE}


def text(name, sample, open_book=False):
    return prompt_text(make_fields(name, lambda own: open_book, TABLES)(sample, BASE))


@pytest.mark.parametrize("name", ["default", "cot", "time-cot"])
def test_a_closed_book_holds_no_name_of_the_table(name):
    for sample in (question(1), question(), current(), hops()):
        assert not any(each in text(name, sample) for each in NAMES)


def test_an_open_book_shows_the_samples_rows_and_no_others():
    shown = text("default", question(1, context=((1, 4),)), open_book=True)
    assert "| Aland | president | Carl Dahl | 1999-05-18 | 2006-05-15 |" in shown
    assert "| Bland | president | Ivo Juul | 1990-01-01 |  |" in shown
    assert "Ada Berg" not in shown


def test_retrieval_finds_rows_by_words_and_not_by_time():
    shown = text("retrieval", question(1))
    assert shown.startswith("Rows that a search found:\n- country: Aland; role: president")
    assert all(name in shown for name in NAMES)
    assert text("retrieval", question(1), open_book=True) == shown


def test_retrieval_without_a_table_is_refused():
    with pytest.raises(ConfigError, match="retrieval: sample 'td-1' names no table"):
        text("retrieval", question(1, materials=(), context=()))


def test_a_question_made_for_the_closed_book_shows_no_rows_unless_told():
    closed = question(1, book="closed")
    for book, shown in ((None, False), ("open", True), ("closed", False)):
        task = make_task("default", TdbenchOptions(book=book), TABLES)
        assert ("Ada Berg" in task.prompt(closed, BASE)[0].content) == shown


def test_a_question_looks_the_same_whether_it_has_an_answer_or_not():
    assert text("default", question(1)) == text("default", question())


def test_the_worked_answers_read_as_they_should():
    keeper = question(1, gold=("Lene Varga",), others=("Osk Tamm", "Piet Orrin"), roles=())
    assert measure(keeper, EXAMPLES["cot"][0][1])["metrics"]["answer"] == 1
    nobody = question(others=("Osk Tamm", "Piet Orrin"))
    assert measure(nobody, EXAMPLES["cot"][1][1])["metrics"]["answer"] == 1
    now = question(3, gold=("Mara Quell",), others=(), roles=())
    assert measure(now, EXAMPLES["current"][0][1])["metrics"]["answer"] == 1


def test_an_unknown_prompt_is_named():
    with pytest.raises(ConfigError, match="unknown prompt 'nice'; known: default, cot, time-cot"):
        make_fields("nice", lambda own: False, {})
