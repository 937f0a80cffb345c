"""The record of one question about an event set."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent_env.sdk.errors import ConfigError
from agent_env.sdk.records import Sample

NAME = "traveler"
Category = Literal["explicit", "implicit", "vague"]
Template = Literal["who", "did", "how-often", "when"]
Matches = Literal["none", "one", "many"]
CATEGORIES: tuple[Category, ...] = ("explicit", "implicit", "vague")
TEMPLATES: tuple[Template, ...] = ("who", "did", "how-often", "when")

NOTHING: dict[str, tuple[str, ...]]
NOTHING = {"who": (), "did": ("no",), "how-often": ("0",), "when": ()}
"""The constant answer of each template: nobody, no, 0, never."""


class TravelerSample(Sample):
    """A question, its event set by digest, and what its score needs.

    `gold` is the answer in normal form: names in order, `yes` or `no`, a number, a day; () for
    nobody and never. For a vague question it is the most probable answer.
    """

    category: Category
    template: Template
    size: int
    """Events in the set."""
    expression: str
    """Kind of the time expression, such as `in-month` or `just`; `none` for the last time."""
    matches: Matches
    """Number of matching events (subjects, for Who); for a vague question, by the best answer."""
    event: str
    subject: str | None
    """None where the question asks for it."""
    location: str
    question: str
    now: str
    """The speech time, ISO 8601 with the zone's offset."""
    zone: str
    since: str | None = None
    """First day that the expression covers; None for vague ones and for the last time."""
    until: str | None = None
    subjects: tuple[str, ...]
    """All possible names."""
    chances: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """Of a vague question, by subject: the probability of the adverbial for each event that fits
    in all else. Of the one subject asked for, or of all."""
    curves: str | None = None
    """Their origin: `parametric` or a file's name and digest."""
    generator: int | None = None
    """Version of the generator that made it; None for published sets."""


def traveler_sample(sample: Sample) -> TravelerSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, TravelerSample):
        raise ConfigError(f"sample '{sample.id}' is not a question of {NAME}")
    return sample
