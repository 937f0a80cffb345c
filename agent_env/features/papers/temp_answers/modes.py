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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date
from functools import lru_cache, partial
from statistics import fmean

from agent_env.families.temp_answers.scoring.answer_spec import (
    WITH_VALUE,
    Amount,
    TimeAnswer,
)
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.temp_answers.scoring.time_errors import (
    ErrorProfile,
    Scale,
    TimeError,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(TimeError):
    """One response measured in one mode."""

    row: Response
    gold: Amount | None = None
    amount: Amount | None = None
    rule: str = ""
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
    declared = [[_declared(file.dataset, row) for row in file.rows] for file in files]
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


def _declared(dataset: str, row: Response) -> Declared:
    """The question's specification."""
    if dataset == "ttqa":
        return declared_line(row.format, row.unit, row.label)
    return declared_object(row.unit, row.label, row.question, row.question_type)


def _group(file: ResponseFile, row: Response, declared: Declared) -> ScaleGroup:
    spec = declared.spec
    return (file.dataset, row.split, spec.kind, spec.unit) if spec else ()


def _item(file: ResponseFile, row: Response, declared: Declared, scale: Scale | None) -> Item:
    if declared.spec is None or declared.gold is None:
        none = (None, None, None)
        return Item("unparsable", False, *none, row=row, unit=row.unit or "",
                    problem=declared.problem)  # fmt: skip
    spec, gold = declared.spec, declared.gold
    answer = _with_finish_reason(row, read_response(row.response, spec, file.prefilled))
    error = measure(answer, gold, spec, scale)
    return Item(
        *(getattr(error, each.name) for each in fields(error)), row=row, gold=gold,
        amount=answer.amount, rule=answer.rule, unit=spec.unit,
        transitional=is_transitional(error.error, spec, row.years_only),
        scale=scale.deviation if scale else None,
        coarse=answer.outcome == "parsed" and answer.amount is None,
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
    items = [[_paper_item(file, row, clock) for row in file.rows] for file in files]
    groups: dict[ScaleGroup, list[tuple[int, int, float]]] = defaultdict(list)
    for f, (file, own) in enumerate(zip(files, items, strict=True)):
        for r, item in enumerate(own):
            if item.gold is not None and clustered:
                group = paper_group(file.dataset, item.row.split, item.unit)
                groups[group].append((f, r, float(item.gold)))
    centroids_used: dict[ScaleGroup, tuple[float, ...]] = {}
    for group, places in groups.items():
        values = [gold for _, _, gold in places]
        if centroids and group in centroids:
            clustering = given_centroids(values, centroids[group])
        else:
            clustering = cluster(values)
        centroids_used[group] = clustering.centroids
        for (f, r, gold), centroid in zip(places, clustering.own(), strict=True):
            scaled = paper.scaled_error(items[f][r].amount, gold, centroid)
            items[f][r] = replace(items[f][r], centroid=centroid, scaled=scaled)
    return ModeScores(tuple(map(tuple, items)), centroids_used, {})


def paper_group(dataset: str, split: str, unit: str) -> ScaleGroup:
    """The group of labels that are clustered together."""
    return ("tot", split, unit) if dataset == "tot" else ("ttqa", unit)


def _paper_item(file: ResponseFile, row: Response, clock: date) -> Item:
    is_object = file.dataset == "tot"
    label = _label(row.label, None if is_object else row.format or "", clock)
    if row.response is None:
        answer = paper.PaperReading(None, "no response")
    elif is_object:
        answer = paper.read_object(row.response, file.prefilled, clock)
    elif row.format is None:
        answer = paper.PaperReading(None, "no format")
    else:
        answer = paper.read_line(row.response, row.format, clock)
    unit = row.unit or ""
    error, amount, gold = paper.compare(answer, label, unit)
    is_ratio = unit != "date" if is_object else "date" not in unit and "time" not in unit
    is_right = error == 0
    return Item(
        "unparsable" if amount is None else "parsed", is_right, error,
        paper.percentage_error(amount, gold) if is_ratio else None, None,
        None if error is None else abs(error), is_right, is_right, row=row, gold=gold,
        amount=amount, rule=answer.rule, unit=unit,
        problem="the label cannot be read" if gold is None else None,
    )  # fmt: skip


@lru_cache(maxsize=50_000)  # questions recur with every model
def _label(label: str | None, form: str | None, clock: date) -> paper.PaperReading:
    """The label's value; `form` is None for an object."""
    if form is not None:
        if label is None or not form:
            return paper.PaperReading(None, "no label")
        return paper.read_label(label, form, clock)
    try:
        content = ast.literal_eval(label or "")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return paper.PaperReading(None, "no literal")
    if not isinstance(content, dict):
        return paper.PaperReading(None, "no object")
    return paper.read_keys(content, clock)


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
    return tuple(
        _summary([i for i in items if mode == "paper" or i.problem is None], items, intervals)
        for items in items_by_file
    )


def _summary(scored: Sequence[Item], items: Sequence[Item], intervals: bool) -> Summary:
    columns = _columns(scored)

    def percent(name: str) -> float | None:
        own = [value for _, value in columns[name]]
        return 100 * sum(own) / len(own) if own else None

    smape, mase = ([value for _, value in columns[name]] for name in MEANS)
    errors = [item.error for item in scored if item.error is not None]
    n = len(scored)
    return Summary(
        n=n,
        exact_match=percent("exact_match"),
        smape=fmean(smape) if smape else None,
        n_smape=len(smape),
        mase=fmean(mase) if mase else None,
        n_mase=len(mase),
        unparsed=sum(item.outcome not in WITH_VALUE for item in scored),
        outcomes=dict(Counter(item.outcome for item in scored)),
        problems=dict(Counter(item.problem for item in items if item.problem is not None)),
        bands={k: percent(f"within_{k}") or 0.0 for k in BANDS} if n else {},
        errors=profile(errors, sum(item.transitional for item in scored)),
        floor=percent("floor"),
        rounded=percent("rounded"),
        coarse=sum(item.coarse for item in scored),
        unscaled=dict(
            Counter(
                item.row.unit or item.unit
                for item in scored
                if item.error is not None and item.scaled is None
            )
        ),
        intervals=_intervals(columns) if intervals else None,
    )


def _intervals(columns: Mapping[str, list[tuple[str, float]]]) -> dict[str, tuple[float, float]]:
    """By metric; an infinite mean has none."""
    own = {
        name: Estimate.of_mean(column, name not in MEANS)
        for name, column in columns.items()
        if column and math.inf not in (value for _, value in column)
    }
    return {
        name: (each.low * factor, each.high * factor)
        for name, each in own.items()
        if each.low is not None and each.high is not None
        for factor in (1 if name in MEANS else 100,)
    }


def _columns(items: Sequence[Item]) -> dict[str, list[tuple[str, float]]]:
    """Clusters and values by metric."""
    values: dict[str, Callable[[Item], float | None]] = {
        "exact_match": lambda item: item.exact,
        "smape": lambda item: item.percentage,
        "mase": lambda item: item.scaled,
        "floor": lambda item: item.floor,
        "rounded": lambda item: item.rounded,
    }
    values |= {f"within_{k}": partial(_is_within, k) for k in BANDS}
    return {
        name: [(item.row.cluster, float(v)) for item in items if (v := of(item)) is not None]
        for name, of in values.items()
    }


def _is_within(band: int, item: Item) -> bool:
    return within(item.distance, band)
