"""How fast TRAVELER's questions are made and scored, and what constant answers get.

Run: python benchmarks/traveler.py (some seconds, one core).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean, median
from typing import TypeVar

from agent_env.families.traveler.family import answer_metrics, score
from agent_env.families.traveler.generator import Options, make_samples
from agent_env.families.traveler.sample import CATEGORIES, NOTHING, TravelerSample, traveler_sample
from agent_env.records.schema import Episode
from tests.families.traveler.test_truth import possible_answers

T = TypeVar("T")
ROUNDS = 5


def main() -> None:
    """Print every figure; CPU time, medians of five."""
    made, seconds = timed(lambda: make_samples(3300, 1, Options()))
    samples = [traveler_sample(sample) for sample in made.samples]
    print(f"3,300 questions with gold           {seconds:8.2f} CPU-s (wanted: 3)")
    _, seconds = timed(lambda: make_samples(300, 1, Options(sizes=(10_000,), sets=1)))
    print(f"300 questions about 10,000 events   {seconds:8.2f} CPU-s")
    soft = [s for s in samples if s.category == "vague" and s.size == 100]
    soft = [*soft, *more(900)]
    print(f"soft scores of sets of 100 events   {rate(soft):8,.0f} a CPU-s (wanted: 10,000)")
    for template in ("did", "who", "how-often"):
        kept = [s for s in soft if s.template == template]
        print(f"  {template:34}{rate(kept):8,.0f}")
    print(f"soft scores, 100 events that fit    {rate(crowded(soft)):8,.0f} a CPU-s")
    print(f"answers read and scored             {read_rate(soft):8,.0f} a CPU-s")
    print("the constant answer (no, nobody, 0, never), and the best possible one:")
    for category in CATEGORIES:
        own = [s for s in samples if s.category == category]
        found = [answer_metrics(s, NOTHING[s.template]) for s in own]
        constant, best = fmean(f["accuracy"] for f in found), fmean(f["ceiling"] for f in found)
        print(f"  {category:10} {constant:.3f} {best:.3f}")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work gives, and the median of its CPU seconds."""
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        result = work()
        spent.append(time.process_time() - start)
    return result, median(spent)


def more(count: int) -> list[TravelerSample]:
    """Further vague questions about sets of 100 events."""
    options = Options(sizes=(100,), categories=("vague",))
    return [traveler_sample(s) for s in make_samples(count, 2, options).samples]


def crowded(samples: Sequence[TravelerSample]) -> list[TravelerSample]:
    """The same questions, each with 100 events that fit in all but time."""
    rng = Random(1)

    def chances(sample: TravelerSample) -> dict[str, tuple[float, ...]]:
        names = list(sample.chances)
        drawn = {name: list[float]() for name in names}
        for at in range(100):
            drawn[names[at % len(names)]].append(rng.random())
        return {name: tuple(found) for name, found in drawn.items()}

    return [s.model_copy(update={"chances": chances(s)}) for s in samples]


def rate(samples: Sequence[TravelerSample]) -> float:
    """Scores a CPU second, with ceiling, share of it and constant answer."""
    rng = Random(1)
    pairs = [(s, rng.choice(possible_answers(s.template, s.chances))) for s in samples]
    _, seconds = timed(lambda: [answer_metrics(sample, answer) for sample, answer in pairs])
    return len(pairs) / seconds


def read_rate(samples: Sequence[TravelerSample]) -> float:
    """Episodes scored a CPU second, their answers read from text."""
    episode = Episode(
        sample="", condition="base", repeat=1, model="m", status="finished",
        answer="I looked at all of them.\n\nMY ANSWER: 2",
    )  # fmt: skip
    _, seconds = timed(lambda: [score(sample, episode) for sample in samples])
    return len(samples) / seconds


if __name__ == "__main__":
    main()
