"""Response files scored in both modes: `paper`, the published rules, and `v2`, ours.

In `v2` everything that scales an error comes from the gold answers of distinct questions, so that
neither the order of rows nor another model changes a figure. In `paper` the centroids come from all
rows given together, in the order given, as published.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from agent_env.families.temp_answers.declared import Declared, declared_line, declared_object
from agent_env.families.temp_answers.responses import Response, ResponseFile
from agent_env.families.temp_answers.scoring import paper_answers as paper
from agent_env.families.temp_answers.scoring.clusters import Clustering, cluster, given_centroids
from agent_env.families.temp_answers.scoring.time_answers import read_response
from agent_env.families.temp_answers.scoring.time_errors import (
    Scale,
    is_transitional,
    measure,
    scale_of,
)
from agent_env.families.temp_answers.scoring.time_units import Amount
from agent_env.families.temp_answers.scoring.time_wanted import Outcome, TimeAnswer

Group = tuple[str, ...]
"""Dataset, split and unit; in `paper` TTQA has one group for head and tail: dataset and unit."""


@dataclass(frozen=True, slots=True)
class Item:
    """One response measured in one mode."""

    row: Response
    outcome: Outcome
    exact: bool
    gold: Amount | None
    given: Amount | None
    error: Amount | None
    percentage: float | None
    """None where sMAPE is not defined."""
    scaled: float | None
    """None where MASE is not defined."""
    rule: str
    unit: str = ""
    scaled_by_item: float | None = None
    """`v2` only: by the paper's formula, but with the mean of the gold answers."""
    transitional: bool = False
    problem: str | None = None
    """Why the row has no gold that can be read; in `v2` such rows are in no mean."""
    scale: float | None = None
    """What an error is divided by for MASE."""
    coarse: bool = False
    """A date that was given less precisely than asked."""


@dataclass(frozen=True, slots=True)
class ModeScores:
    """All items by file, in the order of the rows, and what scaled them."""

    items: tuple[tuple[Item, ...], ...]
    centroids: Mapping[Group, tuple[float, ...]]
    """`paper`: by group; `v2`: empty."""
    scales: Mapping[Group, Scale]
    """`v2`: by group; `paper`: empty."""


# v2 -----------------------------------------------------------------------------------------------


def score_v2(files: Sequence[ResponseFile]) -> ModeScores:
    """Every row by the declared format and unit of its question."""
    known: dict[tuple[str | None, ...], Declared] = {}
    declared = [[_declared(file.dataset, row, known) for row in file.rows] for file in files]
    scales = _scales(files, declared)
    items = tuple(
        tuple(
            _item(file, row, d, scales.get(_group(file, row, d)))
            for row, d in zip(file.rows, own, strict=True)
        )
        for file, own in zip(files, declared, strict=True)
    )
    return ModeScores(items, {}, {group: s for group, s in scales.items() if s is not None})


def _declared(
    dataset: str, row: Response, known: dict[tuple[str | None, ...], Declared]
) -> Declared:
    """Questions recur with every model, so each is looked at once."""
    key = (dataset, row.key, row.label, row.format, row.unit, row.question_type)
    if key not in known:
        known[key] = (
            declared_line(row.format, row.unit, row.label)
            if dataset == "ttqa"
            else declared_object(row.unit, row.label, row.question, row.question_type)
        )
    return known[key]


def _group(file: ResponseFile, row: Response, declared: Declared) -> Group:
    wanted = declared.wanted
    return (file.dataset, row.split, wanted.kind, wanted.unit) if wanted else ()


def _scales(
    files: Sequence[ResponseFile], declared: Sequence[Sequence[Declared]]
) -> dict[Group, Scale | None]:
    golds: dict[Group, dict[tuple[str, str | None], Amount]] = defaultdict(dict)
    for file, own in zip(files, declared, strict=True):
        for row, d in zip(file.rows, own, strict=True):
            if d.gold is not None:
                golds[_group(file, row, d)][row.key, row.label] = d.gold
    return {group: scale_of(values.values()) for group, values in golds.items()}


def _item(file: ResponseFile, row: Response, declared: Declared, scale: Scale | None) -> Item:
    if declared.wanted is None or declared.gold is None:
        return Item(
            row, "unparsable", False, None, None, None, None, None, "", row.unit or "",
            problem=declared.problem,
        )  # fmt: skip
    wanted, gold = declared.wanted, declared.gold
    answer = _stopped(row, read_response(row.response, wanted, file.prefilled))
    found = measure(answer, gold, wanted, scale)
    return Item(
        row, found.outcome, found.exact, gold, answer.amount, found.error, found.percentage,
        found.scaled, answer.rule, wanted.unit, found.scaled_by_item,
        is_transitional(found.error, wanted, row.years_only),
        scale=scale.deviation if scale else None,
        coarse=answer.outcome == "parsed" and answer.amount is None,
    )  # fmt: skip


def _stopped(row: Response, answer: TimeAnswer) -> TimeAnswer:
    """The server knows better than the text whether a reply was cut."""
    if answer.outcome != "parsed" and row.stopped == "length":
        return replace(answer, outcome="truncated")
    return answer


# paper --------------------------------------------------------------------------------------------


def score_paper(
    files: Sequence[ResponseFile],
    centroids: Mapping[Group, Sequence[float]] | None = None,
    clock: date = paper.CLOCK,
    clustered: bool = True,
) -> ModeScores:
    """Every row by the published rules; `clustered` False leaves MASE out."""
    labels: dict[tuple[str | None, ...], paper.PaperReading] = {}
    found = [[_paper_item(file, row, labels, clock) for row in file.rows] for file in files]
    groups = _by_group(files, found)
    own: dict[tuple[int, int], float] = {}
    used: dict[Group, tuple[float, ...]] = {}
    if clustered:
        for group, places in groups.items():
            made = _clustering(group, [v for _, v in places], centroids)
            used[group] = made.centroids
            own.update(zip((place for place, _ in places), made.own(), strict=True))
    items = tuple(
        tuple(
            _paper_scored(file.dataset, row, item, own.get((f, r)))
            for r, (row, item) in enumerate(zip(file.rows, rows, strict=True))
        )
        for f, (file, rows) in enumerate(zip(files, found, strict=True))
    )
    return ModeScores(items, used, {})


def _clustering(
    group: Group, values: Sequence[float], given: Mapping[Group, Sequence[float]] | None
) -> Clustering:
    if given and group in given:
        return given_centroids(values, given[group])
    return cluster(values)


def paper_group(dataset: str, split: str, unit: str) -> Group:
    """Which labels are clustered together."""
    return ("tot", split, unit) if dataset == "tot" else ("ttqa", unit)


def _by_group(
    files: Sequence[ResponseFile], found: Sequence[Sequence[paper.PaperItem]]
) -> dict[Group, list[tuple[tuple[int, int], float]]]:
    groups: dict[Group, list[tuple[tuple[int, int], float]]] = defaultdict(list)
    for f, (file, items) in enumerate(zip(files, found, strict=True)):
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
    read: Callable[[], paper.PaperReading]
    if file.dataset == "tot":
        key: tuple[str | None, ...] = ("tot", row.label)
        read = lambda: _object_label(row.label, clock)  # noqa: E731
    else:
        key = ("ttqa", row.label, row.format)
        read = lambda: _line_label(row, clock)  # noqa: E731
    if key not in labels:
        labels[key] = read()
    if row.response is None:
        given = paper.PaperReading(None, "no response")
    elif file.dataset == "tot":
        given = paper.read_object(row.response, file.prefilled, clock)
    elif row.format is None:
        given = paper.PaperReading(None, "no format")
    else:
        given = paper.read_line(row.response, row.format, clock)
    return paper.compare(given, labels[key], row.unit or "")


def _object_label(label: str | None, clock: date) -> paper.PaperReading:
    import ast

    try:
        found = ast.literal_eval(label or "")
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return paper.PaperReading(None, "no literal")
    if not isinstance(found, dict):
        return paper.PaperReading(None, "no object")
    return paper.read_keys(found, clock)


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
        "unparsable" if item.given is None else "parsed",
        item.error == 0,
        item.gold,
        item.given,
        item.error,
        paper.percentage_error(item.given, item.gold) if ratio else None,
        paper.scaled_error(item.given, item.gold, centroid),
        item.rule,
        unit,
        scale=None if item.gold is None or centroid is None else abs(item.gold - centroid),
        problem="the label cannot be read" if item.gold is None else None,
    )
