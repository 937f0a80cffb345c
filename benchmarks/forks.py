"""Whether budget curves, attribution and Shapley values give back what was planted.

    python benchmarks/forks.py [culprit] [shapley] [curve]

The parts are also parts of `ablations.py`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np

import agent_env as ae
from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.statistics.gains import coalitions_of, tool_values
from agent_env.extensions.evidence.attribution import ForkCounts, attribution
from tests.analysis.simulated import Plant, study

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks.planted_steps import PlantedSteps

GAINS = {
    "base": 0.0, "web": 0.2, "cal": 0.05, "python": 0.05,
    "web+cal": 0.25, "web+python": 0.3, "cal+python": 0.05, "web+cal+python": 0.3,
}  # fmt: skip
VALUES = {"web": 0.225, "cal": 0.025, "python": 0.05, "all of them": 0.3}
"""By hand, from the six orders."""


def culprit() -> None:
    """Wrong episodes that slipped at a known step: is it the one that is named?"""
    rng = Random(1)
    for steps in (5, 10):
        for before, after in ((0.9, 0.1), (0.7, 0.1), (0.6, 0.15)):
            hits = sum(_is_found(steps, before, after, 200, rng) for _ in range(100))
            fall = f"{before} to {after} at one of {steps} steps"
            print(f"simulated, 200 forks: {fall}: found in {hits} of 100")
    with TemporaryDirectory() as folder:
        _real_culprits(Path(folder))


def _is_found(steps: int, before: float, after: float, forks: int, rng: Random) -> bool:
    planted, each = rng.randint(1, steps - 1), forks // steps
    chances = [before if kept < planted else after for kept in range(steps)]
    counts = [
        ForkCounts(kept, sum(rng.random() < chance for _ in range(each)), each)
        for kept, chance in enumerate(chances)
    ]
    found = attribution("e", False, ["step"] * steps, counts).turning_point
    return found is not None and found.step == planted


def _real_culprits(folder: Path) -> None:
    """Whole episodes, through the command's own code."""
    golds = _golds(folder, 6)
    hits = asked = 0
    began = time.perf_counter()
    for planted in (2, 4):
        model = PlantedSteps(golds, steps=6, culprit=planted, slip=0.6, rng=Random(planted))
        run = ae.run_sync(
            "time-puzzles", limit=6, model=model, conditions="cal", concurrency=1,
            out=folder / f"run-{planted}", progress=False,
        )  # fmt: skip
        wrong = [e for e in run.episodes(exact_match=0) if model.slipped(e.messages)]
        for episode in wrong[:3]:
            result = asyncio.run(episode.attribute(forks=120, concurrency=1, progress=False))
            step = result.turning_point
            hits, asked = hits + (step is not None and step.step == planted), asked + 1
    took = time.perf_counter() - began
    print(f"real episodes, 120 forks each: found in {hits} of {asked}, {took:.0f} s")


def _golds(folder: Path, limit: int) -> dict[str, tuple[str, ...]]:
    base = ae.run_sync(
        "time-puzzles", limit=limit, conditions="base", out=folder / "base", progress=False
    )
    return {sample.constraints[0]: sample.gold for sample in base.samples}  # type: ignore[attr-defined]


def shapley() -> None:
    """Simulated studies of the eight conditions against the values by hand."""
    for samples, studies in ((600, 100), (2500, 40)):
        errors: dict[str, list[float]] = {name: [] for name in VALUES}
        covered = 0
        for seed in range(studies):
            made = Comparison(
                study(Plant(samples, spread=0.1), GAINS, ("m",), seed), Options(resamples=1000)
            )
            (group,) = coalitions_of(made.study.arms)
            for row in tool_values(made, group):
                value, low, high = row.value.cell
                assert value is not None
                assert low is not None
                assert high is not None
                errors[row.tool].append(value - VALUES[row.tool])
                covered += low <= VALUES[row.tool] <= high
        every = np.abs(np.array([errors[name] for name in ("web", "cal", "python")]))
        bias = max(abs(float(np.mean(its))) for its in errors.values())
        print(
            f"{samples} samples, {studies} studies: mean within {bias:.4f} of the analytic values; "
            f"single values within 0.03 in {(every <= 0.03).mean():.1%}, at most {every.max():.3f} "
            f"off; 95 % intervals cover in {covered / (4 * studies):.1%}"
        )


def curve() -> None:
    """A model that knows the answer from its fourth call on, with eight calls in all."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        model = PlantedSteps(_golds(folder, 10), steps=8, right=1.0, settled_at=4)
        run = ae.run_sync(
            "time-puzzles", limit=10, model=model, conditions="cal", out=folder / "run",
            progress=False,
        )  # fmt: skip
        began = time.perf_counter()
        result = asyncio.run(run.curve(at=[1, 2, 3, 4, 6, 8], progress=False))
        (own,) = result.curves.curves
        points = [(p.budget, p.accuracy.value, p.forced) for p in own.points]
        right = [(1, 0.0, 10), (2, 0.0, 10), (3, 0.0, 10), (4, 1.0, 10), (6, 1.0, 10),
                 (8, 1.0, 0), (None, 1.0, 0)]  # fmt: skip
        area = own.area.value
        print(
            f"curve as planted: {points == right}; area {area:.4f} (planted {4.5 / 7:.4f}); "
            f"calls to 95 %: {own.enough} (planted 4); 50 forks in "
            f"{time.perf_counter() - began:.1f} s"
        )


PARTS: dict[str, Callable[[], None]] = {"culprit": culprit, "shapley": shapley, "curve": curve}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"== {part}")
        PARTS[part]()
