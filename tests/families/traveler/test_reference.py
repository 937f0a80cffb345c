"""The scripted policy on event lists: by the tool, in Python, from every prompt."""

import io
from contextlib import redirect_stdout

import pytest

from agent_env.families.traveler.family import make_task
from agent_env.families.traveler.reference import next_step
from agent_env.families.traveler.wording import CONFIGURATIONS
from agent_env.features.reference.policy import Reference, ReferenceStatic
from agent_env.features.reference.turns import Turn
from agent_env.records.schema import Message, ToolSpec
from agent_env.tasks.conditions import parse_condition
from agent_env.tools.builtin.query_events import QueryEvents
from tests.families.traveler.sets import episode
from tests.questions import questions, talked

STEPS = ["agent_env.families.traveler.reference:next_step"]


def answers(made, name, task, model=Reference):
    """The scores of every question of the set, asked without a trace."""
    condition = parse_condition(name)
    for sample in made.samples:
        events = [QueryEvents(made.tables_by_digest[sample.materials[0]])]
        messages = list(task.prompt(sample, condition))
        text = talked(messages, events if condition.tools else (), model(STEPS))
        yield task.scorer(sample, episode(text))


def test_it_reaches_the_ceiling_page_by_page():
    hundred, task = questions("traveler", 100, sizes=(100,))
    scores = answers(hundred, "events", task)
    for sample, score in zip(hundred.samples, scores, strict=True):
        assert score.metrics["of_ceiling"] == 1.0, sample.question
        assert score.metrics["accuracy"] == 1.0 or sample.category == "vague"
    scores = list(answers(hundred, "events", task, ReferenceStatic))
    assert len(scores) == 100
    assert 0.3 < sum(score.metrics["of_ceiling"] for score in scores) / 100 < 0.8
    # A tool's output is cut past some 64 kB; the whole list would have 600.
    made, task = questions("traveler", 3, sizes=(9_000,), sets=1)
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
    made, task = questions("traveler", 4, sizes=(10_000,), sets=1)
    scores = answers(made, "events", task)
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 4


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_it_reads_every_form_of_the_list(name):
    made, _ = questions("traveler", 12, 5, sizes=(20, 50))
    scores = answers(made, "base", make_task(name, made.tables_by_digest))
    assert [score.metrics["of_ceiling"] for score in scores] == [1.0] * 12
