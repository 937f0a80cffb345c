"""Whether sequential tests keep what they promise, and how soon they decide.

    python benchmarks/sequential.py [REPLICATES]

Prints false alarms when one looks after every sample, decisions on planted differences beside what
a test of a fixed number of samples and the best bet could reach, coverage, the bias of estimates
after stopping, what weighted orders save, the same over a default set whose samples share events,
the cost of a look, and the same through whole runs.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory

import numpy as np

import agent_env as ae
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.expected import ends
from agent_env.analysis.sequential.rule import (
    FRACTIONS,
    LOG_SHARES,
    Look,
    SequentialTest,
    StoppingRule,
)
from agent_env.analysis.sequential.walk import (
    interleaved_order,
    look_order,
    mean_after_stopping,
    order_of,
)
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Sample

MOST = 600
Plant = Callable[[np.random.Generator, int, int], Floats]
"""Makes differences, replicates by looks."""


def pairs(discordant: float, difference: float) -> Plant:
    """Right or wrong under both conditions; this share of samples differs."""
    gain, loss = (discordant + difference) / 2, (discordant - difference) / 2
    chances = [gain, 1 - discordant, loss]
    return lambda rng, runs, n: rng.choice([1.0, 0.0, -1.0], size=(runs, n), p=chances)


def graded(difference: float) -> Plant:
    """Scores in [0, 1] with many ties at 0 and 1, such as F1; the chance of a full answer rises."""

    def draw(rng: np.random.Generator, runs: int, n: int) -> Floats:
        partial = rng.beta(0.7, 0.7, (2, runs, n))
        whole = rng.random((2, runs, n))
        is_whole = np.stack([whole[0] < 0.3, whole[1] < 0.3 + 2 * difference])
        before, after = np.where(is_whole, 1.0, partial)
        differences: Floats = after - before
        return differences

    return draw


def skewed(rng: np.random.Generator, runs: int, n: int) -> Floats:
    """Rare large gains against frequent small losses; the mean is 0."""
    differences: Floats = np.where(rng.random((runs, n)) < 0.1, 0.9, -0.1)
    return differences


def clustered(effect: float) -> Plant:
    """Means of clusters of 1 to 6 samples, whose gains and losses go together."""

    def draw(rng: np.random.Generator, runs: int, n: int) -> Floats:
        sizes = rng.integers(1, 7, (runs, n))
        lean = rng.choice([-0.3, 0.0, 0.3], size=(runs, n))
        gains = rng.binomial(sizes, 0.15 + effect / 2 + lean / 2.5 * 0.9)
        losses = rng.binomial(sizes - gains, 0.15)
        differences: Floats = (gains - losses) / sizes
        return differences

    return draw


NULLS: dict[str, Plant] = {
    "0/1 scores, 50 % of pairs differ": pairs(0.5, 0.0),
    "0/1 scores, 30 % differ": pairs(0.3, 0.0),
    "0/1 scores, 8 % differ (92 % ties)": pairs(0.08, 0.0),
    "graded scores such as F1": graded(0.0),
    "rare large gains, frequent small losses": skewed,
}


def log_capital(values: Floats, mean: float) -> Floats:
    """Replicates by looks, of the gambler on a higher mean; as `Capital`, for all runs at once."""
    runs, n = values.shape
    total, capital = np.zeros((runs, len(FRACTIONS))), np.empty((runs, n))
    excess = (values + 1) / (mean + 1) - 1
    for t in range(n):
        total += np.log1p(excess[:, t, None] * FRACTIONS)
        top = total.max(axis=1)
        capital[:, t] = top + np.log(np.exp(total - top[:, None] + LOG_SHARES).sum(axis=1) / 2)
    return capital


def evidence(values: Floats, mean: float) -> Floats:
    """Against the mean, after each look."""
    return np.maximum(log_capital(values, mean), log_capital(-values, -mean))


def stops(values: Floats, alpha: float = 0.05) -> np.ndarray:
    """The look at which each replicate is decided as a difference; 0 where none."""
    crossed = evidence(values, 0.0) >= -np.log(alpha)
    return np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, 0)


def share(part: np.ndarray) -> str:
    """In percent, with twice its standard error."""
    p = float(np.mean(part))
    return f"{100 * p:5.1f} ± {200 * np.sqrt(p * (1 - p) / len(part)):.1f} %"


def check_against_the_package(rng: np.random.Generator) -> None:
    values = np.vstack([pairs(0.3, 0.2)(rng, 10, 80), graded(0.1)(rng, 10, 80)])
    for row, stop in zip(values, stops(values), strict=True):
        test = SequentialTest(StoppingRule())
        for value in row:
            if not test.is_decided(0):
                test.look(0, Look(float(value)))
        assert (test.verdict(0).stop if test.is_decided(0) else 0) == stop


def false_alarms(rng: np.random.Generator, runs: int) -> None:
    print(f"\nFalse alarms, looked at after each of {MOST} (at most 5 %)")
    for name, plant in NULLS.items():
        print(f"  {name:55} {share(stops(plant(rng, runs, MOST)) > 0)}")
    together = rng.choice([1.0, 0.0, -1.0], size=(3, runs, MOST), p=[0.15, 0.7, 0.15])
    base = rng.choice([1.0, 0.0, -1.0], size=(runs, MOST), p=[0.1, 0.8, 0.1])
    family = [stops(np.clip(own + base, -1, 1), 0.05 / 3) > 0 for own in together]
    print(f"  {'any of three contrasts with one base, Holm':55} {share(np.any(family, axis=0))}")
    values = pairs(0.2, 0.1)(rng, runs, MOST)
    inside = np.minimum(log_capital(-values, -0.1), log_capital(values, -0.1)) >= np.log(20)
    name = "true difference on the margin of 0.10: 'none larger'"
    print(f"  {name:55} {share(inside.any(axis=1))}")
    for size in (1, 3):
        blocks = rng.choice([1.0, 0.0, -1.0], size=(runs, MOST // size), p=[0.15, 0.7, 0.15])
        noise = rng.random((runs, MOST // size, size)) < 0.2
        means = np.where(noise, 0.0, blocks[..., None]).mean(axis=2)
        name = f"clusters of {size}, of one mind, {MOST // size} of them"
        print(f"  {name:55} {share(stops(means) > 0)}")


def power(rng: np.random.Generator, runs: int) -> None:
    print("\nDecided within the limit (80 % wanted), by the share of pairs that differ")
    print(f"  {'':28}{'':>9} sequential   median   best bet   fixed number of samples")
    for difference, limit in ((0.2, 60), (0.1, 250), (0.05, 600)):
        for discordant in sorted({difference, 0.15, 0.2, 0.22, 0.25, 0.3, 0.4, 0.5}):
            if discordant < difference:
                continue
            values = pairs(discordant, difference)(rng, runs, limit)
            stop = stops(values)
            median = np.median(np.where(stop > 0, stop, limit + 1))
            bet = difference / discordant * 0.999
            wealth = np.log1p(bet * values).cumsum(axis=1).max(axis=1) >= np.log(40)
            z = difference / np.sqrt((discordant - difference**2) / limit)
            fixed = NormalDist().cdf(z - NormalDist().inv_cdf(0.975))
            text = f"{difference:.2f} within {limit}"
            print(
                f"  {text:28}{discordant:9.2f} {100 * np.mean(stop > 0):8.0f} %"
                f" {f'{median:.0f}' if median <= limit else 'more':>8}"
                f" {100 * np.mean(wealth):8.0f} % {100 * fixed:12.0f} %"
            )


def coverage(rng: np.random.Generator, runs: int) -> None:
    print(f"\nIntervals: at every look up to {MOST} at once, and where the test stopped (95-99 %)")
    for difference, discordant in ((0.0, 0.3), (0.05, 0.2), (0.1, 0.2), (0.2, 0.25), (0.4, 0.45)):
        values = pairs(discordant, difference)(rng, runs, MOST)
        refuted = evidence(values, difference) >= np.log(20)
        stop = np.where((at := stops(values)) > 0, at, MOST) - 1
        there = refuted[np.arange(runs), stop]
        name = f"difference {difference:.2f}, {100 * discordant:.0f} % differ"
        print(f"  {name:40} {share(~refuted.any(axis=1))}   at the stop {share(~there)}")


def bias(rng: np.random.Generator, runs: int) -> None:
    print("\nBias of the estimate after stopping, in points (below 1 wanted)")
    for difference, discordant, most in (
        (0.0, 0.3, 120), (0.05, 0.2, 250), (0.1, 0.2, 250), (0.2, 0.25, 250), (0.2, 0.5, 250),
        (0.4, 0.45, 60),
    ):  # fmt: skip
        values = pairs(discordant, difference)(rng, runs, most)
        stop = np.where((at := stops(values)) > 0, at, most)
        plain = np.array([row[:n].mean() for row, n in zip(values, stop, strict=True)])
        corrected = np.array(
            [
                mean_after_stopping([Look(float(v)) for v in row[:n]], None, np.log(20), 100)
                for row, n in zip(values, stop, strict=True)
            ]
        )
        figures = [
            f"{100 * (own.mean() - difference):+5.1f} ± {200 * own.std() / np.sqrt(runs):.1f}"
            f" (sd {100 * own.std():4.1f})"
            for own in (corrected, plain)
        ]
        name = f"difference {difference:.2f}, {100 * discordant:.0f} % differ, {most} at most"
        print(f"  {name:45} corrected {figures[0]}   plain {figures[1]}")


def orders(rng: np.random.Generator, runs: int) -> None:
    """600 questions of a spread of difficulty (logits), asked with and without a gain; three other
    models of like ability answered them under both conditions before."""
    print("\nSamples looked at until a difference is decided, median (mean) of 600")
    print(f"  {'':38}{'any order':>14}{'difficulty-from':>20}")
    for spread, gain in ((1.0, 0.5), (1.0, 1.0), (3.0, 1.2), (3.0, 2.4), (6.0, 2.1)):
        stop, truths = np.empty((2, runs)), []
        for run in range(runs):
            hardness = rng.normal(0, spread, MOST)

            def right(ability: Floats) -> Floats:
                answers: Floats = rng.random(ability.shape) < 1 / (1 + np.exp(-ability))
                return answers * 1.0

            ability = np.repeat([[0.0], [gain]], 3, axis=0) + rng.normal(0, 0.5, 6)[:, None]
            rates = (right(ability - hardness).sum(axis=0) + 0.5) / 7
            values = right(gain - hardness) - right(-hardness)
            truths.append(values.mean())
            names = [f"{run}-{n}" for n in range(MOST)]
            samples = [Sample(id=name, task="t", gold=()) for name in names]
            for place, given in enumerate(({}, dict(zip(names, rates, strict=True)))):
                settings = StoppingSettings(contrasts=("web:base",), pass_rates=given, seed=run)
                order = order_of(samples, names, settings)
                test, before = SequentialTest(StoppingRule()), 0.0
                for n, (row,) in enumerate(order.looks):
                    value = float(values[row])
                    draw = order.draws[n] if order.draws else None
                    test.look(0, draw.look(before, value) if draw else Look(value))
                    before += value
                    if test.is_decided(0):
                        break
                stop[place, run] = len(test.evidence[0].looks)
        figures = [f"{np.median(own):.0f} ({own.mean():.0f})" for own in stop]
        name = f"spread {spread:g}, difference {np.mean(truths):.2f}"
        print(f"  {name:38}{figures[0]:>14}{figures[1]:>20}")


def default_set(rng: np.random.Generator, runs: int) -> None:
    """600 date puzzles, which share events, in the order that a run asks them and in that of whole
    events; the samples of an event differ independently, or half or all of them together."""
    samples = ae.task("time-puzzles", limit=MOST, seed=1).samples()
    names, events = [s.id for s in samples], [s.event or s.id for s in samples]
    orders = interleaved_order(names, events, 1), look_order(events, 1)
    event_of = np.unique(events, return_inverse=True)[1]

    def draw(discordant: float, difference: float, together: float) -> Floats:
        own = pairs(discordant, difference)(rng, runs, MOST)
        shared = pairs(discordant, difference)(rng, runs, MOST)[:, event_of]
        values: Floats = np.where(rng.random((runs, MOST)) < together, shared, own)
        return values

    print(f"\nA default set: {MOST} puzzles of {len(set(events))} events")
    print(f"  {'':40}{'one of each first':>26}{'whole events':>26}")
    for difference, limit in ((0.0, MOST), (0.2, 60), (0.1, 250), (0.1, MOST)):
        for discordant in (0.2, 0.3, 0.5):
            for together in (0.0, 0.5, 1.0):
                values = draw(discordant, difference, together)
                figures = []
                for order in orders:
                    end = np.array(ends(values, order, 0.05))
                    within = 100 * np.mean(end <= limit)
                    figures.append(f"{within:.1f} %, median {np.median(end):.0f}")
                name = f"{difference:.2f} within {limit}, {discordant:.1f} differ"
                name = f"{name}, {together:.1f} alike"
                print(f"  {name:40}{figures[0]:>26}{figures[1]:>26}")


def four_seeds() -> None:
    """Default sets and the scripted model that trusts the first snippet."""
    print("\nreference-static, web against base, at most 600 samples")
    with TemporaryDirectory() as folder:
        for seed in (1, 2, 3, 4):
            made = ae.run_sync(
                "time-puzzles", model="reference-static", conditions=["base", "web"], max=MOST,
                until=["web-base"], seed=seed, progress=False, out=Path(folder) / str(seed),
            )  # fmt: skip
            (row,) = ae.compare(made, resamples=1000).table("sequential").as_json()["rows"]  # type: ignore[misc]
            print(f"  seed {seed}: {row['decision']} after {row['looked']} samples")


def cost() -> None:
    rule = StoppingRule(margin=0.05)
    test = SequentialTest(rule, (1.0, 1.0, 2.0))
    values = np.random.default_rng(1).choice([1.0, 0.0, -1.0], size=300, p=[0.2, 0.6, 0.2])
    before = time.process_time()
    for value in values:
        for contrast in range(3):
            if not test.is_decided(contrast):
                test.look(contrast, Look(float(value)))
    each_ms = (time.process_time() - before) / len(values) * 1000
    print(f"\nThree contrasts with a margin: {each_ms:.2f} ms CPU a sample (below 1 wanted)")


def planted_model(run: int, gain: float, loss: float) -> Callable[..., str]:
    """Right on 42 % of the questions without tools; with them on `gain` more and `loss` fewer."""

    def model(messages: list[ae.Message], tools: list[object]) -> str:
        drawn = random.Random(f"{run}/{messages[-1].content}").random()
        is_right = loss <= drawn < 0.42 + gain if tools else drawn < 0.42
        return "MY ANSWER: yes" if is_right else "MY ANSWER: no"

    return model


def whole_runs(runs: int) -> None:
    """Through `agent-env run --until`, with a model that is right by planted chances."""
    print(f"\n{runs} whole runs of at most 250 questions each, 8 at once")
    with TemporaryDirectory() as folder:
        questions = Path(folder) / "questions.jsonl"
        lines = ({"id": f"q{n}", "question": f"Number {n}?", "answer": "yes"} for n in range(250))
        questions.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for gain, loss in ((0.22, 0.02), (0.1, 0.1)):
            rows = []
            for run in range(runs):
                made = ae.run_sync(
                    "qa", dataset=questions, model=planted_model(run, gain, loss),
                    conditions=["base", "cal"], until=["cal-base"], seed=run, progress=False,
                    out=Path(folder) / f"{gain}-{run}", fsync="none",
                )  # fmt: skip
                table = ae.compare(made, resamples=1000).table("sequential").as_json()
                rows += table["rows"]  # type: ignore[operator]
            decided = [row for row in rows if row["decision"] == "difference"]
            looked = np.median([row["looked"] for row in rows])
            estimate = np.mean([row["estimate"]["value"] for row in rows])
            print(
                f"  planted {gain - loss:+.2f}: decided {len(decided)} of {runs}, looked at "
                f"{looked:.0f} samples (median), mean estimate {estimate:+.3f}"
            )


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    rng = np.random.default_rng(1)
    check_against_the_package(rng)
    false_alarms(rng, runs)
    power(rng, runs)
    coverage(rng, runs)
    bias(rng, min(runs, 2000))
    orders(rng, min(runs // 20, 100))
    default_set(rng, min(runs, 1000))
    four_seeds()
    cost()
    whole_runs(min(runs // 100, 10))


if __name__ == "__main__":
    main()
