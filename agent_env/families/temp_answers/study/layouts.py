"""The paper's tables, and the data of its Figures 2–13, for any scored answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean, median, pstdev

from agent_env.families.temp_answers.reasoning import arithmetic_steps
from agent_env.families.temp_answers.responses import ResponseFile
from agent_env.families.temp_answers.scoring.paper_answers import (
    MARKER,
    scaled_error,
    strict_object,
)
from agent_env.families.temp_answers.scoring.time_errors import percentage
from agent_env.families.temp_answers.study.modes import Item, ModeScores, Summary
from agent_env.sdk.results import SEED, cluster_share_interval, mean_interval

Cell = str | int | float | None
Row = dict[str, Cell]
MEASURES = ("exact_match", "smape", "mase")


@dataclass(frozen=True, slots=True)
class Layout:
    """A table of results."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def by_column(self) -> list[Row]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Answers:
    """Input of the tables and figures: files, one mode's items, and their means."""

    files: tuple[ResponseFile, ...]
    mode: str
    scores: ModeScores
    summaries: tuple[Summary, ...]

    def each(self) -> Iterator[tuple[ResponseFile, Item]]:
        """The items in the means, with their files."""
        for file, items in zip(self.files, self.scores.items, strict=True):
            yield from ((file, item) for item in items if self.counts(item))

    def counts(self, item: Item) -> bool:
        """Whether it is in the means."""
        return self.mode == "paper" or item.problem is None

    def infinite(self, metric: str) -> int:
        """Files whose mean is infinite, which no figure can draw."""
        return sum(getattr(s, metric) == math.inf for s in self.summaries)

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(file.dataset for file in self.files))

    @property
    def by_split(self) -> dict[tuple[str, str], list[Item]]:
        """Distinct questions by dataset and split."""
        questions: dict[tuple[str, str], dict[tuple[str, str | None], Item]] = defaultdict(dict)
        for file, item in self.each():
            if item.gold is not None:
                questions[file.dataset, item.row.split][item.row.key, item.row.label] = item
        return {key: list(items.values()) for key, items in questions.items()}


def units(answers: Answers) -> Layout:
    """Table 2: distinct questions by unit."""
    unit_by_question = {(f.dataset, i.row.key, i.row.label): unit_of(i) for f, i in answers.each()}
    counts = Counter((key[0], unit) for key, unit in unit_by_question.items())
    rows = [(dataset, unit, n) for (dataset, unit), n in counts.most_common()]
    return Layout("table_2_units", ("dataset", "unit", "questions"), tuple(rows))


def unit_of(item: Item) -> str:
    """The declared unit of the question; in `v2` the amount of a date is in days."""
    return item.row.unit or item.unit


def frequent_errors(answers: Answers) -> Layout:
    """Table 3: the five most frequent |e| of wrong answers with an amount, with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        errors = [
            (i.row.cluster, abs(i.error))
            for f, i in answers.each()
            if f.dataset == dataset and i.error
        ]
        sizes = Counter(size for _, size in errors)
        top = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:5]
        rows += [
            (
                dataset,
                size,
                n,
                *percents([(name, own == size) for name, own in errors]),
                len(errors),
            )
            for size, n in top
        ]
    columns = ("dataset", "error", "count", "share_percent", "low", "high", "wrong")
    return Layout("table_3_errors", columns, tuple(rows))


def percents(values: Sequence[tuple[str, bool]]) -> tuple[float, float, float]:
    """A share of outcomes by cluster with its 95 % interval, in percent."""
    numbers = [(name, float(value)) for name, value in values]
    low, high = cluster_share_interval(numbers)
    return 100 * fmean(value for _, value in numbers), 100 * low, 100 * high


def off_by_one_types(answers: Answers) -> Layout:
    """Table 4: question types among all answers and among those off by one (ToT)."""
    return _shares(answers, "table_4_question_types", "tot", lambda item: item.row.question_type)


def off_by_one_formats(answers: Answers) -> Layout:
    """Table 5: answer formats among all answers and among those off by one (TTQA)."""
    return _shares(answers, "table_5_formats", "ttqa", lambda item: item.row.format)


def _shares(answers: Answers, name: str, dataset: str, of: Callable[[Item], str | None]) -> Layout:
    items = [item for file, item in answers.each() if file.dataset == dataset]
    ones = [item for item in items if item.error is not None and abs(item.error) == 1]
    rows: list[tuple[Cell, ...]] = []
    for kind, _ in Counter(map(of, items)).most_common():
        cells: list[Cell] = [kind]
        for own in (items, ones):
            values = [(item.row.cluster, of(item) == kind) for item in own]
            cells += [*(percents(values) if values else (None,) * 3), len(own)]
        rows.append(tuple(cells))
    columns = [
        f"{which}{column}"
        for which in ("all", "off_by_one")
        for column in ("_percent", "_low", "_high", "_n")
    ]
    return Layout(name, ("kind", *columns), tuple(rows))


def directions(answers: Answers) -> Layout:
    """Table 6: sMAPE and MASE with standard deviations, of negative and of positive errors."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        for name, sign in (("negative", -1), ("positive", 1)):
            items = [
                i for f, i in answers.each()
                if f.dataset == dataset and i.error is not None and i.error * sign > 0
            ]  # fmt: skip
            cells: list[Cell] = [dataset, name, len(items)]
            for values in ([i.percentage for i in items], [i.scaled for i in items]):
                finite = [
                    (i.row.cluster, v)
                    for i, v in zip(items, values, strict=True)
                    if v is not None and math.isfinite(v)
                ]
                plain = [v for _, v in finite]
                ends = (mean_interval(finite) if finite else None) or (None, None)
                cells += [fmean(plain), *ends, pstdev(plain)] if finite else [None] * 4
                cells.append(len(finite))
            rows.append(tuple(cells))
    columns = (
        "dataset", "error", "n", "smape", "smape_low", "smape_high", "smape_std", "n_smape",
        "mase", "mase_low", "mase_high", "mase_std", "n_mase",
    )  # fmt: skip
    return Layout("table_6_directions", columns, tuple(rows))


def parsing_errors(answers: Answers) -> Layout:
    """Table 8: responses without a strict JSON object, by ToT file (model and generation)."""
    return _format_shares(
        answers, "table_8_parsing_errors", "tot",
        lambda file, text: isinstance(strict_object(text, file.prefilled), str),
    )  # fmt: skip


def markers(answers: Answers) -> Layout:
    """Table 9: responses that contain `Final Answer:`, by TTQA file (model and prompt)."""
    return _format_shares(answers, "table_9_markers", "ttqa", lambda file, text: MARKER in text)


def _format_shares(
    answers: Answers, name: str, dataset: str, holds: Callable[[ResponseFile, str], bool]
) -> Layout:
    """The share of responses for which `holds`, by file and split, with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for file in answers.files:
        for split in file.splits if file.dataset == dataset else ():
            values = [
                (row.cluster, holds(file, row.response or ""))
                for row in file.rows
                if row.split == split
            ]
            names = (split, file.model, file.prompting, file.generation)
            rows.append((*names, len(values), sum(held for _, held in values), *percents(values)))
    columns = ("split", "model", "prompting", "generation", "n", "count", "percent", "low", "high")
    return Layout(name, columns, tuple(rows))


def defined(answers: Answers) -> Layout:
    """Tables 13 and 14: the number of answers in each mean."""
    totals: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for file, s in zip(answers.files, answers.summaries, strict=True):
        cell = totals[file.dataset, file.model, file.prompting]
        for k, n in enumerate((s.n, s.n_smape, s.n_mase)):
            cell[k] += n
    rows: tuple[tuple[Cell, ...], ...] = tuple((*key, *n) for key, n in totals.items())
    columns = ("dataset", "model", "prompting", "n_exact_match", "n_smape", "n_mase")
    return Layout("tables_13_14_defined", columns, rows)


TABLES: tuple[Callable[[Answers], Layout], ...] = (
    units, frequent_errors, off_by_one_types, off_by_one_formats, directions, parsing_errors,
    markers, defined,
)  # fmt: skip


def performance(answers: Answers) -> Layout:
    """Tables 11 and 12: each split, model and prompting, and the baselines."""
    rows: list[tuple[Cell, ...]] = []
    for file, s in zip(answers.files, answers.summaries, strict=True):
        intervals = s.intervals or {}
        cells: list[Cell] = [file.dataset, "+".join(file.splits), file.model, file.prompting]
        for name in MEASURES:
            cells += [getattr(s, name), *intervals.get(name, (None, None))]
        rows.append(tuple(cells))
    for g in baselines(answers):
        name, none = f"baseline, {g.name}", (None, None)
        rows.append(
            (g.dataset, g.split, name, "", g.exact_match, *none, g.smape, *none, g.mase, *none)
        )
    columns = [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    names = ("dataset", "split", "model", "prompting", *columns)
    return Layout("tables_11_12_performance", names, tuple(rows))


@dataclass(frozen=True, slots=True)
class Guess:
    """The score of the mean or the median gold answer of a unit as the constant answer."""

    dataset: str
    split: str
    name: str
    """`mean` or `median`."""
    exact_match: float
    """Percent, like sMAPE."""
    smape: float | None
    mase: float | None
    """Infinite in `paper` where a gold answer is its own centroid."""


def baselines(answers: Answers) -> list[Guess]:
    """The constant answers' scores for each dataset and split: in `paper` over all rows by unit, as
    published; in `v2` over distinct questions, points in time apart from amounts."""
    by_split = answers.by_split
    if answers.mode == "paper":
        by_split = defaultdict(list)
        for file, item in answers.each():
            if item.gold is not None:
                by_split[file.dataset, item.row.split].append(item)
    return [
        _guess_baseline(*key, name, items, guess)
        for key, items in by_split.items()
        for name, guess in (("mean", fmean), ("median", median))
    ]


def _guess_baseline(
    dataset: str,
    split: str,
    name: str,
    items: Sequence[Item],
    guess: Callable[[Iterable[float]], float],
) -> Guess:
    groups: dict[tuple[str, bool], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.unit, item.percentage is None].append(item)
    exact, ratios, scaled = [], [], []
    for (_, is_point), group in groups.items():
        golds = [float(item.gold or 0) for item in group]
        guess_value = guess(golds)
        for gold, item in zip(golds, group, strict=True):
            exact.append(guess_value == gold)
            if not is_point:
                ratios.append(percentage(guess_value, gold))
            if item.centroid is not None:
                scaled.append(scaled_error(guess_value, gold, item.centroid) or 0.0)
            elif item.scale:
                scaled.append(abs(guess_value - gold) / item.scale)
    smape, mase = (fmean(values) if values else None for values in (ratios, scaled))
    return Guess(dataset, split, name, 100 * fmean(exact), smape, mase)


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
