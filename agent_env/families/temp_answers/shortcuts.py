"""Shortcuts of questions whose answer is a time: constants of their unit."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from random import Random

from agent_env.families.temp_answers.sample import TimeQuestion, time_question
from agent_env.records.schema import Sample
from agent_env.tasks.shortcuts import majority, oracle, random_answer
from agent_env.tasks.task import Guess, Shortcut

HIDDEN = {"gold": (), "amount": 0, "label": ""}


def shortcuts() -> tuple[Shortcut, ...]:
    """Median, most frequent and random answer of the same split, unit and form; the gold."""
    return (
        Shortcut("median", "the median answer of the set's other questions of its unit", _median),
        majority(answer_text, _kind),
        random_answer(answer_text, _kind),
        oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    question = time_question(sample)
    if not question.keys:
        return f"Final Answer: {question.gold[0]}"
    try:
        answer = ast.literal_eval(question.label)
    except (ValueError, SyntaxError):
        answer = None
    if not isinstance(answer, dict):
        answer = {next(iter(question.keys)): question.gold[0]}
    return json.dumps({"explanation": "a shortcut", **answer}, ensure_ascii=False, default=str)


def _kind(sample: Sample) -> str:
    """What questions share whose answers have one form."""
    own = time_question(sample)
    return json.dumps([own.split, own.kind, own.unit, own.answer_format, own.keys])


def _median(samples: Sequence[Sample]) -> Guess:
    own: dict[str, list[TimeQuestion]] = {}
    for sample in samples:
        own.setdefault(_kind(sample), []).append(time_question(sample))
    for questions in own.values():
        questions.sort(key=lambda question: (question.amount, question.id))

    def guess(sample: Sample, rng: Random) -> str | None:
        others = [question for question in own[_kind(sample)] if question.id != sample.id]
        return answer_text(others[len(others) // 2]) if others else None

    return guess
