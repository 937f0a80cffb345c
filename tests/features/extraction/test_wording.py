"""Facts from text: every form there and back, and every defect named."""

from itertools import islice

import pytest

from agent_env.families.timed_facts.generating import story_of
from agent_env.features.extraction.wording import fact_line, make_fact, prose, read_fact, read_facts
from agent_env.features.facts.fiction.histories import make_histories
from tests.tables import tables

CASES = tables(__file__)
STORIES = [story_of(rows, frozenset({1})) for rows in islice(make_histories(5), 60)]
FACTS = [fact for story in STORIES for fact in story.facts]


def test_lines_and_running_texts_read_back_one_fact_each():
    assert [read_fact(fact_line(fact)) for fact in FACTS] == FACTS
    text = "A plays for B F.C. from Jan, 1990 to Jan, 1992. A plays for C from 1992 to 1998."
    assert [fact.value for fact in read_facts(text).facts] == ["B F.C.", "C"]
    read = read_facts("".join(f"A plays for {x} from Jan, 1990 to Jan, 1992.\n" for x in "BCB"))
    assert ([fact.value for fact in read.facts], read.repeated) == (["B", "C"], 1)
    text = "It rained.\nFrom May 1990 to 1992 A played for B.\nThe town was founded in 1200."
    read = read_facts(text, running=True)
    assert [(f.value, f.start, f.end) for f in read.facts] == [("B", "1990-05", "1992")]
    assert read.defects == ()


@pytest.mark.parametrize("form", [0, 1, 2])
def test_a_sentence_reads_back_as_the_fact_that_it_states(form):
    assert [read_fact(prose(fact, form)) for fact in FACTS] == FACTS


@pytest.mark.parametrize(("line", "dates"), CASES["years"])
def test_years_may_have_three_digits(line, dates):
    fact = read_fact(line)
    assert [fact.start, fact.end] == dates
    assert read_fact(fact_line(fact)) == read_fact(prose(fact, 0)) == fact


@pytest.mark.parametrize(("line", "reason"), CASES["no_fact"])
def test_a_line_that_is_no_fact_is_listed_with_its_reason(line, reason):
    read = read_facts(line)
    (defect,) = read.defects
    assert (read.facts, defect.line, defect.text) == ((), 1, line)
    assert defect.reason.startswith(reason)


@pytest.mark.parametrize(("value", "start", "end", "texts"), CASES["prose"])
def test_prose_has_one_full_stop_and_one_month_once_and_is_read_as_it_was_meant(
    value, start, end, texts
):
    fact = make_fact("Kiev Mill", "owner", value, start or None, end or None)
    forms = [prose(fact, form) for form in range(3)]
    expected = texts if len(texts) == 3 else texts * 3
    assert forms == [text.format(f"Kiev Mill belonged to {value}") for text in expected]
    assert [read_fact(line) for line in (*forms, fact_line(fact))] == [fact] * 4


def test_a_line_of_one_month_names_it_once():
    fact = make_fact("Kiev Mill", "owner", "Ford & Co.", "1940-02", "1940-02")
    assert fact_line(fact) == "Kiev Mill belonged to Ford & Co. in February 1940."
    always = make_fact("Kiev Mill", "owner", "Ford & Co.", None, None)
    assert prose(always, 0) == fact_line(always) == "All along Kiev Mill belonged to Ford & Co."
    lasting = make_fact("Ajax F.C.", "coach", "Ann Lee", "1924-06", None)
    assert fact_line(lasting) == "Ann Lee has been the head coach of Ajax F.C. since June 1924."
