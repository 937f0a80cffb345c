"""Studies whose truth is known, to check that intervals and tests hold.

Each event draws a difficulty, each sample one near it; an episode is right with the probability
that its sample and condition give. The planted effect is the mean difference of those chances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agent_env.analysis.study import QUANTITIES, Arm, Observation, Study
from agent_env.records.schema import Sample
from agent_env.tasks.conditions import parse_condition


@dataclass(frozen=True, slots=True)
class Plant:
    """What is planted."""

    samples: int = 100
    repeats: int = 1
    events: int | None = None
    """Events that the samples share; None: each sample stands alone."""
    base: float = 0.4
    """Mean chance of a right answer without the effect."""
    effect: float = 0.0
    """Added to every sample's chance; base ± effect must stay within 0.25 and 0.75."""
    spread: float = 0.2
    """How far the chances of events and samples lie from the mean, at most."""


def chances(plant, rng):
    """Each sample's chance without the effect, and its event's number."""
    count = plant.events or plant.samples
    own = np.arange(plant.samples, dtype=np.int64)
    events = own if plant.events is None else rng.integers(0, count, plant.samples)
    half = plant.spread / 2
    shift = rng.uniform(-half, half, count)[events] + rng.uniform(-half, half, plant.samples)
    _, numbers = np.unique(events, return_inverse=True)
    return plant.base + shift, numbers.astype(np.int64)


def scores(plant, rng):
    """Mean scores of each sample before and after, and the clusters."""
    chance, clusters = chances(plant, rng)
    before = rng.binomial(plant.repeats, chance) / plant.repeats
    after = rng.binomial(plant.repeats, chance + plant.effect) / plant.repeats
    return before, after, clusters


def gains(plant, contrasts, rng):
    """Of several conditions over one baseline: samples by contrasts; and the clusters."""
    chance, clusters = chances(plant, rng)
    before = rng.binomial(plant.repeats, chance) / plant.repeats
    size = (contrasts, plant.samples)
    after = rng.binomial(plant.repeats, chance + plant.effect, size) / plant.repeats
    return (after - before).T, clusters


def study(plant, conditions, models, seed):
    """A study of `models` under `conditions`, each condition with its own effect; f1 and jaccard
    are those of answers that are right or empty-handed by halves."""
    rng = np.random.default_rng(seed)
    chance, _ = chances(plant, rng)
    samples = tuple(Sample(id=f"s{i:05d}", task="simulated", gold=()) for i in range(len(chance)))
    arms = tuple(
        Arm(
            label=f"{model} {name}" if len(models) > 1 else name,
            run=model, model=model, model_label=model, condition=parse_condition(name),
            observations=tuple(_observations(samples, chance + effect, plant.repeats, rng)),
            asked=len(samples) * plant.repeats,
        )
        for model in models
        for name, effect in conditions.items()
    )  # fmt: skip
    return Study("simulated", ("exact_match", "f1", "jaccard"), arms, samples, ())


def _observations(samples, chance, repeats, rng):
    right = rng.random((len(samples), repeats)) < chance[:, None]
    partial = rng.choice([0.0, 0.5, 2 / 3, 0.8], (len(samples), repeats))
    tokens = rng.lognormal(7.0, 0.5, (len(samples), repeats))
    for i, sample in enumerate(samples):
        for r in range(repeats):
            exact, f1 = float(right[i, r]), 1.0 if right[i, r] else float(partial[i, r])
            metrics = {"exact_match": exact, "f1": f1, "jaccard": f1 / (2 - f1)}
            used = dict.fromkeys(QUANTITIES) | {
                "input_tokens": 3 * tokens[i, r], "output_tokens": float(tokens[i, r]),
                "steps": 2.0, "tool_calls": 1.0, "duration_s": tokens[i, r] / 100,
            }  # fmt: skip
            yield Observation(sample.id, r + 1, "read", metrics, used)


@dataclass(frozen=True, slots=True)
class Design:
    """How samples hang together in a simulated study."""

    samples: int
    cluster: int = 1
    """Samples of one cluster."""
    repeats: int = 1

    @property
    def clusters(self):
        return np.arange(self.samples) // self.cluster

    def chances(self, mean, runs, rng):
        """Of each sample by run: the same for all, or drawn by cluster (of repeats by sample) from
        a beta distribution whose intraclass correlation is 0.2."""
        if mean in (0.0, 1.0) or (self.cluster == 1 and self.repeats == 1):
            return np.full((self.samples, runs), mean)
        own = rng.beta(4 * mean, 4 * (1 - mean), (self.clusters[-1] + 1, runs))
        return own[self.clusters]

    def drawn(self, chance, rng):
        return rng.random((self.repeats, *chance.shape)) < chance


def rates(design, rate, runs, rng):
    """Mean scores, samples by runs, of which the mean rate is `rate`."""
    return design.drawn(design.chances(rate, runs, rng), rng).mean(axis=0)


def pairs(design, discordance, gains, runs, rng):
    """Scores before and after, samples by runs: of the episodes so many differ in their pair, and
    of these a share of `gains` are better; the mean difference is discordance · (2 gains − 1)."""
    differs = design.drawn(design.chances(discordance, runs, rng), rng)
    better, before = rng.random(differs.shape) < gains, rng.random(differs.shape) < 0.5
    first, second = np.where(differs, ~better, before), np.where(differs, better, before)
    return first.mean(axis=0), second.mean(axis=0)


def held(means, kind, truth, **options):
    """The share of columns whose interval holds the truth; and their mean width."""
    found = [means.estimate(k, kind, **options) for k in range(len(means.values))]
    inside = [e.low - 1e-9 <= truth <= e.high + 1e-9 for e in found if e.low is not None]
    return np.mean(inside), np.mean([e.high - e.low for e in found if e.low is not None])
