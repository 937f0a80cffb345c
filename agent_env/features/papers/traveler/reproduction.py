"""The experiments of TRAVELER (Kenneweg et al. 2025, by slides about it), for `reproduce`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from agent_env.families.traveler.generator import SIZES
from agent_env.features.papers.paper import Evidence, Experiment, Reproduction
from agent_env.sdk.family import Shortcut
from agent_env.sdk.results import Arm, Comparison, Measurement

ACCURACY = "accuracy"


def table_4(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each configuration by number of events, and over both."""
    for name in experiment.setups:
        for arm, quantity, estimate in evidence.figures(name, experiment.quantities):
            yield Measurement(name, quantity, estimate, model=arm.model)


def table_5(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each model under the four configurations."""
    for name in experiment.setups:
        own = [quantity for quantity in experiment.quantities if quantity.name == name]
        for arm, _, estimate in evidence.figures(name, own):
            yield Measurement(arm.model, name, estimate)


def table_6(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each model, then of the shortcuts, by category and by template."""
    for comparison, arms in _models_then_shortcuts(evidence.each(experiment.setups[0])):
        for group in ("category", "template"):
            yield from _rows(comparison, arms, comparison.groups[group])


def lengths(experiment: Experiment, evidence: Evidence) -> Iterator[Measurement]:
    """Accuracy of each model, then of the shortcuts, by number of events."""
    for comparison, arms in _models_then_shortcuts(evidence.each(experiment.setups[0])):
        own = set(comparison.groups["category"].get(experiment.about["category"], ()))
        sizes = {
            size: [row for row in rows if row in own]
            for size, rows in comparison.groups["events"].items()
            if int(size) in SIZES
        }
        yield from _rows(comparison, arms, sizes)


def _models_then_shortcuts(
    comparisons: Sequence[Comparison],
) -> Iterator[tuple[Comparison, Sequence[Arm]]]:
    """Each with its arms; the shortcuts, which are the same for every model, once."""
    for comparison in comparisons:
        yield comparison, comparison.study.arms
    for comparison in comparisons[:1]:
        yield comparison, comparison.shortcut_arms


def _rows(
    comparison: Comparison, arms: Sequence[Arm], parts: Mapping[str, Sequence[int]]
) -> Iterator[Measurement]:
    """Accuracy over parts of the samples; one of right and wrong answers only is a share, with an
    interval even where all are right."""
    whole = comparison.columns(ACCURACY, arms)
    for name, rows in parts.items():
        part = np.full_like(whole, np.nan)
        part[list(rows)] = whole[list(rows)]
        for arm, column in zip(arms, part.T, strict=True):
            is_shortcut = arm.condition.name == Shortcut.CONDITION
            is_rate = bool(np.isin(column[~np.isnan(column)], (0.0, 1.0)).all())
            (mean,) = comparison.estimates(column[:, None], "rate" if is_rate else "mean")
            yield Measurement(arm.label if is_shortcut else arm.model, name, mean)


PAPER = Reproduction.beside(
    __file__,
    measures={"table_4": table_4, "table_5": table_5, "table_6": table_6, "lengths": lengths},
)
