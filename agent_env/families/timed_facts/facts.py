"""A fact with an interval of validity, and its bounds in months."""

from __future__ import annotations

from functools import cached_property

from pydantic import field_validator, model_validator

from agent_env.records.schema import Record
from agent_env.temporal.months import Month, read_span

Bounds = tuple[Month, Month | None]
"""First and last month."""


class Fact(Record):
    """`value` held for `topic` from the month `start` to the month `end`, both included."""

    topic: str
    """What the question is about: a player, a company, a club."""
    kind: str
    """The relation, one of wording.KINDS; empty where unknown."""
    value: str
    """The possible answer."""
    start: str | None = None
    """YYYY-MM, or YYYY where only the year is known; None: unbounded."""
    end: str | None = None
    """The last month, likewise."""

    @field_validator("start", "end")
    @classmethod
    def _is_date(cls, text: str | None) -> str | None:
        if text is not None:
            read_span(text)
        return text

    @model_validator(mode="after")
    def _in_order(self) -> Fact:
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError(f"'{self.value}' ends {self.end}, before its start {self.start}")
        return self

    @classmethod
    def sound(
        cls, topic: str, kind: str, value: str, bounds: tuple[str, str | None], months: Bounds
    ) -> Fact:
        """A fact of valid dates and their months, without validation: for large tables."""
        start, end = bounds
        fact = cls.model_construct(topic=topic, kind=kind, value=value, start=start, end=end)
        fact.__dict__.update(first=months[0], last=months[1])
        return fact

    @cached_property
    def first(self) -> Month | None:
        """The first month; January where only the year is known."""
        return None if self.start is None else read_span(self.start).first

    @cached_property
    def last(self) -> Month | None:
        """The last month; December where only the year is known."""
        return None if self.end is None else read_span(self.end).last
