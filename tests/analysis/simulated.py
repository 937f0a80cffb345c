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
            run=model,
            model=model,
            model_label=model,
            condition=parse_condition(name),
            observations=tuple(_observations(samples, chance + effect, plant.repeats, model, rng)),
            asked=len(samples) * plant.repeats,
        )
        for model in models
        for name, effect in conditions.items()
    )
    return Study("simulated", ("exact_match", "f1", "jaccard"), arms, samples, ())


def _observations(samples, chance, repeats, model, rng):
    right = rng.random((len(samples), repeats)) < chance[:, None]
    partial = rng.choice([0.0, 0.5, 2 / 3, 0.8], (len(samples), repeats))
    tokens = rng.lognormal(7.0, 0.5, (len(samples), repeats))
    observations = []
    for i, sample in enumerate(samples):
        for r in range(repeats):
            exact, f1 = float(right[i, r]), 1.0 if right[i, r] else float(partial[i, r])
            metrics = {"exact_match": exact, "f1": f1, "jaccard": f1 / (2 - f1)}
            quantities = dict.fromkeys(QUANTITIES)
            quantities |= {"input_tokens": 3 * tokens[i, r], "output_tokens": float(tokens[i, r]),
                     "steps": 2.0, "tool_calls": 1.0, "duration_s": tokens[i, r] / 100}  # fmt: skip
            observations.append(
                Observation(sample.id, r + 1, "read", metrics, quantities, int(exact == 0), 0,
                            "answered", ("provider",), model)
            )  # fmt: skip
    return observations
