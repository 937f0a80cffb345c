"""The figures of a comparison as pandas frames, for notebooks."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.observations import QUANTITIES


def episodes(comparison: Comparison) -> pd.DataFrame:
    """One row per episode: where it stands, its outcome, its metrics, what it used. Unknown is
    missing (NA), never 0."""
    rows = [
        {
            "run": arm.run, "model": arm.model, "condition": arm.condition.name,
            "sample": o.sample, "repeat": o.repeat, "outcome": o.outcome,
            **{name: o.metrics.get(name) for name in comparison.study.metrics},
            **{name: o.used[name] for name in QUANTITIES},
            "missing": o.absent, "extra": o.extra, "stop_reason": o.stop_reason,
        }
        for arm in comparison.study.arms
        for o in arm.observations
    ]  # fmt: skip
    return pd.DataFrame(rows)


def means(comparison: Comparison) -> pd.DataFrame:
    """One row per condition and metric or quantity: value, low, high, method, samples."""
    rows = [
        {"condition": arm.label, "quantity": name, **asdict(estimates[i])}
        for name, estimates in comparison.means.items()
        for i, arm in enumerate(comparison.study.arms)
    ]
    return pd.DataFrame(rows)


def differences(comparison: Comparison) -> pd.DataFrame:
    """One row per planned difference, with interval, tests and what could be resolved."""
    rows = []
    for contrast in comparison.contrasts:
        row = asdict(contrast)
        estimate = row.pop("difference")
        row |= {"difference": estimate["value"], "low": estimate["low"], "high": estimate["high"]}
        rows.append(row)
    return pd.DataFrame(rows)
