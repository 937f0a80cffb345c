"""On which weekday was a day? Questions from a seed."""

from __future__ import annotations

import random
from datetime import date, timedelta

from agent_env.records.schema import Condition, Episode, Message, Record, Sample, Score
from agent_env.tasks.family import Family, Materials, SampleSet
from agent_env.tasks.task import Task

NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Options(Record):
    """What the questions may be about."""

    first_year: int = 1900
    """The earliest year."""


class Day(Sample):
    day: str


def make_samples(count: int, seed: int, options: Options) -> SampleSet:
    rng = random.Random(seed)
    days = [date(options.first_year, 1, 1) + timedelta(rng.randrange(30_000)) for _ in range(count)]
    return SampleSet(
        tuple(
            Day(id=f"wd-{n}", task="day-names", gold=(NAMES[d.weekday()],), day=d.isoformat())
            for n, d in enumerate(days, 1)
        )
    )


def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
    assert isinstance(sample, Day)
    return (Message(role="user", content=f"Which weekday was {sample.day}? One word."),)


def score(sample: Sample, episode: Episode) -> Score:
    answer = (episode.answer or "").strip()
    if answer == "Someday":
        raise ValueError("no such weekday")
    return Score(
        sample=episode.sample,
        condition=episode.condition,
        repeat=episode.repeat,
        outcome="read" if answer else "unreadable",
        answer=(answer,),
        metrics={"right": float(answer == sample.gold[0])},
    )


def make_task(prompt_name: str, options: Options, tables: Materials) -> Task:
    return Task("day-names", Day, prompt, score, ("right",), ("base",))


FAMILY = Family("day-names", make_task, make_samples, Options)
