"""The episodes of a comparison as a pandas frame; tables make frames of themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.observations import QUANTITIES
from agent_env.extras import need_extra

if TYPE_CHECKING:
    import pandas as pd


def episodes(comparison: Comparison) -> pd.DataFrame:
    """One row per episode: where it stands, its outcome, its metrics, what it used. Unknown is
    missing (NA), never 0."""
    need_extra("pandas")
    import pandas as pd

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
