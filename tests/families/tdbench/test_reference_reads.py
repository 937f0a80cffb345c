"""The scripted reference answers from the prompt's own rows, and by the sql tool."""

import asyncio
from pathlib import Path

from agent_env.extensions.facts.sealed import SealedWeb
from agent_env.extensions.facts.site.sheet import LEVELS
from agent_env.extensions.facts.tables.tables import FactTables
from agent_env.extensions.reference.policy import Reference
from agent_env.families.tdbench.family import FAMILY
from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.records.schema import Condition, Message
from agent_env.tasks.family import by_digest
from agent_env.temporal.allen import RELATIONS
from agent_env.tools.builtin.open_page import OpenPage
from agent_env.tools.builtin.sql import Sql
from agent_env.tools.builtin.web_search import WebSearch
from agent_env.tools.toolbox import ToolSet
from tests.ended import ended

NO_FACTS = FactTables((), (), ())
KINDS = ("relation", "current", "nth", "count", "longest", "hops")


def answered(seed, options, count, with_sql):
    """Mean answer accuracy by relation or kind."""
    made = make(count, seed, options)
    tables = by_digest(made.tables)
    task = FAMILY.make_task("default", options, tables)
    condition = Condition(name="sql" if with_sql else "base", tools=("sql",) if with_sql else ())
    right = {}
    for sample in made.samples:
        tools = [Sql(tables[digest] for digest in sample.materials)] if with_sql else []
        messages = list(task.prompt(sample, condition))
        answer = asyncio.run(_talk(messages, ToolSet(tools)))
        episode = ended(answer, sample.id, condition.name, model="reference")
        score = task.scorer(sample, episode)
        metrics = [score.metrics["answer"], score.metrics.get("answer_time", 1.0)]
        right.setdefault(sample.relation, []).append(min(metrics))
    return {name: sum(values) / len(values) for name, values in right.items()}


async def _talk(messages, tools):
    names = frozenset(spec.name for spec in tools.specs)
    for _ in range(60):
        reply = (await Reference().generate(messages, tools.specs)).message
        messages.append(reply)
        if not reply.tool_calls:
            return reply.content
        for call in reply.tool_calls:
            result = await tools.run(call, names)
            messages.append(Message(role="tool", content=result.output, tool_call_id=call.id))
    raise AssertionError("no answer")


def test_questions_of_all_relations_and_kinds_are_answered_rightly():
    found = answered(5, TdbenchOptions(rows=80), 39 * 3, with_sql=False)
    assert found == dict.fromkeys(RELATIONS, 1.0)
    found = answered(3, TdbenchOptions(tables="shipped", kinds=KINDS[1:]), 60, with_sql=False)
    assert found.keys() >= {"current", "nth", "count", "longest", "2-hop", "3-hop"}
    assert set(found.values()) == {1.0}
    found = answered(6, TdbenchOptions(rows=80, kinds=KINDS), 90, with_sql=True)
    assert set(found.values()) == {1.0}


def test_questions_are_answered_rightly_from_the_web():
    options = TdbenchOptions(rows=80, kinds=("relation", "current", "hops"), book="closed")
    made = make(13 * 3 * 2, 7, options)
    task = FAMILY.make_task("default", options, by_digest(made.tables))
    condition = Condition(name="web", tools=("web_search", "open_page"))
    web = SealedWeb.build(Path(":memory:"), NO_FACTS, LEVELS["hard"], made.tables)
    tools = ToolSet([WebSearch(web.search), OpenPage(web)])
    wrong = []
    for sample in made.samples:
        messages = list(task.prompt(sample, condition))
        assert "Rows of the table" not in messages[0].content
        answer = asyncio.run(_talk(messages, tools))
        episode = ended(answer, sample.id, "web", model="reference")
        if task.scorer(sample, episode).metrics["answer"] < 1:
            wrong.append(sample.id)
    assert wrong == []
