"""What `hard` asks is answered by months, and missed by the scripted policy that reads years."""

import asyncio

import pytest

from agent_env.families.timed_facts.family import REFERENCE, TEMPREASON, TIMEQA
from agent_env.features.reference.policy import Reference, ReferenceStatic
from agent_env.records.schema import Condition

from .asking import episode


@pytest.mark.parametrize(("family", "missed"), [(TEMPREASON, 8), (TIMEQA, 8)])
def test_months_answer_every_hard_question_and_years_do_not(family, missed):
    options = family.read_options([], "hard")
    task = family.make_task("default", options, {})
    samples = family.make_samples(40, 3, options).samples
    wrong = {Reference: 0, ReferenceStatic: 0}
    for sample in samples:
        messages = list(task.prompt(sample, Condition(name="base")))
        for policy in wrong:
            reply = asyncio.run(policy([REFERENCE]).generate(messages, ())).message
            scored = task.score(sample, episode(reply.content, (*messages, reply)))
            wrong[policy] += scored.metrics["sem"] != 1.0
    assert wrong[Reference] == 0
    assert wrong[ReferenceStatic] >= missed


def test_a_stated_tie_break_holds():
    options = TEMPREASON.read_options(["ties=nearest", "levels=L3", "answers=single"])
    task = TEMPREASON.make_task("default", options, {})
    for sample in TEMPREASON.make_samples(20, 3, options).samples:
        messages = list(task.prompt(sample, Condition(name="base")))
        reply = asyncio.run(Reference([REFERENCE]).generate(messages, ())).message
        assert task.score(sample, episode(reply.content, (*messages, reply))).metrics["sem"] == 1
