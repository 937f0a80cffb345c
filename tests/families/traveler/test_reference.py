"""The scripted policy on event lists: by the tool, in Python, from every prompt."""

import asyncio
import io
from contextlib import redirect_stdout

import pytest

from agent_env.families.traveler.family import make_task
from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.reference import next_step
from agent_env.families.traveler.sample import traveler_sample
from agent_env.families.traveler.wording import CONFIGURATIONS
from agent_env.features.reference.policy import Reference, ReferenceStatic
from agent_env.features.reference.turns import Turn
from agent_env.graph.loop import AgentLoop, EpisodeState
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import Message, ToolSpec
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.family import by_digest
from agent_env.tools.builtin.query_events import QueryEvents
from agent_env.tools.toolbox import ToolSet
from tests.families.traveler.sets import episode

STEPS = ["agent_env.families.traveler.reference:next_step"]


def answers(made, condition, task, model):
    """Every question of the set, asked without a trace."""
    tables, loop = by_digest(made.tables), AgentLoop()

    async def ask():
        scores = []
        for sample in made.samples:
            tool = QueryEvents(tables[sample.materials[0]])
            tools = ToolSet([tool] if condition.tools else [])
            strategy = make_strategy(condition, task.prompt)
            outcome = await loop.run(sample, EpisodeState(model, tools, strategy, Limits()))
            scores.append(task.scorer(sample, episode(outcome.answer)))
        return scores

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def hundred():
    """100 questions about sets of 100 events."""
    return make_samples(100, 1, Options(sizes=(100,)))


def test_it_reaches_the_ceiling_page_by_page(hundred):
    task = make_task("default", by_digest(hundred.tables))
    scores = answers(hundred, parse_condition("events"), task, Reference(STEPS))
    assert len(scores) == 100
    for sample, score in zip(hundred.samples, scores, strict=True):
        assert score.metrics["of_ceiling"] == 1.0, traveler_sample(sample).question
        if traveler_sample(sample).category != "vague":
            assert score.metrics["accuracy"] == 1.0
    scores = answers(hundred, parse_condition("events"), task, ReferenceStatic(STEPS))
    assert 0.3 < sum(score.metrics["of_ceiling"] for score in scores) / 100 < 0.8
    # A tool's output is cut past some 64 kB; the whole list would have 600.
    made = make_samples(3, 1, Options(sizes=(9_000,), sets=1))
    tables = by_digest(made.tables)
    task = make_task("default", tables)
    tool = ToolSpec(name="python", description="", parameters={})
    for sample in made.samples:
        condition = parse_condition("python")
        messages = list(task.prompt(sample, condition))
        session = {}
        exec(task.setup(sample, condition), session)
        while (step := next_step(Turn(messages, (tool,), True))) is not None and step[1]:
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(str(step[1][0][1]["code"]), session)
            assert len(printed.getvalue()) < 60_000
            messages.append(Message(role="tool", content=printed.getvalue()))
        assert len(messages) == 3  # some 640 events are two pages
        assert task.scorer(sample, episode(step[0])).metrics["of_ceiling"] == 1.0
    made = make_samples(4, 1, Options(sizes=(10_000,), sets=1))
    task = make_task("default", by_digest(made.tables))
    scores = answers(made, parse_condition("events"), task, Reference(STEPS))
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 4


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_it_reads_every_form_of_the_list(name):
    made = make_samples(12, 5, Options(sizes=(20, 50)))
    task = make_task(name, by_digest(made.tables))
    scores = answers(made, parse_condition("base"), task, Reference(STEPS))
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 12
