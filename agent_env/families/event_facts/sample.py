"""The record of one row that a model is asked about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import date

from agent_env.errors import ConfigError
from agent_env.protocols import Limits, Scorer
from agent_env.records.schema import Sample
from agent_env.tasks.task import Prompt, Task
from agent_env.temporal.facts.event_names import is_point
from agent_env.temporal.facts.tables import EventRow
from agent_env.temporal.facts.writing import spans_text

ONGOING = "ongoing"


class EventSample(Sample):
    """An event with its table's dates, unchanged."""

    event: str
    kind: str
    start: str = ""
    end: str = ""
    """Empty beside a start: it still lasts."""
    years: str = ""
    """All years in which it took place, as spans such as `1908;1948~1950`."""
    now: str
    """The day as of which it still lasts."""

    @property
    def lasts(self) -> bool:
        """Whether it still lasts, as its table states; a point in time without an end does not."""
        return bool(self.start) and not self.end and not is_point(self.event, self.kind)


def make_sample(row: EventRow, task: str, gold: tuple[str, ...], now: date) -> EventSample:
    """The row as a sample; its id depends on the event's name alone."""
    return EventSample(
        id=f"event-{hashlib.sha256(row.event.encode()).hexdigest()[:16]}",
        task=task,
        gold=gold,
        event=row.event,
        kind=row.kind,
        start=str(row.start or ""),
        end=str(row.end or ""),
        years=spans_text(row.years),
        now=str(row.now or now),
    )


def event_sample(sample: Sample) -> EventSample:
    """The sample itself, where it is one of this family."""
    if not isinstance(sample, EventSample):
        raise ConfigError(f"sample '{sample.id}' is no row of an event table")
    return sample


def stated(rows: Iterable[EventRow]) -> tuple[EventRow, ...]:
    """The rows that state any date."""
    return tuple(row for row in rows if row.start or row.end or row.years)


def event_task(
    name: str, prompt: str, make_prompt: Prompt, scorer: Scorer, metrics: tuple[str, ...],
    condition: str, limits: Limits,
) -> Task:  # fmt: skip
    """A task on rows; it has one prompt."""
    if prompt != "default":
        raise ConfigError(f"unknown prompt '{prompt}'; known: default")
    return Task(
        name=name,
        sample_type=EventSample,
        prompt=make_prompt,
        scorer=scorer,
        metrics=metrics,
        default_conditions=(condition,),
        limits=limits,
    )
