"""Whether what is done to a world on purpose is measured: python benchmarks/ablations.py [PART …]

web    Renders a shifted world, whole and only the pages that a sample needs; asks 60 puzzles with
       each scripted policy in the plain and the shifted web and tells the samples apart; simulates
       models that read, remember or guess with planted shares and says how often the intervals of
       the split hold them.

faults and attacks stand in faults.py.
"""

from __future__ import annotations

import asyncio
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import faults
import numpy as np

import agent_env as ae
from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.provenance import TraceProvenance
from agent_env.analysis.study import Arm, Study, observe
from agent_env.families.time_puzzles.family import FAMILY, PuzzleOptions
from agent_env.families.time_puzzles.shift import shifted_world
from agent_env.features.evidence.statistics import ablation
from agent_env.features.facts.site.render import render_all
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.records.schema import Episode, Sample, Score
from agent_env.tasks.conditions import parse_condition
from agent_env.tasks.task import ORIGINAL, AnalysisHooks

PUZZLES = 60
POLICIES = ("reference", "rememberer", "guesser")


def web() -> None:
    rendering()
    told_apart()
    coverage()


def rendering() -> None:
    """Seconds of CPU for a whole world and for what one sample needs of its shifted one."""
    tables, began = shipped_tables(), time.process_time()
    texts = {sheet.url: sheet.text for sheet in render_all(tables)}
    print(f"whole world: {len(texts)} pages in {time.process_time() - began:.2f} s")
    puzzles = FAMILY.make_samples(PUZZLES, 1, PuzzleOptions(processes=1)).samples
    began, pages = time.process_time(), 0
    for puzzle in puzzles:
        pages += len(shifted_world(puzzle, tables, Random(1), texts.get).pages)
    each = (time.process_time() - began) / PUZZLES
    print(f"per sample: gold, checks and {pages / PUZZLES:.1f} pages in {1000 * each:.0f} ms")


def told_apart() -> None:
    """Of the samples that each policy had right in the plain web: what the split calls them."""
    with TemporaryDirectory() as folder:
        runs = [
            asyncio.run(
                ae.run(
                    "time-puzzles", model=policy, conditions=["web"], limit=PUZZLES,
                    web_ablations=["shifted"], out=Path(folder) / policy, progress=False,
                )
            )
            for policy in POLICIES
        ]  # fmt: skip
        table = ae.compare(*runs).table("ablation")
    for row in table.rows:
        cells = (f"{c.name} {v[0]:.3f}" for c, v in zip(table.columns[1:6], row[1:6], strict=True))
        print(f"{row[0]}: {', '.join(cells)}")


CONDITIONS = {
    condition.name: condition
    for condition in (parse_condition("web"), parse_condition("web~shifted"))
}
SHARES = {"reads": 0.45, "remembers": 0.25, "guesses": 0.3}


def coverage(simulations: int = 300, samples: int = 200) -> None:
    """How often the 95 % intervals of evidence, memory and luck hold what was planted."""
    rng = np.random.default_rng(26)
    chances = 1 / rng.integers(10, 40, samples)
    among = SHARES["guesses"] * chances
    planted = {
        "evidence": SHARES["reads"] + (among * chances).mean(),
        "memory": SHARES["remembers"] + (among * chances).mean(),
        "luck": (among * (1 - 2 * chances)).mean(),
    }
    held = dict.fromkeys(planted, 0)
    for _ in range(simulations):
        (row,) = ablation(_simulated(chances, rng)).rows
        for name, at in (("evidence", 2), ("memory", 3), ("luck", 4)):
            _, low, high = row[at]
            held[name] += low <= planted[name] <= high
    shares = (f"{name} {100 * count / simulations:.1f} %" for name, count in held.items())
    print(
        f"planted shares in their 95 % intervals ({simulations} × {samples}): {', '.join(shares)}"
    )


def _simulated(chances: np.ndarray, rng: np.random.Generator) -> Comparison:
    """One model that reads, remembers or guesses, drawn for each sample."""
    samples = tuple(Sample(id=f"s{n}", task="t", gold=()) for n in range(len(chances)))
    by_name = dict(zip((sample.id for sample in samples), chances, strict=True))
    observed: dict[str, list] = {"web": [], "web~shifted": []}
    for sample, chance in zip(samples, chances, strict=True):
        kind = rng.choice(list(SHARES), p=list(SHARES.values()))
        plain = kind != "guesses" or rng.random() < chance
        draw = rng.random()
        shifted = kind == "reads" or (kind == "guesses" and draw < chance)
        original = kind == "remembers" or (kind == "guesses" and chance <= draw < 2 * chance)
        for name, right in (("web", plain), ("web~shifted", shifted)):
            metrics = {"exact_match": float(right)}
            if name != "web":
                metrics |= {ORIGINAL: float(original)}
            about = {"sample": sample.id, "condition": name, "repeat": 1}
            episode = Episode(**about, model="m", status="finished")
            score = Score(**about, outcome="read", answer=(), metrics=metrics)
            record = TraceProvenance(
                sample, episode, score, CONDITIONS[name], "exact_match", None
            ).record()
            observed[name].append(replace(observe(episode, score), provenance=record))
    arms = tuple(
        Arm(name, "run", "m", CONDITIONS[name], tuple(own), len(samples))
        for name, own in observed.items()
    )
    hooks = AnalysisHooks(chance=lambda sample: float(by_name[sample.id]))
    study = Study("t", ("exact_match",), arms, samples, (), hooks=hooks)
    return Comparison(study, Options())


PARTS = {"web": web, **faults.PARTS}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
