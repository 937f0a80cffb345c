"""How fast answers to TDBench are scored, and what oracles and constants score.

Usage: python benchmarks/tdbench_scoring.py [RESPONSES]
Prints CPU seconds of one core, the median of three runs.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean, median

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import GoldRow, TdbenchOptions, TdbenchSample
from agent_env.families.tdbench.score import measure

KINDS = ("relation", "current", "nth", "longest", "count", "duration", "hops")
MADE = 1000
"""Distinct questions; they are answered over and over until there are enough responses."""
WORDY = (
    "{name} is the answer to this question. According to what is known, {name} took office on "
    "{start}, succeeding the predecessor, and the term ended on {end}, so that both dates lie "
    "where the question wants them."
)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    options = TdbenchOptions.model_validate({"kinds": KINDS})
    made = [s for s in make(MADE, 7, options).samples if isinstance(s, TdbenchSample)]
    samples = [made[number % len(made)] for number in range(count)]
    sizes = dict(Counter(sample.cardinality for sample in samples))
    print(f"{len(samples)} responses to {len(made)} questions: {sizes}")
    for name, answer in (("list", listed), ("prose", prose)):
        texts = [answer(sample, sample.golds) for sample in samples]
        seconds = [timed(samples, texts) for _ in range(3)]
        length = fmean(map(len, texts))
        print(f"{name}: {median(seconds):.2f} CPU-s for {len(texts)} of {length:.0f} characters")
    told("oracle", samples, lambda s: listed(s, s.golds))
    several = [s for s in samples if len(s.golds) == len(s.gold) > 1]
    told("one row dropped, of several", several, lambda s: listed(s, s.golds[1:]))
    told("constant 'No answer'", samples, lambda s: "No answer")
    print(f"  its true share {share(samples, ()):.4f}")
    values = Counter(value for s in samples for value in (*s.gold, *s.others))
    for value, _ in values.most_common(3):
        told(f"constant '{value}'", samples, constant(value))
        print(f"  its true share {share(samples, (value,)):.4f}")


def timed(samples: Sequence[TdbenchSample], texts: Sequence[str]) -> float:
    """CPU seconds of scoring each text once."""
    began = time.process_time()
    for sample, text in zip(samples, texts, strict=True):
        measure(sample, text)
    return time.process_time() - began


def constant(value: str) -> Callable[[TdbenchSample], str]:
    """Answers the same to every question."""
    return lambda sample: value


def share(samples: Sequence[TdbenchSample], gold: tuple[str, ...]) -> float:
    """How many of the samples have exactly this gold."""
    return fmean(sample.gold == gold for sample in samples)


def told(
    name: str, samples: Sequence[TdbenchSample], answer: Callable[[TdbenchSample], str]
) -> None:
    """Print the means of the metrics."""
    found = [measure(sample, answer(sample))["metrics"] for sample in samples]
    means = []
    for metric in ("answer", "time", "answer_time", "f1"):
        values = [m[metric] for m in found if metric in m]  # type: ignore[index, operator]
        means.append(f"{metric} {fmean(values):.4f}" if values else f"{metric} -")
    print(f"{name}: {', '.join(means)} over {len(found)}")


def listed(sample: TdbenchSample, rows: Sequence[GoldRow]) -> str:
    """The rows as the prompt wants them."""
    if sample.answer_type == "number":
        return sample.gold[0]
    lines = [f"- {row.answer}, from {row.start} to {row.end or 'present'}" for row in rows]
    return "ANSWER:\n" + ("\n".join(lines) or "No answer")


def prose(sample: TdbenchSample, rows: Sequence[GoldRow]) -> str:
    """The rows in full sentences."""
    if sample.answer_type == "number" or not rows:
        return listed(sample, rows)
    return "\n".join(
        WORDY.format(name=row.answer, start=row.start, end=row.end or "present") for row in rows
    )


if __name__ == "__main__":
    main()
