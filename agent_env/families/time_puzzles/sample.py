"""The record of one puzzle."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from typing import Literal, Self

from pydantic import Field, field_validator

from agent_env.families.time_puzzles.facts import Fact
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Record, Sample, Wording

GENERATOR_VERSION = 4
"""Raised whenever the same seed gives other puzzles."""


class Checks(Record):
    """Verified properties of a puzzle."""

    closed: bool
    """The answer is the same over 1583 to 2400, without a range of years."""
    necessary: bool
    """Without any single fact the answer differs."""
    event_bits: float | None
    """log2 of the answer's growth without the event; None without an answer."""
    event_values: int
    """Number of values of the event that the other facts allow; a guesser draws one."""
    robust: bool
    """The answer is the same under every listed reading."""
    readings: tuple[str, ...] = ()
    """Readings that change the answer."""
    faithful: bool
    """Both wordings have the same answer."""
    explicit_necessary: bool | None = None
    """Without any single explicit constraint the answer differs; None for a puzzle of generator 1
    or 2, where it was not checked."""


class Difficulty(Record):
    """Measured quantities of a puzzle in its implicit wording."""

    lookups: int
    """Facts whose dates must be looked up: the event, people, presidents."""
    pages: int
    """Pages between the question and these dates: one for each look-up, one more where the event is
    described and must be identified first."""
    hops: int
    """Facts of other calendars, each a conversion."""
    candidates: int
    """Days of the range that the other facts leave, which need neither."""


class TimePuzzle(Sample):
    """Constraints in two wordings, with their facts."""

    task: Literal["time-puzzles"] = "time-puzzles"
    constraints: tuple[str, ...] = Field(min_length=1)
    explicit_constraints: tuple[str, ...] = Field(min_length=1)
    facts: tuple[Fact, ...] = ()
    information_gain: tuple[float, ...] = ()
    """IG(t) of each fact in bits (equation 2), over the days of `years`."""
    explicit_gold: tuple[str, ...] | None = Field(
        default=None, exclude_if=lambda gold: gold is None
    )
    """The right answer to the explicit wordings, where it is another one than `gold`."""
    solution_count: int
    fact_count: int
    event: str = ""
    """The event to look up."""
    event_level: str = ""
    obscurity: float | None = Field(default=None, exclude_if=lambda value: value is None)
    """The event's: share of a panel of models that could not date it; None where unknown."""
    difficulty: Difficulty | None = None
    """None for a foreign puzzle."""
    seed_date: str = ""
    """The hidden date on which the facts hold; empty without a solution."""
    years: str = Field(default="1800-2050", pattern=r"^\d{4}-\d{4}$")
    """Range of years of the answer."""
    checks: Checks | None = None
    """None for an unchecked puzzle."""
    generator: int = GENERATOR_VERSION
    digest: str = ""
    """SHA-256 of facts, constraints and gold, first 16 digits."""

    def worded(self, wording: Wording) -> Self:
        if wording in ("implicit", "facts") or self.explicit_gold is None:
            return self
        return self.model_copy(update={"gold": self.explicit_gold})

    @field_validator("gold", "explicit_gold")
    @classmethod
    def _gold_is_a_set_of_dates(cls, gold: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for day in gold or ():
            if date.fromisoformat(day).isoformat() != day:
                raise ValueError(f"'{day}' is not written YYYY-MM-DD")
        if gold is not None and len(set(gold)) < len(gold):
            raise ValueError("a date appears twice")
        return gold


def time_puzzle(sample: Sample) -> TimePuzzle:
    """The sample, typed; ConfigError for a sample of another family."""
    if not isinstance(sample, TimePuzzle):
        raise ConfigError(f"sample '{sample.id}' is not a time puzzle")
    return sample


def time_puzzles(samples: Iterable[Sample]) -> list[TimePuzzle]:
    return [sample for sample in samples if isinstance(sample, TimePuzzle)]
