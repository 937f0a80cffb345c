"""Shortcuts of a user's own questions: the majority, a random answer or choice, the oracle."""

from __future__ import annotations

import json
from random import Random

from agent_env.families.qa.sample import LETTERS, QaOptions, qa_question
from agent_env.records.schema import Sample
from agent_env.tasks.shortcuts import majority, oracle, random_answer
from agent_env.tasks.task import Shortcut

WITHOUT = ("regex", "judge")
"""Scorers whose right answer is no text that could be given."""


def shortcuts(options: QaOptions) -> tuple[Shortcut, ...]:
    """Those that the scorer of the options can score."""
    if options.scorer in WITHOUT:
        return ()

    def answer(sample: Sample) -> str:
        gold = qa_question(sample).gold
        if options.scorer == "set":
            return f"MY ANSWER: {json.dumps(list(gold), ensure_ascii=False)}"
        return f"MY ANSWER: {', '.join(gold) if options.scorer == 'dates' else gold[0]}"

    chance = random_answer(answer)
    if options.scorer == "choice":
        chance = Shortcut("random", "a random choice", lambda samples: _random_choice)
    return (majority(answer), chance, oracle(answer))


def _random_choice(sample: Sample, rng: Random) -> str | None:
    count = len(qa_question(sample).choices)
    return f"MY ANSWER: {rng.choice(LETTERS[:count])}" if count else None
