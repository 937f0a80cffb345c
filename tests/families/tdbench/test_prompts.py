"""What a model is asked, and what it is never told."""

import pytest

from agent_env.errors import ConfigError
from agent_env.families.tdbench.family import make_task
from agent_env.families.tdbench.prompts import EXAMPLES, make_fields, prompt_text
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


def test_books_rows_and_worked_answers():
    shown = text("default", question(1, context=((1, 4),)), open_book=True)
    assert "| Aland | president | Carl Dahl | 1999-05-18 | 2006-05-15 |" in shown
    assert "| Bland | president | Ivo Juul | 1990-01-01 |  |" in shown
    assert "Ada Berg" not in shown
    closed = question(1, book="closed")
    for book, shown in ((None, False), ("open", True), ("closed", False)):
        task = make_task("default", TdbenchOptions(book=book), TABLES)
        assert ("Ada Berg" in task.prompt(closed, BASE)[0].content) == shown
    assert text("default", question(1)) == text("default", question())
    shown = text("retrieval", question(1))
    assert shown.startswith("Rows that a search found:\n- country: Aland; role: president")
    assert all(name in shown for name in NAMES)
    assert text("retrieval", question(1), open_book=True) == shown
    with pytest.raises(ConfigError, match="retrieval: sample 'td-1' names no table"):
        text("retrieval", question(1, materials=(), context=()))
    others = ("Osk Tamm", "Piet Orrin")
    for sample, name, number in (
        (question(1, gold=("Lene Varga",), others=others, roles=()), "cot", 0),
        (question(others=others), "cot", 1),
        (question(3, gold=("Mara Quell",), others=(), roles=()), "current", 0),
    ):
        assert measure(sample, EXAMPLES[name][number][1])["metrics"]["answer"] == 1
    with pytest.raises(ConfigError, match="unknown prompt 'nice'; known: default, cot, time-cot"):
        make_fields("nice", lambda own: False, {})
