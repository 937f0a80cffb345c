"""Plays one episode in memory: the strategy, the script that compares years, no tools."""

import asyncio

from agent_env.features.extraction.strategies import run_strategy
from agent_env.features.reference.policy import ReferenceStatic
from agent_env.protocols import Answer
from agent_env.records.schema import Condition, Episode
from agent_env.tasks.task import StrategyParts

REFERENCE = ReferenceStatic(["agent_env.families.timed_facts.reference:next_step"])


def ask(task, sample, strategy):
    """The episode of the reference under a strategy that needs no sandbox."""
    condition = Condition(name="base", strategy=strategy)
    prompt = task.prompt
    messages = list(prompt(sample, condition))
    reply = asyncio.run(REFERENCE.generate(messages, ())).message
    messages.append(reply)
    made = run_strategy(StrategyParts(prompt, condition))
    turn = Answer(reply.content) if made is None else made.next(messages)
    assert isinstance(turn, Answer), turn
    return episode(turn.text, tuple(messages))


def episode(answer, messages=()):
    """A finished episode with this answer."""
    return Episode(
        sample="s", condition="base", repeat=1, model="m", status="finished",
        answer=answer, messages=messages,
    )  # fmt: skip
