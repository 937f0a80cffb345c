"""The values that the TempAnswerQA paper prints, by table and row, for `study reproduce`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from statistics import fmean

Rows = Mapping[str, tuple[float | None, ...]]

MODELS = ("Llama-3.1-8B", "Llama-3.3-70B", "Phi-4-mini", "Phi-4", "Qwen2.5-7B", "Qwen2.5-14B")
PROMPTING = ("few shot", "zero shot")
BASELINES = ("baseline, mean", "baseline, median")

TABLE_2: Rows = {
    "ToT seconds": (411,), "ToT date": (328,), "ToT years": (229,), "ToT days": (100,),
    "ToT months": (50,), "ToT minutes": (38,), "TTQA years": (1194,), "TTQA date_years": (305,),
    "TTQA days": (94,), "TTQA months": (85,), "TTQA date": (59,),
}  # fmt: skip
TABLE_3: Rows = {
    "ToT |e| = 1": (11.62,), "ToT |e| = 2": (5.17,), "ToT |e| = 4": (3.99,),
    "ToT |e| = 3": (2.99,), "ToT |e| = 5": (2.41,), "TTQA |e| = 1": (49.49,),
    "TTQA |e| = 2": (6.68,), "TTQA |e| = 3": (4.25,), "TTQA |e| = 4": (3.42,),
    "TTQA |e| = 6": (3.12,),
}  # fmt: skip
TABLE_4: Rows = {
    "MultiOP": (20.57, 4.99), "EventAtWhatTime": (20.15, 4.59),
    "RelationDuration": (19.98, 32.14), "AddSubtract": (14.73, 16.57), "Duration": (11.79, 18.96),
    "Trick": (6.89, 22.36), "Timezone": (5.89, 0.40),
}  # fmt: skip
TABLE_5: Rows = {
    "# years": (68.74, 81.27), "yyyy": (17.56, 5.56), "# days": (5.41, 7.34),
    "# months": (4.89, 5.40), "%B %d, %Y": (3.40, 0.43),
}  # fmt: skip
TABLE_6: Rows = {
    "ToT neg.": (24.73, 31.21, 1.40, 7.09), "ToT pos.": (21.60, 29.26, 3.98, 40.82),
    "TTQA neg.": (22.83, 30.42, 0.55, 1.09), "TTQA pos.": (29.32, 31.72, 48.09, 334.80),
}  # fmt: skip
FIGURE_4: Rows = {"TTQA": (-0.92, -0.40, 0.21), "ToT": (-0.82, -0.39, 0.65)}
TABLE_8: Rows = {"Llama-3.1-8B": (0, 4), "Qwen2.5-7B": (8, 0), "Phi-4-mini": (26, 2)}
"""Percent of the 50 questions, which the paper counts."""
TABLE_9: Rows = {
    "Llama-3.1-8B": (81.98, 74.40), "Qwen2.5-7B": (44.52, 99.56), "Phi-4-mini": (94.76, 99.38),
}  # fmt: skip
_HEAD = (
    (75.34, 17.02, 0.50), (63.37, 33.11, 0.25), (83.71, 6.58, 0.20), (74.62, 20.59, 0.17),
    (77.05, 7.03, 0.52), (73.09, 12.65, 7.45), (79.39, 6.13, 0.34), (61.30, 29.36, 0.29),
    (79.12, 7.77, 4.47), (77.77, 8.05, 0.91), (81.73, 4.28, 0.63), (76.33, 9.21, 3.91),
    (0.00, 37.52, 7.35), (0.00, 34.24, 2.25),
)  # fmt: skip
_TAIL = (
    (69.10, 18.52, 1.17), (57.14, 36.29, 1.66), (79.19, 7.50, 0.19), (66.30, 22.51, 8.72),
    (70.81, 8.89, 8.87), (70.34, 14.04, 27.06), (77.48, 7.96, 10.53), (61.18, 29.58, 11.41),
    (73.29, 8.20, 2.03), (70.81, 10.62, 23.05), (80.12, 4.89, 0.17), (73.60, 8.60, 16.09),
    (0.00, 38.67, 123.88), (0.00, 31.21, 2.29),
)  # fmt: skip
_ARITHMETIC = (
    (20.57, 23.66, 2.23), (14.47, 35.80, 2.03), (49.70, 10.54, 0.15), (41.34, 13.53, 0.37),
    (26.38, 21.19, 1.00), (19.59, 38.37, 3.47), (55.71, 7.12, 0.17), (58.56, 9.03, 0.16),
    (31.00, 20.85, 1.06), (25.30, 34.11, 0.46), (43.21, 9.21, 0.71), (44.00, 10.88, 0.52),
    (0.00, 24.26, 4.60), (0.00, 23.14, 2.96),
)  # fmt: skip
_SEMANTIC = (
    (72.69, 10.43, 1.18), (67.11, 14.19, 11.34), (89.43, 4.61, 0.11), (90.16, 6.09, 0.19),
    (65.64, 10.54, 1.04), (56.68, 17.64, 1.27), (83.55, 4.01, 0.32), (80.32, 6.39, 0.46),
    (63.00, 8.47, 1.19), (59.32, 11.57, 1.27), (72.98, 8.79, 0.50), (67.99, 11.72, 0.61),
    (0.00, 18.14, 0.26), (0.10, 18.07, 0.04),
)  # fmt: skip
_NAMES = (*(f"{model} {way}" for model in MODELS for way in PROMPTING), *BASELINES)


def _by_name(split: str, values: tuple[tuple[float, ...], ...]) -> dict[str, tuple[float, ...]]:
    return {f"{split} {name}": own for name, own in zip(_NAMES, values, strict=True)}


TABLE_11: Rows = _by_name("head", _HEAD) | _by_name("tail", _TAIL)
TABLE_12: Rows = _by_name("arithmetic", _ARITHMETIC) | _by_name("semantic", _SEMANTIC)
TABLE_13: Rows = {
    name: (1737, 1373, mase)
    for name, mase in zip(
        _NAMES, (1530, 1225, 1667, 1417, 1722, 1668, 1680, 1341, 1706, 1708, 1727, 1700),
        strict=False,
    )
}  # fmt: skip
TABLE_14: Rows = {
    name: (1697, 1369, mase)
    for name, mase in zip(
        _NAMES, (1575, 1527, 1581, 1524, 1618, 1438, 1640, 1595, 1600, 1499, 1660, 1648),
        strict=False,
    )
}  # fmt: skip


def _means_by_model() -> dict[str, tuple[float, ...]]:
    """Figures 2 and 3 draw these means over splits and prompts and print none."""
    own: dict[str, list[tuple[float | None, ...]]] = defaultdict(list)
    for row, values in (*TABLE_11.items(), *TABLE_12.items()):
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
