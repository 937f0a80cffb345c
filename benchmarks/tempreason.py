"""What TempReason and TimeQA cost: items, solver calls and scores a second on one core.

Example: python benchmarks/tempreason.py
CPU time of this process; the median of five rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from agent_env.families.timed_facts.family import TEMPREASON, TIMEQA
from agent_env.families.timed_facts.sample import timed
from agent_env.families.timed_facts.score import score
from agent_env.features.extraction.extraction import extract
from agent_env.features.extraction.solver import solve
from agent_env.records.schema import Episode

ROUNDS = 5
ITEMS = 4000


def rate(count: int, work: Callable[[], object]) -> float:
    """Things a CPU-second."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        rounds.append(count / (time.process_time() - began))
    return median(rounds)


def main() -> None:
    """Print a figure a line."""
    for family in (TEMPREASON, TIMEQA):
        options = family.options()
        made = rate(ITEMS, lambda f=family, o=options: f.make_samples(ITEMS, 1, o))
        print(f"{family.name}: items a second {made:,.0f}")
    samples = [timed(s) for s in TEMPREASON.make_samples(ITEMS, 1, TEMPREASON.options()).samples]
    asked = [(sample.own_facts, sample.query()) for sample in samples]
    solved = rate(ITEMS, lambda: [solve(facts, query) for facts, query in asked if query])
    print(f"solver calls a second {solved:,.0f}")
    episodes = [
        Episode(
            sample=s.id, condition="base", repeat=1, model="m", status="finished",
            answer=f"Reasoning: none.\nAnswer: {', '.join(s.gold)}",
        )
        for s in samples
    ]  # fmt: skip
    scored = rate(ITEMS, lambda: [score(s, e) for s, e in zip(samples, episodes, strict=True)])
    print(f"scores a second {scored:,.0f}")
    pairs = [(s.question, s.context("reasonqa")) for s in samples[:400]]
    print(f"extractions by rules a second {rate(400, lambda: [extract(*p) for p in pairs]):,.0f}")


if __name__ == "__main__":
    main()
