"""What `hard` asks is answered by months, and missed by the scripted policy that reads years."""

import pytest

from agent_env.families.timed_facts.family import REFERENCE
from agent_env.features.reference.policy import Reference, ReferenceStatic
from agent_env.records.schema import Condition
from tests.questions import questions, talked

from .asking import episode


def wrong(policy, made, task):
    """The samples that the policy does not answer rightly."""
    for sample in made.samples:
        messages = list(task.prompt(sample, Condition(name="base")))
        answer = talked(messages, model=policy([REFERENCE]))
        if task.score(sample, episode(answer, tuple(messages))).metrics["sem"] != 1.0:
            yield sample


@pytest.mark.parametrize("family", ["tempreason", "timeqa"])
def test_months_answer_every_hard_question_and_years_do_not(family):
    hard = questions(family, 40, 3, difficulty="hard")
    assert list(wrong(Reference, *hard)) == []
    assert len(list(wrong(ReferenceStatic, *hard))) >= 8


def test_a_stated_tie_break_holds():
    options = {"ties": "nearest", "levels": ("L3",), "answers": ("single",)}
    assert list(wrong(Reference, *questions("tempreason", 20, 3, **options))) == []
