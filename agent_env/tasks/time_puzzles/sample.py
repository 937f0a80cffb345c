"""The record of one puzzle."""

from __future__ import annotations

from pydantic import Field

from agent_env.schema import Record, Sample
from agent_env.tasks.time_puzzles.facts import Fact

GENERATOR_VERSION = 1
"""Raised whenever the same seed would give other puzzles."""


class Checks(Record):
    """What was verified of an accepted puzzle."""

    necessary: bool
    """Without any one of its facts the answer would be another."""
    event_bits: float
    """log2 of how much larger the answer would be without the event."""
    event_values: int
    """Values that the event could have, as far as the other facts tell; a guesser draws one."""


class TimePuzzle(Sample):
    """Constraints in two wordings, and the facts behind them."""

    task: str = "time-puzzles"
    constraints: tuple[str, ...] = Field(min_length=1)
    explicit_constraints: tuple[str, ...] = Field(min_length=1)
    facts: tuple[Fact, ...] = ()
    solution_count: int
    fact_count: int
    event: str = ""
    """The event to be looked up."""
    event_level: str = ""
    seed_date: str = ""
    years: str = "1800-2050"
    """Years among which the answer lies."""
    checks: Checks | None = None
    generator: int = GENERATOR_VERSION
