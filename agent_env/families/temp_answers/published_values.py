"""The values that the TempAnswerQA paper prints, by table and row, for `study reproduce`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

from agent_env.extensions.papers.paper import PublishedValues

Rows = Mapping[str, tuple[float | None, ...]]
PUBLISHED = PublishedValues.beside(__file__)
TABLES = PUBLISHED.tables
MODELS = tuple(PUBLISHED.models.values())


def _means_by_model() -> dict[str, tuple[float, ...]]:
    """Figures 2 and 3 draw these means over splits and prompts and print none."""
    own: dict[str, list[tuple[float | None, ...]]] = defaultdict(list)
    for row, values in (*TABLES["table11"].items(), *TABLES["table12"].items()):
        model = row.split(" ")[1]
        if model in MODELS:
            own[model].append(values)
    return {
        model: tuple(
            round(fmean(v or 0.0 for v in column), 2) for column in zip(*rows, strict=True)
        )
        for model, rows in own.items()
    }


FIGURES_2_3: Rows = _means_by_model()
