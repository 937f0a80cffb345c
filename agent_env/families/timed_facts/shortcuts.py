"""Shortcuts of questions on timed facts: answers without the time that a question names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from agent_env.families.timed_facts.sample import TimedQuestion, timed
from agent_env.records.schema import Sample
from agent_env.tasks.shortcuts import by_question, constant, majority, oracle
from agent_env.tasks.task import Shortcut

HIDDEN = {"gold": (), "negatives": ()}


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    return _worded(sample.gold)


def shortcuts() -> tuple[Shortcut, ...]:
    """No answer, the majority, the last fact, a random one, all of them, the gold."""
    return (
        constant("that there is no answer", lambda sample: _worded(())),
        majority(answer_text, lambda sample: timed(sample).level),
        by_question("latest-row", "the fact that began last", _latest),
        Shortcut("random-row", "a random fact of the topic", lambda samples: _random),
        by_question("ignore-time", "all facts of the topic, whenever they held", _every),
        oracle(answer_text),
    )


def _worded(names: Sequence[str]) -> str:
    return f"Answer: {names[0] if len(names) == 1 else json.dumps(list(names), ensure_ascii=False)}"


def _values(question: TimedQuestion) -> list[str]:
    """The values of the topic, the fact that began first foremost; none for a question of L1."""
    facts = sorted(question.own_facts, key=lambda fact: (fact.first or 0, fact.last or 0))
    return list(dict.fromkeys(fact.value for fact in facts))


def _latest(sample: Sample, rng: Random) -> str | None:
    values = _values(timed(sample))
    return _worded(values[-1:]) if values else None


def _random(sample: Sample, rng: Random) -> str | None:
    values = _values(timed(sample))
    return _worded([rng.choice(values)]) if values else None


def _every(sample: Sample, rng: Random) -> str | None:
    values = _values(timed(sample))
    return _worded(values) if values else None
