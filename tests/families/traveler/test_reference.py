"""The scripted policy on event lists: by the tool, in Python, from every prompt."""

from __future__ import annotations

import asyncio

import pytest

from agent_env.families.reference.policy import Reference, ReferenceStatic
from agent_env.families.traveler.configurations import CONFIGURATIONS
from agent_env.families.traveler.family import Options, make_samples
from agent_env.families.traveler.sample import traveler_sample
from agent_env.families.traveler.task import make_task
from agent_env.graph.loop import AgentLoop, Attempt
from agent_env.graph.strategies import make_strategy
from agent_env.protocols import Limits
from agent_env.records.schema import Condition, Score
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.family import SampleSet, by_digest
from agent_env.tasks.task import Task
from agent_env.tools.builtin.query_events import QueryEvents
from agent_env.tools.toolbox import ToolSet
from tests.families.traveler.sets import episode


def answers(made: SampleSet, condition: Condition, task: Task, model: Reference) -> list[Score]:
    """Every question of the set, asked without a trace."""
    tables, loop = by_digest(made.tables), AgentLoop()

    async def ask() -> list[Score]:
        scores = []
        for sample in made.samples:
            tool = QueryEvents(tables[sample.materials[0]])
            tools = ToolSet([tool] if condition.tools else [])
            strategy = make_strategy(condition, task.prompt)
            outcome = await loop.run(sample, Attempt(model, tools, strategy, Limits()))
            scores.append(task.scorer(sample, episode(outcome.answer)))
        return scores

    return asyncio.run(ask())


@pytest.fixture(scope="module")
def hundred() -> SampleSet:
    """300 questions about sets of 100 events."""
    return make_samples(300, 1, Options(sizes=(100,)))


def test_it_is_right_under_the_tool_condition_and_reaches_its_ceiling(hundred: SampleSet) -> None:
    task = make_task("default", by_digest(hundred.tables))
    scores = answers(hundred, parse_condition("events"), task, Reference())
    assert len(scores) == 300
    for sample, score in zip(hundred.samples, scores, strict=True):
        assert score.metrics["of_ceiling"] == 1.0, traveler_sample(sample).question
        if traveler_sample(sample).category != "vague":
            assert score.metrics["accuracy"] == 1.0


def test_a_policy_that_takes_the_first_event_is_not(hundred: SampleSet) -> None:
    task = make_task("default", by_digest(hundred.tables))
    scores = answers(hundred, parse_condition("events"), task, ReferenceStatic())
    assert 0.3 < sum(score.metrics["of_ceiling"] for score in scores) / 300 < 0.8


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_it_reads_every_form_of_the_list(name: str) -> None:
    made = make_samples(40, 5, Options(sizes=(20, 50)))
    task = make_task(name, by_digest(made.tables))
    scores = answers(made, parse_condition("base"), task, Reference())
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 40


def test_it_pages_through_ten_thousand_events() -> None:
    made = make_samples(12, 1, Options(sizes=(10_000,), sets=1))
    task = make_task("default", by_digest(made.tables))
    scores = answers(made, parse_condition("events"), task, Reference())
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 12
