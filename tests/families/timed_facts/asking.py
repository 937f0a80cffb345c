"""Plays one episode in memory: the strategy, the script that compares years, no tools."""

from agent_env.features.extraction.strategies import run_strategy
from agent_env.features.reference.policy import ReferenceStatic
from agent_env.protocols import Answer
from agent_env.records.schema import Condition
from agent_env.tasks.task import StrategyParts
from tests.ended import ended
from tests.questions import talked

REFERENCE = ReferenceStatic(["agent_env.families.timed_facts.reference:next_step"])


def ask(task, sample, strategy):
    """The episode of the reference under a strategy that needs no sandbox."""
    condition = Condition(name="base", strategy=strategy)
    messages = list(task.prompt(sample, condition))
    text = talked(messages, model=REFERENCE)
    made = run_strategy(StrategyParts(task.prompt, condition))
    turn = Answer(text) if made is None else made.next(messages)
    assert isinstance(turn, Answer), turn
    return episode(turn.text, tuple(messages))


def episode(answer, messages=()):
    """A finished episode with this answer."""
    return ended(answer, "s", messages=messages)
