"""Questions of level L1: the time some years and months before or after another."""

from __future__ import annotations

from random import Random

from agent_env.families.timed_facts.sample import TimedQuestion
from agent_env.temporal.months import month, write_month


def make_sums(task: str, prefix: str, count: int, seed: int) -> tuple[TimedQuestion, ...]:
    """`count` questions; about two thirds with months, the others with years only."""
    rng = Random(f"timed/{prefix}/L1/{seed}")
    return tuple(_sum(task, prefix, seed, number, rng) for number in range(1, count + 1))


def _sum(task: str, prefix: str, seed: int, number: int, rng: Random) -> TimedQuestion:
    years, word = rng.randint(1, 12), rng.choice(("before", "after"))
    sign = 1 if word == "after" else -1
    base = month(rng.randint(1850, 2020), rng.randint(1, 12))
    if rng.random() < 1 / 3:
        question = f"What is the year {_many(years, 'year')} {word} {base // 12}?"
        gold = str(base // 12 + sign * years)
    else:
        months = rng.randint(1, 11)
        length = f"{_many(years, 'year')} and {_many(months, 'month')}"
        question = f"What is the time {length} {word} {write_month(base)}?"
        gold = write_month(base + sign * (years * 12 + months))
    return TimedQuestion(
        id=f"{prefix}-{seed}-L1-{number:05d}",
        task=task,
        gold=(gold,),
        level="L1",
        cell="L1-single",
        question=question,
    )


def _many(count: int, unit: str) -> str:
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
