"""Scores response files in two modes, `paper` (the published rules) and `v2` (ours), with the means
of each file and their cluster bootstrap intervals (by table or graph).

In `v2` the scale of an error comes from the gold answers of distinct questions, so that neither the
order of rows nor another model changes a figure. In `paper` the centroids come from all rows
together, in their order, as published.
"""

from __future__ import annotations

import ast
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from statistics import fmean

from agent_env.families.temp_answers.scoring.answer_spec import (
    WITH_VALUE,
    Amount,
    Outcome,
    TimeAnswer,
)
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.temp_answers.scoring.time_errors import (
    ErrorProfile,
    Scale,
    is_transitional,
    measure,
    profile,
    scale_of,
    within,
)
from agent_env.features.papers.temp_answers import paper_answers as paper
from agent_env.features.papers.temp_answers.declared import Declared, declared_line, declared_object
from agent_env.features.papers.temp_answers.paper_answers import (
    cluster,
    given_centroids,
)
from agent_env.features.papers.temp_answers.responses import Response, ResponseFile
from agent_env.sdk.results import Estimate

ScaleGroup = tuple[str, ...]
"""Dataset, split and unit; in `paper` TTQA has one group for head and tail: dataset and unit."""


@dataclass(frozen=True, slots=True)
class Item:
    """One response measured in one mode."""

    row: Response
    outcome: Outcome
    exact: bool
    gold: Amount | None
    amount: Amount | None
    error: Amount | None
    percentage: float | None
    """None where sMAPE is not defined."""
    scaled: float | None
    """None where MASE is not defined."""
    rule: str
    unit: str = ""
    transitional: bool = False
    problem: str | None = None
    """Why the row has no parsable gold; such rows are in no mean of `v2`."""
    scale: float | None = None
    """`v2`: the divisor of an error for MASE."""
    centroid: float | None = None
    """`paper`: the centroid of the gold's cluster."""
    coarse: bool = False
    """A date less precise than asked."""
    distance: float | None = None
    """From the gold to the farthest amount that the answer can mean."""
    floor: bool = False
    """Right when completed units are counted."""
    rounded: bool = False
    """Right when rounded to whole units."""


@dataclass(frozen=True, slots=True)
class ModeScores:
    """All items by file, in the order of the rows, with their scales."""

    items: tuple[tuple[Item, ...], ...]
    centroids: Mapping[ScaleGroup, tuple[float, ...]]
    """`paper`: by group; `v2`: empty."""
    scales: Mapping[ScaleGroup, Scale]
    """`v2`: by group; `paper`: empty."""


# v2 -----------------------------------------------------------------------------------------------


def score_v2(files: Sequence[ResponseFile]) -> ModeScores:
    """Every row by the declared format and unit of its question."""
    cache: dict[tuple[str | None, ...], Declared] = {}
    declared = [[_declared(file.dataset, row, cache) for row in file.rows] for file in files]
    golds: dict[ScaleGroup, dict[tuple[str, str | None], Amount]] = defaultdict(dict)
    for file, own in zip(files, declared, strict=True):
        for row, d in zip(file.rows, own, strict=True):
            if d.gold is not None:
                golds[_group(file, row, d)][row.key, row.label] = d.gold
    scales = {group: scale_of(values.values()) for group, values in golds.items()}
    items = tuple(
        tuple(
            _item(file, row, d, scales.get(_group(file, row, d)))
            for row, d in zip(file.rows, own, strict=True)
        )
        for file, own in zip(files, declared, strict=True)
    )
    return ModeScores(items, {}, {group: s for group, s in scales.items() if s is not None})


def _declared(
    dataset: str, row: Response, cache: dict[tuple[str | None, ...], Declared]
) -> Declared:
    """The question's specification; cached, because questions recur with every model."""
    key = (dataset, row.key, row.label, row.format, row.unit, row.question_type)
    if key not in cache:
        cache[key] = (
            declared_line(row.format, row.unit, row.label)
            if dataset == "ttqa"
            else declared_object(row.unit, row.label, row.question, row.question_type)
        )
    return cache[key]


def _group(file: ResponseFile, row: Response, declared: Declared) -> ScaleGroup:
    spec = declared.spec
    return (file.dataset, row.split, spec.kind, spec.unit) if spec else ()


def _item(file: ResponseFile, row: Response, declared: Declared, scale: Scale | None) -> Item:
    if declared.spec is None or declared.gold is None:
        return Item(
            row, "unparsable", False, None, None, None, None, None, "", row.unit or "",
            problem=declared.problem,
        )  # fmt: skip
    spec, gold = declared.spec, declared.gold
    answer = _with_finish_reason(row, read_response(row.response, spec, file.prefilled))
    error = measure(answer, gold, spec, scale)
    return Item(
        row, error.outcome, error.exact, gold, answer.amount, error.error, error.percentage,
        error.scaled, answer.rule, spec.unit,
        is_transitional(error.error, spec, row.years_only),
        scale=scale.deviation if scale else None,
        coarse=answer.outcome == "parsed" and answer.amount is None,
        distance=error.distance,
        floor=error.floor,
        rounded=error.rounded,
    )  # fmt: skip


def _with_finish_reason(row: Response, answer: TimeAnswer) -> TimeAnswer:
    """The answer; truncated where it is unparsable and the server reports so."""
    if not answer.is_parsed and row.finish_reason == "length":
        return replace(answer, outcome="truncated")
    return answer


# paper --------------------------------------------------------------------------------------------


def score_paper(
    files: Sequence[ResponseFile],
    centroids: Mapping[ScaleGroup, Sequence[float]] | None = None,
    clock: date = paper.CLOCK,
    clustered: bool = True,
) -> ModeScores:
    """Every row by the published rules; without MASE if `clustered` is False."""
    labels: dict[tuple[str | None, ...], paper.PaperReading] = {}
    paper_items = [[_paper_item(file, row, labels, clock) for row in file.rows] for file in files]
    groups = _by_group(files, paper_items)
    own: dict[tuple[int, int], float] = {}
    centroids_used: dict[ScaleGroup, tuple[float, ...]] = {}
    if clustered:
        for group, places in groups.items():
            values = [v for _, v in places]
            if centroids and group in centroids:
                clustering = given_centroids(values, centroids[group])
            else:
                clustering = cluster(values)
            centroids_used[group] = clustering.centroids
            own.update(zip((place for place, _ in places), clustering.own(), strict=True))
    items = tuple(
        tuple(
            _paper_scored(file.dataset, row, item, own.get((f, r)))
            for r, (row, item) in enumerate(zip(file.rows, rows, strict=True))
        )
        for f, (file, rows) in enumerate(zip(files, paper_items, strict=True))
    )
    return ModeScores(items, centroids_used, {})


def paper_group(dataset: str, split: str, unit: str) -> ScaleGroup:
    """The group of labels that are clustered together."""
    return ("tot", split, unit) if dataset == "tot" else ("ttqa", unit)


def _by_group(
    files: Sequence[ResponseFile], paper_items: Sequence[Sequence[paper.PaperItem]]
) -> dict[ScaleGroup, list[tuple[tuple[int, int], float]]]:
    groups: dict[ScaleGroup, list[tuple[tuple[int, int], float]]] = defaultdict(list)
    for f, (file, items) in enumerate(zip(files, paper_items, strict=True)):
        for r, (row, item) in enumerate(zip(file.rows, items, strict=True)):
            if item.gold is not None:
                group = paper_group(file.dataset, row.split, row.unit or "")
                groups[group].append(((f, r), float(item.gold)))
    return groups


def _paper_item(
    file: ResponseFile,
    row: Response,
    labels: dict[tuple[str | None, ...], paper.PaperReading],
    clock: date,
) -> paper.PaperItem:
    key = (file.dataset, row.label, row.format)
    if key not in labels:
        is_object = file.dataset == "tot"
        labels[key] = _object_label(row.label, clock) if is_object else _line_label(row, clock)
    if row.response is None:
        answer = paper.PaperReading(None, "no response")
    elif file.dataset == "tot":
        answer = paper.read_object(row.response, file.prefilled, clock)
    elif row.format is None:
        answer = paper.PaperReading(None, "no format")
    else:
        answer = paper.read_line(row.response, row.format, clock)
    return paper.compare(answer, labels[key], row.unit or "")


def _object_label(label: str | None, clock: date) -> paper.PaperReading:
    try:
        content = ast.literal_eval(label or "")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return paper.PaperReading(None, "no literal")
    if not isinstance(content, dict):
        return paper.PaperReading(None, "no object")
    return paper.read_keys(content, clock)


def _line_label(row: Response, clock: date) -> paper.PaperReading:
    if row.label is None or row.format is None:
        return paper.PaperReading(None, "no label")
    return paper.read_label(row.label, row.format, clock)


def _paper_scored(
    dataset: str, row: Response, item: paper.PaperItem, centroid: float | None
) -> Item:
    unit = row.unit or ""
    ratio = unit != "date" if dataset == "tot" else "date" not in unit and "time" not in unit
    return Item(
        row,
        "unparsable" if item.amount is None else "parsed",
        item.error == 0,
        item.gold,
        item.amount,
        item.error,
        paper.percentage_error(item.amount, item.gold) if ratio else None,
        paper.scaled_error(item.amount, item.gold, centroid),
        item.rule,
        unit,
        centroid=centroid,
        problem="the label cannot be read" if item.gold is None else None,
        distance=None if item.error is None else abs(item.error),
        floor=item.error == 0,
        rounded=item.error == 0,
    )


BANDS = (1, 2, 5, 10)
MEANS = ("smape", "mase")
"""Metrics that are no shares."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of one set of answers; `exact_match` and `smape` in percent."""

    n: int
    exact_match: float | None
    smape: float | None
    n_smape: int
    mase: float | None
    """Infinite where an item's is."""
    n_mase: int
    unparsed: int
    outcomes: dict[str, int]
    problems: dict[str, int]
    """Rows without a parsable gold, by reason; in no mean of `v2`."""
    bands: dict[int, float]
    """EM@k in percent, k in the declared unit; unparsable answers are outside."""
    errors: ErrorProfile
    floor: float | None = None
    """Percent right where both answer and gold count by completed units."""
    rounded: float | None = None
    """Percent right where both are rounded to whole units."""
    coarse: int = 0
    """Dates less precise than asked; they count as wrong and are in no MASE."""
    unscaled: dict[str, int] = field(default_factory=dict)
    """By unit: answers with an amount but without MASE, because all golds of the unit are equal."""
    intervals: dict[str, tuple[float, float]] | None = None
    """95 % intervals by metric (`within_K` is EM@k), for those that have one by
    `intervals.Estimate.of_mean`; None where not requested."""


def summarize(
    items_by_file: Sequence[Sequence[Item]], mode: str, intervals: bool = True
) -> tuple[Summary, ...]:
    """The figures of each file; rows without a parsable gold count in mode `paper`, not in `v2`."""
    scored = [[i for i in items if mode == "paper" or i.problem is None] for items in items_by_file]
    summaries = tuple(map(_summary, scored, items_by_file))
    if not intervals:
        return summaries
    # of each file, by metric; an infinite mean has none
    by_file: list[dict[str, tuple[float, float]]] = []
    for items in scored:
        own = {n: Estimate.of_mean(c, n not in MEANS) for n, c in _columns(items).items()}
        by_file.append({
            name: (each.low * factor, each.high * factor)
            for name, each in own.items()
            if each.low is not None and each.high is not None
            for factor in (1 if name in MEANS else 100,)
        })  # fmt: skip
    return tuple(replace(s, intervals=own) for s, own in zip(summaries, by_file, strict=True))


def _summary(scored: Sequence[Item], items: Sequence[Item]) -> Summary:
    percentages = [item.percentage for item in scored if item.percentage is not None]
    scaled = [item.scaled for item in scored if item.scaled is not None]
    errors = [item.error for item in scored if item.error is not None]
    n = len(scored)
    return Summary(
        n=n,
        exact_match=100 * sum(item.exact for item in scored) / n if n else None,
        smape=fmean(percentages) if percentages else None,
        n_smape=len(percentages),
        mase=fmean(scaled) if scaled else None,
        n_mase=len(scaled),
        unparsed=sum(item.outcome not in WITH_VALUE for item in scored),
        outcomes=dict(Counter(item.outcome for item in scored)),
        problems=dict(Counter(item.problem for item in items if item.problem is not None)),
        bands={k: 100 * sum(within(i.distance, k) for i in scored) / n for k in BANDS} if n else {},
        errors=profile(errors, sum(item.transitional for item in scored)),
        floor=100 * sum(item.floor for item in scored) / n if n else None,
        rounded=100 * sum(item.rounded for item in scored) / n if n else None,
        coarse=sum(item.coarse for item in scored),
        unscaled=dict(
            Counter(
                item.row.unit or item.unit
                for item in scored
                if item.error is not None and item.scaled is None
            )
        ),
    )


def _columns(items: Sequence[Item]) -> dict[str, list[tuple[str, float]]]:
    """Clusters and values by metric, of those that have a finite mean."""
    columns = {
        "exact_match": [(i.row.cluster, float(i.exact)) for i in items],
        "smape": [(i.row.cluster, i.percentage) for i in items if i.percentage is not None],
        "mase": [(i.row.cluster, i.scaled) for i in items if i.scaled is not None],
        "floor": [(i.row.cluster, float(i.floor)) for i in items],
        "rounded": [(i.row.cluster, float(i.rounded)) for i in items],
        **{
            f"within_{k}": [(i.row.cluster, float(within(i.distance, k))) for i in items]
            for k in BANDS
        },
    }
    if any(value == math.inf for _, value in columns["mase"]):
        del columns["mase"]
    return {name: own for name, own in columns.items() if own}
