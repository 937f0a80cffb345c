"""Whether sequential tests keep what they promise, and how soon they decide.

    python benchmarks/sequential.py [REPLICATES]
    python benchmarks/sequential.py record RUNS...      # makes benchmarks/data/matrices.json

Prints false alarms when one looks after every sample, decisions on planted differences beside what
a test of a fixed number of samples and the best bets could reach, coverage, the bias of estimates
after stopping, what earlier results of other models save, alone and as an order, recorded runs
drawn again beside McNemar's exact test, the same over a default set whose samples share events, the
cost of a look, and the same through whole runs.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from statistics import NormalDist
from tempfile import TemporaryDirectory

import numpy as np

import agent_env as ae
from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import PlannedContrast
from agent_env.analysis.resampling import Floats
from agent_env.analysis.sequential.betting import REACHED, Capital, Horizon, Look, plain
from agent_env.analysis.sequential.expected import ends
from agent_env.analysis.sequential.rule import SequentialTest, StoppingRule
from agent_env.analysis.sequential.walk import (
    RIDGE,
    SHRUNK,
    UNEVEN,
    Walk,
    interleaved_order,
    look_order,
    mean_after_stopping,
    set_order,
)
from agent_env.runs.study import read_study

MOST = 600
WEB_BASE = PlannedContrast("web − base", "web", "base", (("web", 1.0), ("base", -1.0)))
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


def refuted(values: Floats, mean: float, horizon: Horizon, alpha: float = 0.05) -> np.ndarray:
    """Replicates by looks: whether either gambler has reached the goal against the mean."""
    capital = Capital(np.array(mean), 1 / alpha, horizon, (len(values),))
    reached = np.zeros(values.shape, bool)
    for look, column in enumerate(values.T):
        capital.add(column)
        reached[:, look] = capital.sides.sum(axis=0) >= REACHED
    return np.logical_or.accumulate(reached, axis=1)


def stops(values: Floats, effect: float | None = None, alpha: float = 0.05) -> np.ndarray:
    """The look at which each replicate is decided as a difference; 0 where none."""
    crossed = refuted(values, 0.0, plain(values.shape[1], effect), alpha)
    return np.where(crossed[:, -1], crossed.argmax(axis=1) + 1, 0)


def best_bets(discordant: float, difference: float, looks: int, alpha: float = 0.05) -> float:
    """The greatest chance of any bets to decide by then, by dynamic programming over the capital of
    one gambler who knows the share of samples that differ, and by how much."""
    gain, loss = (discordant + difference) / 2, (discordant - difference) / 2
    places = np.linspace(np.log(1e-6), 0, 1200)
    capital = np.exp(places)
    value = np.where(capital >= 1, 1.0, 0.0)

    def later(after: Floats) -> Floats:
        within: Floats = np.interp(np.log(np.maximum(after, 1e-7)), places, value)
        return np.where(after <= 1e-6, 0.0, within)

    full = np.minimum(1 / capital - 1, 1.0)
    for _ in range(looks):
        bets = [np.minimum(fraction, full) for fraction in np.linspace(0, 1, 61)]
        after = [
            (1 - discordant) * value
            + gain * later(capital * (1 + bet))
            + loss * later(capital * (1 - bet))
            for bet in bets
        ]
        value = np.maximum.reduce(after)
    return float(np.interp(np.log(alpha / 2), places, value))


def share(part: np.ndarray) -> str:
    """In percent, with twice its standard error."""
    p = float(np.mean(part))
    return f"{100 * p:5.1f} ± {200 * np.sqrt(p * (1 - p) / len(part)):.1f} %"


def check_against_the_package(rng: np.random.Generator) -> None:
    values = np.vstack([pairs(0.3, 0.2)(rng, 10, 80), graded(0.1)(rng, 10, 80)])
    for row, stop in zip(values, stops(values), strict=True):
        test = SequentialTest(StoppingRule(), [plain(80)])
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
    family = [stops(np.clip(own + base, -1, 1), alpha=0.05 / 3) > 0 for own in together]
    print(f"  {'any of three contrasts with one base, Holm':55} {share(np.any(family, axis=0))}")
    values = pairs(0.2, 0.1)(rng, runs, MOST)
    inside = refuted(values, 0.1, plain(MOST)) & refuted(values, -0.1, plain(MOST))
    name = "true difference on the margin of 0.10: 'none larger'"
    print(f"  {name:55} {share(inside[:, -1])}  (two-sided at both margins)")
    for size in (1, 3):
        blocks = rng.choice([1.0, 0.0, -1.0], size=(runs, MOST // size), p=[0.15, 0.7, 0.15])
        noise = rng.random((runs, MOST // size, size)) < 0.2
        means = np.where(noise, 0.0, blocks[..., None]).mean(axis=2)
        name = f"clusters of {size}, of one mind, {MOST // size} of them"
        print(f"  {name:55} {share(stops(means) > 0)}")


def power(rng: np.random.Generator, runs: int) -> None:
    print("\nDecided within the limit, by the share of pairs that differ and by what is named")
    print(
        f"  {'':24}{'--effect, --max':>18}{'--effect':>16}{'neither':>16}{'best bets':>12}"
        f"{'fixed number':>14}"
    )
    for difference, limit in ((0.2, 60), (0.1, 200), (0.1, 250), (0.05, 600)):
        for discordant in sorted({0.15, 0.2, 0.22, 0.25, 0.3, 0.4, 0.5}):
            if discordant < difference:
                continue
            values = pairs(discordant, difference)(rng, runs, MOST)
            cells = []
            for most, effect in ((limit, difference), (MOST, difference), (MOST, None)):
                stop = stops(values[:, :most], effect)
                median = np.median(np.where(stop > 0, stop, most + 1))
                within = 100 * np.mean((stop > 0) & (stop <= limit))
                cells.append(
                    f"{within:.0f} % ({median:.0f})" if median <= most else f"{within:.0f} %"
                )
            best = 100 * best_bets(discordant, difference, limit)
            z = difference / np.sqrt((discordant - difference**2) / limit)
            fixed = 100 * NormalDist().cdf(z - NormalDist().inv_cdf(0.975))
            text = f"{difference:.2f} within {limit}, {discordant:.2f}"
            own = f"{cells[0]:>18}{cells[1]:>16}{cells[2]:>16}"
            print(f"  {text:24}{own}{best:>10.1f} %{fixed:>12.0f} %")


def coverage(rng: np.random.Generator, runs: int) -> None:
    print(f"\nIntervals: at every look up to {MOST} at once, and where the test stopped (95-99 %)")
    for difference, discordant in ((0.0, 0.3), (0.05, 0.2), (0.1, 0.2), (0.2, 0.25), (0.4, 0.45)):
        values = pairs(discordant, difference)(rng, runs, MOST)
        gone = refuted(values, difference, plain(MOST))
        stop = np.where((at := stops(values)) > 0, at, MOST) - 1
        there = gone[np.arange(runs), stop]
        name = f"difference {difference:.2f}, {100 * discordant:.0f} % differ"
        print(f"  {name:40} {share(~gone[:, -1])}   at the stop {share(~there)}")


def bias(rng: np.random.Generator, runs: int) -> None:
    print("\nBias of the estimate after stopping, in points (below 1 wanted)")
    for difference, discordant, most in (
        (0.0, 0.3, 120), (0.05, 0.2, 250), (0.1, 0.2, 250), (0.2, 0.25, 250), (0.2, 0.5, 250),
        (0.4, 0.45, 60),
    ):  # fmt: skip
        values = pairs(discordant, difference)(rng, runs, most)
        stop = np.where((at := stops(values)) > 0, at, most)
        uncorrected = np.array([row[:n].mean() for row, n in zip(values, stop, strict=True)])
        corrected = np.array(
            [
                mean_after_stopping([Look(float(v)) for v in row[:n]], None, 20, plain(most), 100)
                for row, n in zip(values, stop, strict=True)
            ]
        )
        figures = [
            f"{100 * (own.mean() - difference):+5.1f} ± {200 * own.std() / np.sqrt(runs):.1f}"
            f" (sd {100 * own.std():4.1f})"
            for own in (corrected, uncorrected)
        ]
        name = f"difference {difference:.2f}, {100 * discordant:.0f} % differ, {most} at most"
        print(f"  {name:45} corrected {figures[0]}   plain {figures[1]}")


def prior_results(rng: np.random.Generator, runs: int) -> None:
    """Differences that another model had on the same samples, of which a share is the same and the
    rest independent, which is their correlation; 600 samples, so that the mean of all counts."""
    print("\nWith the results of another model on the same 600 samples (--prior-results)")
    for difference, most in ((0.2, 60), (0.1, 200), (0.0, 200)):
        for alike in (None, 0.0, 0.3, 0.5, 0.7):
            ends, gain = [], (0.25 + difference) / 2
            whole = np.repeat(
                [1.0, -1.0, 0.0], np.round([gain * MOST, (0.25 - gain) * MOST, 450]).astype(int)
            )
            for seed in range(runs):
                own, other = rng.permutation(whole), rng.permutation(whole)
                seen = np.where(rng.random(MOST) < (alike or 0), own, other)
                names = [f"q{n}" for n in range(MOST)]
                order = (look_order if alike is None else set_order)(names, seed, most)
                known = {"web": list(np.maximum(seen, 0)), "base": list(np.maximum(-seen, 0))}
                walk = Walk((WEB_BASE,), order, StoppingRule(effect=difference or 0.1), known)
                for row in order.rows:
                    walk.note("web", row, float(own[row] > 0))
                    walk.note("base", row, float(own[row] < 0))
                walk.advance()
                (result,) = walk.results()
                ends.append(result.looked if result.decision == "difference" else most + 1)
            name = "without" if alike is None else f"correlation {alike:g}"
            within = share(np.array(ends) <= most)
            print(f"  {difference:.2f} within {most}, {name:16} {within}, {np.median(ends):.0f}")


class InBlocks(Capital):
    """Bets that stay the same within a block of one sample of each stratum. Only ends of blocks are
    looks: there, whatever the strata's means, the product of the wins is at most 1 on average, as
    the geometric mean of 1 + bet × (stratum's mean - mean) is at most the arithmetic one."""

    def _bets(self, wins: Floats, losses: Floats) -> Floats:
        if self._looks % STRATA == 0:
            self._fixed = super()._bets(wins, losses)
        fractions: Floats = np.minimum(self._fixed, 0.99 / np.maximum(losses, 1e-9))
        return fractions


STRATA, FLOOR = 4, 0.3
"""Of equal size, by what the other model found; the share of the draws that is uniform."""


def in_order(
    rng: np.random.Generator, own: Floats, other: Floats, limit: int, effect: float, order: str
) -> Floats:
    """When each replicate is decided; one more than the limit where not. `own` and `other`: the
    differences of both models, replicates by samples of a set. Predicted as by `Predictor`."""
    runs, size = own.shape
    step = STRATA if order == "stratified" else 1
    chances = np.ones_like(own)
    if order == "stratified":
        ranked = np.argsort(other + rng.random(own.shape) / 10, axis=1)
        strata = rng.permuted(ranked.reshape(runs, STRATA, -1), axis=2)
        rows = rng.permuted(strata.transpose(0, 2, 1), axis=2).reshape(runs, size)
    else:
        if order == "active":  # by the predicted standard deviation
            alike = np.maximum((own * other).mean(axis=1) / (own**2).mean(axis=1), 0)[:, None]
            share = (other != 0).mean()
            spread = np.sqrt(alike * (other != 0) + (1 - alike) * share)
            chances = FLOOR + (1 - FLOOR) * spread / spread.mean(axis=1, keepdims=True)
        rows = np.argsort(rng.exponential(size=own.shape) / chances, axis=1)
    x, z, chances = (np.take_along_axis(each, rows, 1) for each in (own, other, chances))
    z = (z - z.mean(axis=1, keepdims=True)) / z.std(axis=1, keepdims=True)
    rest = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1] / size
    most = rest / np.minimum.accumulate(chances[:, ::-1], axis=1)[:, ::-1]
    information = tuple(float(each) for each in 1 / (most**2).mean(axis=0)[:limit])
    kind = InBlocks if order == "stratified" else Capital
    capital = kind(np.array(0.0), 20.0, Horizon(information, effect, UNEVEN), (runs,))
    end = np.full(runs, limit + 1)
    for look in range(limit):
        if look % step == 0:
            seen, before = x[:, :look], z[:, :look]
            middle = seen.mean(axis=1, keepdims=True) if look else 0.0
            slope = (before * (seen - middle)).sum(axis=1) / ((before**2).sum(axis=1) + RIDGE)
            guess = np.clip(SHRUNK * slope[:, None] * z, -0.5, 0.5)
            known = (seen.sum(axis=1) + guess[:, look:].sum(axis=1)) / size
            least = most[:, look]
            low = known - least * (1 + guess.max(axis=1))
            high = known + least * (1 - guess.min(axis=1))
        weight = rest[:, look - look % step] / chances[:, look]
        capital.add(known + weight * (x[:, look] - guess[:, look]), low, high)
        if (look + 1) % step == 0:
            reached = capital.sides.sum(axis=0) >= REACHED
            end[reached] = np.minimum(end[reached], look + 1)
    return end


def orders(rng: np.random.Generator, runs: int) -> None:
    """Another model's differences, of which a share is the same, decide who comes when."""
    print(
        "\nOrders of a set with another model's results, 25 % differ: decided, median; false alarms"
    )
    for size, limit, effect in ((40, 40, 0.2), (100, 60, 0.2), (300, 200, 0.1), (500, 200, 0.1)):
        for alike in (0.3, 0.5):
            cells = []
            for order in ("at random", "stratified", "active"):
                figures = []
                for difference in (effect, 0.0):
                    gains = round((0.25 + difference) / 2 * size)
                    losses = round(0.25 * size) - gains if difference else gains
                    whole = np.repeat([1.0, -1.0, 0.0], [gains, losses, size - gains - losses])
                    own, other = (rng.permuted(np.tile(whole, (runs, 1)), axis=1) for _ in "ab")
                    seen = np.where(rng.random(own.shape) < alike, own, other)
                    figures.append(in_order(rng, own, seen, limit, effect, order))
                decided = f"{share(figures[0] <= limit)} ({np.median(figures[0]):.0f})"
                cells.append(f"{order} {decided}; {share(figures[1] <= limit)}")
            print(
                f"  {effect:.2f} within {limit} of {size}, {alike:g}: {' | '.join(cells)}",
                flush=True,
            )


RECORDED = Path(__file__).parent / "data" / "matrices.json"


def record(folders: Sequence[Path]) -> None:
    """Writes which samples of finished runs were right: a set for each folder of runs side by
    side, a line of 0 and 1 for each model and condition. A score of 1 is right."""
    sets = []
    for folder in folders:
        study = read_study([folder])
        comparison = Comparison(study)
        names = list(dict.fromkeys(comparison.cluster_names))
        lines = {
            f"{arm.model.partition('@')[0]} {arm.condition.name}": "".join(
                str(int(score == 1)) for score in comparison.column(arm, study.metrics[0])
            )
            for arm in study.arms
        }
        clusters = [names.index(name) for name in comparison.cluster_names]
        sets.append({"task": folder.name, "clusters": clusters, "right": lines})
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text("[\n" + ",\n".join(json.dumps(each) for each in sets) + "\n]\n")


def exact_p(gains: int, losses: int) -> float:
    """McNemar's exact test, two-sided."""
    pairs, fewer = gains + losses, min(gains, losses)
    return min(1.0, 2 * sum(comb(pairs, k) for k in range(fewer + 1)) / 2**pairs)


def recorded_orders(rng: np.random.Generator, runs: int) -> None:
    """Two policies that solve other parts of 100 puzzles: one knows what the other found."""
    print("\nOrders of the 100 recorded puzzles, 0.20 within 60: decided, median")
    (right,) = (e["right"] for e in json.loads(RECORDED.read_text()) if e["task"] == "time-puzzles")

    def differences(model: str, condition: str) -> Floats:
        after, before = (np.array(list(right[f"{model} {c}"]), float) for c in (condition, "base"))
        each: Floats = np.tile(after - before, (runs, 1))
        return each

    own = differences("reference-static", "web")
    for model, condition in (
        ("reference", "web-once"),
        ("giver-up", "web-once"),
        ("guesser", "web"),
    ):
        other = differences(model, condition)
        cells = []
        for order in ("at random", "stratified", "active"):
            end = in_order(rng, own, other, 60, 0.2, order)
            cells.append(
                f"{order} {share(end <= 60)} ({np.median(end):.0f}, mean {end.mean():.1f})"
            )
        correlation = np.corrcoef(own[0], other[0])[0, 1]
        print(f"  {model} {condition}, correlation {correlation:.2f}: {' | '.join(cells)}")


def recorded(rng: np.random.Generator, runs: int) -> None:
    """Pairs of lines of recorded runs; samples are drawn again from them, one of each cluster."""
    print("\nRecorded runs, drawn again (with replacement over clusters): the test, and McNemar's")
    print(f"  {'':64}{'until':>8}{'decided, median':>20}{'exact at that n':>18}{'under 0':>10}")
    for each in json.loads(RECORDED.read_text()):
        clusters, lines = np.array(each["clusters"]), list(each["right"].items())
        for number, (after, ones) in enumerate(lines):
            for before, others in lines[:number]:
                values = np.array([float(a) - float(b) for a, b in zip(ones, others, strict=True)])
                differing, difference = np.mean(values != 0), values.mean()
                if after.split()[0] != before.split()[0] or not 0.08 <= abs(difference) <= 0.5:
                    continue
                limit = 60 if abs(difference) >= 0.15 else 200
                order = np.argsort(rng.random((runs, len(values))), axis=1)
                firsts = [
                    row[np.unique(clusters[row], return_index=True)[1]] for row in order
                ]  # one of each cluster
                drawn = np.array([rng.choice(values[rows], limit) for rows in firsts])
                stop = stops(drawn)
                median = np.median(np.where(stop > 0, stop, limit + 1))
                exact = np.mean(
                    [exact_p(int((row > 0).sum()), int((row < 0).sum())) <= 0.05 for row in drawn]
                )
                alarms = stops(drawn * rng.choice([1.0, -1.0], drawn.shape)) > 0
                name = f"{each['task']}, {after} − {before.split()[1]}, {difference:+.2f}"
                name += f" of {differing:.2f}"
                cell = f"{100 * np.mean(stop > 0):.0f} %, {median:.0f}"
                print(f"  {name:64}{limit:>8}{cell:>20}{100 * exact:>16.0f} %{share(alarms):>16}")


def default_set(rng: np.random.Generator, runs: int) -> None:
    """600 date puzzles, which share events, in the order that a run asks them and in that of whole
    events; the samples of an event differ independently, or half or all of them together."""
    samples = ae.task("time-puzzles", limit=MOST, seed=1).samples()
    names, events = [s.id for s in samples], [s.event or s.id for s in samples]
    event_of = np.unique(events, return_inverse=True)[1]

    def draw(discordant: float, difference: float, together: float) -> Floats:
        own = pairs(discordant, difference)(rng, runs, MOST)
        shared = pairs(discordant, difference)(rng, runs, MOST)[:, event_of]
        values: Floats = np.where(rng.random((runs, MOST)) < together, shared, own)
        return values

    print(f"\nA default set: {MOST} puzzles of {len(set(events))} events")
    print(f"  {'':40}{'one of each first':>26}{'whole events':>26}")
    for difference, limit, most, effect in (
        (0.0, MOST, MOST, None), (0.0, 60, 60, 0.2), (0.0, 200, 200, 0.1), (0.2, 60, 60, 0.2),
        (0.2, 60, MOST, 0.2), (0.1, 200, 200, 0.1), (0.1, MOST, MOST, 0.1),
    ):  # fmt: skip
        orders = interleaved_order(names, events, 1, most), look_order(events, 1, most)
        for discordant in (0.25, 0.3, 0.5):
            for together in (0.0, 0.5, 1.0):
                values = draw(discordant, difference, together)
                figures = []
                for order in orders:
                    end = np.array(ends(values, order, 0.05, effect))
                    within = 100 * np.mean(end <= limit)
                    figures.append(f"{within:.1f} %, median {np.median(end):.0f}")
                name = f"{difference:.2f} within {limit} of {most}, {discordant:.2f} differ"
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
    test = SequentialTest(rule, [plain(300)], (1.0, 1.0, 2.0))
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
    prior_results(rng, min(runs // 5, 400))
    orders(rng, min(runs, 1000))
    recorded_orders(rng, min(runs, 1000))
    recorded(rng, min(runs, 1000))
    default_set(rng, min(runs, 1000))
    four_seeds()
    cost()
    whole_runs(min(runs // 100, 10))


if __name__ == "__main__":
    record([Path(each) for each in sys.argv[2:]]) if sys.argv[1:2] == ["record"] else main()
