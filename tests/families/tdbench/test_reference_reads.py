"""The scripted reference answers from the prompt's own rows, and by the sql tool."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent_env.families.tdbench.reading import parse_question
from agent_env.features.facts.sealed import SealedWeb
from agent_env.features.facts.site.sheet import LEVELS
from agent_env.features.facts.tables.tables import FactTables
from agent_env.records.schema import Condition, Message
from agent_env.tasks.sample_texts import gold_text
from agent_env.temporal.allen import RELATIONS
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.sql import Sql
from agent_env.tools.builtin.web_search import WebSearch
from tests.ended import ended
from tests.questions import questions, talked

NO_FACTS = FactTables((), (), ())
KINDS = ("relation", "current", "nth", "count", "longest", "duration", "hops")


def answered(made, task, name="base", tools_of=lambda sample: ()):
    """The scores and the last texts of the reference on the set."""
    for sample in made.samples:
        tools = tools_of(sample)
        offered = tuple(tool.spec.name for tool in tools)
        messages = list(task.prompt(sample, Condition(name=name, tools=offered)))
        assert "Rows of the table" not in messages[0].content or name != "web"
        answer = talked(messages, tools)
        yield sample, task.scorer(sample, ended(answer, sample.id, name)).metrics, answer


def accuracy(seed, count, with_sql=False, **options):
    """Mean answer accuracy by relation or kind."""
    made, task = questions("tdbench", count, seed, **options)

    def sql(sample):
        return [Sql(made.tables_by_digest[digest] for digest in sample.materials)]

    how, right = ("sql", sql) if with_sql else (), {}
    for sample, metrics, _ in answered(made, task, *how):
        worth = min(metrics["answer"], metrics.get("answer_time", 1.0))
        right.setdefault(sample.relation, []).append(worth)
    return {name: sum(values) / len(values) for name, values in right.items()}


def test_questions_of_all_relations_and_kinds_are_answered_rightly():
    assert accuracy(5, 39 * 3, rows=80) == dict.fromkeys(RELATIONS, 1.0)
    found = accuracy(3, 60, tables="shipped", kinds=KINDS[1:])
    assert found.keys() >= {"current", "nth", "count", "longest", "2-hop", "3-hop"}
    assert set(found.values()) == {1.0}
    assert set(accuracy(6, 90, with_sql=True, rows=80, kinds=KINDS).values()) == {1.0}


@pytest.mark.parametrize("with_sql", [False, True])
def test_every_kind_of_question_on_a_table_of_ones_own_is_answered_rightly(with_sql):
    rates = str(Path(__file__).parent / "data" / "rates.csv")
    own = {"question": ("tariff",), "answer": ("price",), "now": "2025-01-01", "phrasings": 3}
    found = accuracy(1, 30, with_sql, tables=rates, kinds=KINDS[:-1], **own)
    assert found.keys() >= {"current", "nth", "longest", "duration"}
    assert set(found.values()) == {1.0}


def test_shared_days_are_counted_and_shown_as_a_number():
    rows = [("plus", "24", "2021-06-01", "2023-01-01"), ("night", "8", "2020-09-01", "2022-02-01")]
    lines = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    prompt = (
        "Rows of the table rates:\n| tariff | price | start | end |\n|---|---|---|---|\n"
        f"{lines}\n\nQuestion: For how many days did the entry of 24 for tariff plus overlap with "
        "the entry of 8 for tariff night? Do not count the day on which either ended.\n\n"
        'Write the number in digits. If you do not know, write "unsure".'
    )
    assert talked([Message(role="user", content=prompt)]) == "245"
    golds = [SimpleNamespace(answer=row[1], start=row[2], end=row[3]) for row in rows]
    assert gold_text(SimpleNamespace(gold=("245",), golds=golds)) == "245"
    assert gold_text(SimpleNamespace(gold=("8",), golds=golds)) == "8 (2020-09-01 to 2022-02-01)"


def test_the_facts_on_the_way_are_named_before_the_answer():
    for _, metrics, answer in answered(*questions("tdbench", 6, 3, rows=80, kinds=("hops",))):
        assert re.match(r"The .+ were held in .+ from \S+ to \S+\.\nANSWER:\n", answer)
        assert all(value == 1 for name, value in metrics.items() if name.startswith("hop_"))


def test_questions_are_answered_rightly_from_the_web():
    kinds = ("relation", "current", "hops")
    made, task = questions("tdbench", 13 * 3 * 2, 7, rows=80, kinds=kinds, book="closed")
    web = SealedWeb.build(Path(":memory:"), NO_FACTS, LEVELS["hard"], made.tables)
    tools = [WebSearch(web.search), OpenPage(web)]
    scored = answered(made, task, "web", lambda sample: tools)
    assert [sample.id for sample, metrics, _ in scored if metrics["answer"] < 1] == []


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        ("Which of the listed office-holders of the OECD left office before 28 September 2006?",
         {"country": "the OECD"}),
        ("Among the listed organisations, which President entered office before March 20, 2018 "
         "and stepped down on December 1, 2019?", {"post": "President"}),
        ("For tariff plus, which price is named in an entry that started after 1 May 2020?",
         {"tariff": "plus"}),
    ],
)  # fmt: skip
def test_the_first_interpretation_is_the_one_whose_values_are_shortest(question, keys):
    assert parse_question(question)[0].keys == keys
