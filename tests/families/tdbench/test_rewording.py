"""Other words for a question are taken only where the question can be read back from them."""

from datetime import date

import pytest

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.reading import read_bounds
from agent_env.families.tdbench.rewording import (
    NO_LINE,
    NO_REPLY,
    TWICE,
    ColumnValues,
    Requirements,
    lines_of,
    read_reply,
    refusal,
    requirements,
)
from agent_env.families.tdbench.sample import TdbenchOptions, TdbenchSample
from agent_env.families.tdbench.wording import OFFICES, VERBS, condition, sentence
from agent_env.tasks.family import by_digest
from agent_env.temporal.allen import RELATIONS

WHO = r"who|whom|whose|anyone|person|name|holder|which ¤"
B = (date(1990, 5, 1), date(1993, 5, 3))


def president(relation="contains"):
    """Of the Presidents of France."""
    text = condition(relation, B, None, VERBS["office"], "day", 0)
    question = sentence(OFFICES.forms[0], {"country": "France", "role": "President"}, text, 0)
    return Requirements(
        kind="relation",
        template=question,
        values=("France", "President"),
        barred=("François Mitterrand", "Jacques Chirac", "Vice President"),
        cues=(WHO,),
        bounds=tuple((b.side, b.test, b.day) for b in read_bounds(question)),
    )


@pytest.mark.parametrize(
    "text",
    [
        "Which President of France assumed office prior to May 1, 1990 and stayed in office until "
        "after 3 May 1993?",
        "In France, who became President before 1990-05-01 and was still in office on 3 May 1993?",
        "Please name the person who was sworn in as President of France earlier than 1 May 1990 "
        "and served until after May 3, 1993.",
    ],
)
def test_a_sentence_that_says_the_same_is_taken(text):
    assert refusal(text, president()) is None


DATES = "its dates, or what is said of start and end, are not the question's"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Who, as President of France, took office after 1 May 1990 and stayed in office until "
         "after 3 May 1993?", DATES),
        ("Who, as President of France, left office before 1 May 1990 and stayed in office until "
         "after 3 May 1993?", DATES),
        ("Who, as President of France, took office before 1 May 1990?", DATES),
        ("Who, as President of France, took office before 1 June 1990 and stayed in office until "
         "after 3 May 1993?", DATES),
        ("Who, as President of France, took office before May 1990 and stayed in office until "
         "after 3 May 1993?", DATES),
        ("Who, as President of France, took office before 1 May 1990 and was still in office "
         "after 3 May 1993?", DATES),
        ("Who, as President of France, took office a week before 1 May 1990 and stayed in office "
         "until after 3 May 1993?", "it says more than the question: week"),
        ("Who, as President of France, took office on or before 1 May 1990 and stayed in office "
         "until after 3 May 1993?", "it says more than the question: or"),
        ("Who, as President of France, never took office before 1 May 1990 and stayed in office "
         "until after 3 May 1993?", "it says more than the question: never"),
        ("Who, as President of France, was the last to have took office before 1 May 1990 and "
         "stayed in office until after 3 May 1993?", "it says more than the question: last"),
        ("Who, as President of France in the 1980s, took office before 1 May 1990 and stayed in "
         "office until after 3 May 1993?", "it says more than the question: 1980"),
        ("Who, as French President, took office before 1 May 1990 and stayed in office until "
         "after 3 May 1993?", "a value is missing or spelt otherwise"),
        ("Who, as Vice President of France, took office before 1 May 1990 and stayed in office "
         "until after 3 May 1993?", "it names a value that the question does not"),
        ("Who but François Mitterrand took office as President of France before 1 May 1990 and "
         "stayed in office until after 3 May 1993?", "it names a value that the question does not"),
        ("Who, as President of France for the Gaullists, took office before 1 May 1990 and stayed "
         "in office until after 3 May 1993?", "it names something that the question does not"),
        ("Where had a President of France, who took office before 1 May 1990 and stayed in office "
         "until after 3 May 1993, been born in 1916?", "it says more than the question: 1916"),
        ("What did the President of France do that took office before 1 May 1990 and stayed in "
         "office until after 3 May 1993?", "what is asked for cannot be told from it"),
        ("", "no sentence of this length"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value),
)  # fmt: skip
def test_a_sentence_that_says_something_else_is_refused(text, why):
    assert refusal(text, president()) == why


@pytest.mark.parametrize("relation", RELATIONS)
def test_no_relation_passes_for_another_with_the_same_dates(relation):
    required = president(relation)
    same = [other for other in RELATIONS if refusal(president(other).template, required) is None]
    assert same == [relation]


@pytest.mark.parametrize("tables", ["fictional", "shipped"])
def test_every_sentence_of_the_templates_is_read_back(tables):
    kinds = ("relation", "current", "nth", "longest", "count", "duration", "hops")
    made = make(147, 5, TdbenchOptions.model_validate({"tables": tables, "kinds": kinds}))
    values = ColumnValues(by_digest(made.tables))
    samples = [sample for sample in made.samples if isinstance(sample, TdbenchSample)]
    required = [requirements(sample, values) for sample in samples]
    assert [refusal(one.template, one) for one in required] == [None] * len(samples)
    shifted = [*samples[3:], *samples[:3]]  # another query's
    assert all(
        refusal(other.question, one)
        for other, sample, one in zip(shifted, samples, required, strict=True)
        if (other.relation, other.asked, other.gold) != (sample.relation, sample.asked, sample.gold)
    )


def test_values_that_could_change_places_keep_the_template():
    required = president().model_copy(update={"ambiguous": True})
    assert refusal(required.template, required) == "its values could be taken for each other"


def test_of_a_reply_each_line_is_judged_alone():
    good = "Who became President of France before 1 May 1990 and served until after 3 May 1993?"
    reply = f"Here they are:\n1. “{good}”\n2) {good}\n- Who governs France?\n"
    assert list(lines_of(reply)) == [good, good, "Who governs France?"]
    found = read_reply(reply, [president()] * 4)
    assert [one.text for one in found] == [good, None, None, None]
    assert [one.reason for one in found] == [
        None, TWICE, "a value is missing or spelt otherwise", NO_LINE,
    ]  # fmt: skip
    assert [one.reason for one in read_reply(None, [president()] * 2)] == [NO_REPLY, NO_REPLY]
