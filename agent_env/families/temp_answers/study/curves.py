"""The data of the paper's Figures 2–13 for any scored answers, as tables."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean

from agent_env.analysis.intervals import mean_interval
from agent_env.analysis.resampling import SEED
from agent_env.families.temp_answers.reasoning import arithmetic_steps
from agent_env.families.temp_answers.study.layouts import (
    MEASURES,
    TABLES,
    Answers,
    Cell,
    Layout,
    unit_of,
)
from agent_env.families.temp_answers.study.modes import Item
from agent_env.families.temp_answers.study.performance import performance


def all_layouts(answers: Answers) -> list[Layout]:
    """The tables, then the figures, in the paper's order."""
    return [make(answers) for make in (*TABLES, performance, *CURVES)]


def rankings(answers: Answers) -> Layout:
    """Figures 2 and 3: models ranked by the mean over their files (equal means share a rank), with
    95 % intervals and the difference from the rank by exact match among the same models.

    Files with an infinite mean are excluded; `files` is the number of files in the mean."""
    rows: list[tuple[Cell, ...]] = []
    exact = _file_means(answers, "exact_match")
    for name in MEASURES:
        file_means = _file_means(answers, name)
        sign = -1 if name == "exact_match" else 1
        means = {model: fmean(own.values()) for model, own in file_means.items()}
        ranks = _from_best({model: sign * mean for model, mean in means.items()})
        first = _from_best({model: -fmean(exact[model].values()) for model in file_means})
        for model, rank in sorted(ranks.items(), key=lambda item: (item[1], first[item[0]])):
            ends = _pooled_interval(answers, name, file_means[model])
            moved = first[model] - rank
            rows.append((name, rank, model, means[model], *ends, moved, len(file_means[model])))
    columns = ("metric", "rank", "model", "mean", "low", "high", "ranks_gained_on_exact_match",
               "files")  # fmt: skip
    return Layout("figures_2_3_rankings", columns, tuple(rows))


def _file_means(answers: Answers, name: str) -> dict[str, dict[int, float]]:
    """Means by model, then by the file's index."""
    by_model: dict[str, dict[int, float]] = defaultdict(dict)
    for k, (file, s) in enumerate(zip(answers.files, answers.summaries, strict=True)):
        value = getattr(s, name)
        if value is not None and math.isfinite(value):
            by_model[file.model][k] = value
    return by_model


def _from_best(values: Mapping[str, float]) -> dict[str, int]:
    """Ranks, the least value first; equal ones share the best."""
    rounded = {model: round(value, 9) for model, value in values.items()}
    return {m: 1 + sum(v < own for v in rounded.values()) for m, own in rounded.items()}


def _pooled_interval(
    answers: Answers, name: str, files: Mapping[int, float]
) -> tuple[float | None, float | None]:
    """The 95 % interval of a mean over files: their items, pooled with equal weights of the files,
    are resampled by table or graph. One file has its own interval."""
    if len(files) == 1:
        return (answers.summaries[next(iter(files))].intervals or {}).get(name, (None, None))
    if any(answers.summaries[k].intervals is None for k in files):
        return None, None
    own = [(k, item) for k in files for item in answers.scores.items[k]]
    values = [
        (k, f"{answers.files[k].dataset} {item.row.cluster}", value)
        for k, item in own
        if answers.counts(item) and (value := _value(item, name)) is not None
    ]
    sizes = Counter(k for k, _, _ in values)
    weight = {k: len(values) / len(files) / n for k, n in sizes.items()}
    pooled = [(cluster, weight[k] * value) for k, cluster, value in values]
    return mean_interval(pooled) or (None, None)


def _value(item: Item, name: str) -> float | None:
    if name == "exact_match":
        return 100.0 * item.exact
    return item.percentage if name == "smape" else item.scaled


def correlations(answers: Answers) -> Layout:
    """Figure 4: Spearman's rank correlation between metrics over files, with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        points = [
            [getattr(s, name) for name in MEASURES]
            for file, s in zip(answers.files, answers.summaries, strict=True)
            if file.dataset == dataset
        ]
        for a in range(3):
            for b in range(a):
                pairs = [
                    (p[a], p[b]) for p in points
                    if all(v is not None and math.isfinite(v) for v in (p[a], p[b]))
                ]  # fmt: skip
                low, high = _correlation_interval(pairs)
                rho = spearman(pairs)
                rows.append((dataset, MEASURES[b], MEASURES[a], rho, low, high, len(pairs)))
    columns = ("dataset", "metric", "other", "spearman", "low", "high", "n")
    return Layout("figure_4_correlations", columns, tuple(rows))


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Rank correlation with ties at their mean rank; None where a side is constant."""
    if len(pairs) < 2:
        return None
    a, b = (_ranks([pair[k] for pair in pairs]) for k in (0, 1))
    centre = (len(pairs) + 1) / 2
    above = sum((x - centre) * (y - centre) for x, y in zip(a, b, strict=True))
    below = math.sqrt(sum((x - centre) ** 2 for x in a) * sum((y - centre) ** 2 for y in b))
    return above / below if below else None


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    return [order.index(v) + (order.count(v) + 1) / 2 for v in values]


def _correlation_interval(
    pairs: Sequence[tuple[float, float]],
) -> tuple[float | None, float | None]:
    if len(pairs) < 4:
        return None, None
    rng = Random(SEED)
    resampled = (spearman(rng.choices(pairs, k=len(pairs))) for _ in range(1000))
    estimates = sorted(value for value in resampled if value is not None)
    if not estimates:
        return None, None
    return estimates[int(0.025 * len(estimates))], estimates[int(0.975 * (len(estimates) - 1))]


def possible_smape(answers: Answers) -> Layout:
    """Figure 5: the possible range of sMAPE by exact match, if every wrong answer is off by at
    least 1, 25 or 50 percent."""
    rows = tuple(
        (least, em, (100 - em) * least / 100, float(100 - em))
        for least in (1, 25, 50)
        for em in range(0, 101, 5)
    )
    return Layout("figure_5_possible", ("least_error", "exact_match", "low", "high"), rows)


def label_densities(answers: Answers) -> Layout:
    """Figures 6 to 10: distinct gold answers by split, unit and (in `paper`) nearest centroid, in
    20 bins."""
    rows: list[tuple[Cell, ...]] = []
    for (dataset, split), items in answers.by_split.items():
        for unit, name in dict.fromkeys((unit_of(i), _named_unit(i)) for i in items):
            golds = [
                float(i.gold or 0) for i in items if (unit_of(i), _named_unit(i)) == (unit, name)
            ]
            group = (dataset, split, unit) if dataset == "tot" else (dataset, unit)
            centroids = answers.scores.centroids.get(group, ())
            low, high = min(golds), max(golds)
            width = (high - low) / 20 or 1.0
            bins = Counter((min(int((g - low) / width), 19), _nearest(g, centroids)) for g in golds)
            rows += [
                (dataset, split, name, cluster, low + k * width, low + (k + 1) * width, n,
                 n / len(golds) / width)
                for (k, cluster), n in sorted(bins.items())
            ]  # fmt: skip
    columns = ("dataset", "split", "unit", "cluster", "from", "to", "count", "density")
    return Layout("figures_6_10_labels", columns, tuple(rows))


def _named_unit(item: Item) -> str:
    """The unit; `calendar years` are those without a percentage error, unlike durations."""
    is_point = unit_of(item) in ("years", "date_years") and item.percentage is None
    return "calendar years" if is_point else unit_of(item)


def _nearest(value: float, centroids: Sequence[float]) -> int:
    return min(range(len(centroids)), key=lambda k: abs(centroids[k] - value), default=0)


def reasoning(answers: Answers) -> Layout:
    """Figure 11: the share of correct calculations in the responses, for right and wrong answers,
    with 95 % intervals."""
    shares: dict[tuple[str, str, bool], list[tuple[str, float]]] = defaultdict(list)
    for file, item in answers.each():
        share = arithmetic_steps(item.row.response or "").share
        if share is not None:
            shares[file.dataset, file.model, item.exact].append((item.row.cluster, share))
    rows = tuple(
        (*key, len(values), fmean(share for _, share in values),
         *(mean_interval(values) or (None, None)))
        for key, values in sorted(shares.items())
    )  # fmt: skip
    columns = ("dataset", "model", "answer_right", "responses", "right_steps", "low", "high")
    return Layout("figure_11_reasoning", columns, rows)


def scatter(answers: Answers) -> Layout:
    """Figures 12 and 13: one point for each file, with 95 % intervals."""
    rows = tuple(
        (file.dataset, "+".join(file.splits), file.model, file.prompting, s.n,
         *(cell for name in MEASURES
           for cell in (getattr(s, name), *(s.intervals or {}).get(name, (None, None)))),
         None if s.exact_match is None else 100 - s.exact_match)
        for file, s in zip(answers.files, answers.summaries, strict=True)
    )  # fmt: skip
    columns = [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    names = ("dataset", "split", "model", "prompting", "n", *columns, "most_smape")
    return Layout("figures_12_13_scatter", names, rows)


SIZES = ((1, 1, "1"), (1, 2, "2"), (2, 3, "3"), (3, 4, "4"), (4, 5, "5"), (5, 10, "6–10"),
         (10, 100, "11–100"), (100, 1000, "101–1,000"), (1000, math.inf, "more"))  # fmt: skip
"""Bins: above the first number, up to the second; the first bin is exactly 1."""


def error_sizes(answers: Answers) -> Layout:
    """Table 3 as a histogram: |e| of wrong answers with an amount, in the declared unit, as shares
    with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        wrong = [
            (item.row.cluster, abs(item.error))
            for file, item in answers.each()
            if file.dataset == dataset and item.error
        ]
        bins = [("below 1", [(name, float(e < 1)) for name, e in wrong])]
        for low, high, label in SIZES:
            bins.append(
                (label, [(n, float(e == 1 if high == 1 else low < e <= high)) for n, e in wrong])
            )
        rows += [
            (dataset, label, int(sum(v for _, v in own)), 100 * fmean(v for _, v in own),
             *(100 * end if end is not None else None
               for end in mean_interval(own, share=True) or (None, None)))
            for label, own in bins if own
        ]  # fmt: skip
    columns = ("dataset", "error", "count", "share_percent", "low", "high")
    return Layout("table_3_histogram", columns, tuple(rows))


CURVES: tuple[Callable[[Answers], Layout], ...] = (
    rankings, correlations, possible_smape, label_densities, reasoning, scatter, error_sizes,
)  # fmt: skip
