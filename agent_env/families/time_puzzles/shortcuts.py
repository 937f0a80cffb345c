"""Shortcuts of Time Puzzles: answers without looking the event up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

from agent_env.errors import AgentEnvError
from agent_env.records.schema import Sample
from agent_env.tasks.shortcuts import constant, majority, oracle
from agent_env.tasks.task import Guess, Shortcut

if TYPE_CHECKING:
    from agent_env.families.time_puzzles.guessers import Case
    from agent_env.families.time_puzzles.sample import TimePuzzle
    from agent_env.temporal.days import DaySet
    from agent_env.temporal.facts.tables import FactTables

MOST_DAYS = 60
"""An answer names no more days."""
Policy = Callable[["Case", Random], "DaySet"]


def shortcuts(tables: Callable[[], FactTables]) -> tuple[Shortcut, ...]:
    """No date, the majority, all days but for the event, a random value of the event, the gold."""
    return (
        constant("that there is no date", lambda sample: "MY ANSWER: None"),
        majority(answer_text),
        Shortcut(
            "ignore-event",
            f"the days that all facts but the event allow, {MOST_DAYS} at most",
            lambda samples: _without_event(samples, tables, draws=False),
            is_by_question=True,
        ),
        Shortcut(
            "random-value",
            "the days left by a random value of the event that the other facts allow",
            lambda samples: _without_event(samples, tables, draws=True),
            is_candidate=True,
        ),
        oracle(answer_text),
    )


def answer_text(sample: Sample) -> str:
    """The gold as the prompt asks for it."""
    return f"MY ANSWER: {', '.join(sample.gold) or 'None'}"


def _without_event(
    samples: Sequence[Sample], tables: Callable[[], FactTables], draws: bool
) -> Guess:
    """Answers by the other facts; none where the tables of a run made elsewhere are missing."""
    from agent_env.families.time_puzzles.audit_solved import common_days
    from agent_env.families.time_puzzles.day_sets import DaySets
    from agent_env.families.time_puzzles.guessers import case_of, draw_value

    try:
        sets = DaySets(common_days(_puzzles(samples)), tables())
    except AgentEnvError:
        return lambda sample, rng: None

    def guess(sample: Sample, rng: Random) -> str | None:
        for puzzle in _puzzles([sample]):
            if not puzzle.facts:
                return None
            case = case_of(puzzle, sets)
            days = sets.days.dates(draw_value(case, sets, rng) if draws else case.rest)
            texts = [day.isoformat() for _, day in zip(range(MOST_DAYS), days, strict=False)]
            return f"MY ANSWER: {', '.join(texts) or 'None'}"
        return None

    return guess


def _puzzles(samples: Sequence[Sample]) -> list[TimePuzzle]:
    from agent_env.families.time_puzzles.sample import TimePuzzle

    return [sample for sample in samples if isinstance(sample, TimePuzzle)]
