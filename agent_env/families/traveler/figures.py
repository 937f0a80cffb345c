"""TRAVELER's answers by configuration, model, category, template and size: the slides' Tables 4, 5
and 6 as layouts, and accuracy over the number of events.

Means are over finished episodes, with unreadable answers as 0; failed episodes are counted apart.
Intervals are 95 % CIs (Wilson), with the questions on one list of events as one cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.intervals import cluster_share_interval
from agent_env.families.traveler.configurations import CONFIGURATIONS, DEFAULT
from agent_env.families.traveler.sample import CATEGORIES, TEMPLATES, TravelerSample
from agent_env.families.traveler.task import METRICS
from agent_env.records.escaping import csv_text, markdown_text
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Episode, Score

CELLS = "each the mean, its 95 % interval and its number of answers"
CRISP = "vague questions are left out, which the accuracy of score counts"


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its interval and its number of answers."""

    value: float
    low: float
    high: float
    n: int


Cell = str | float | Mean | None


@dataclass(frozen=True, slots=True)
class ScoredEpisode:
    """One finished episode."""

    model: str
    condition: str
    configuration: str
    category: str
    template: str
    size: int
    cluster: str
    """The list of events."""
    accuracy: float
    of_ceiling: float
    ceiling: float
    always_no: float
    ignore_time: float
    """Of the answer that ignores the time expression."""

    @property
    def label(self) -> str:
        """The model, with its condition where that is another than the list in the prompt."""
        return self.model if self.condition == "base" else f"{self.model} · {self.condition}"


@dataclass(frozen=True, slots=True)
class SlideTable:
    """A table as text, Markdown or CSV."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """None where there is nothing to average."""

    def markdown(self) -> str:
        texts = (self.columns, *map(_texts, self.rows))
        lines = [tuple(map(markdown_text, line)) for line in texts]
        lines.insert(1, ("---",) * len(self.columns))
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{markdown_text(self.title)}\n\n{body}\n"

    def csv(self) -> str:
        split = [
            any(isinstance(row[at], Mean) for row in self.rows) for at in range(len(self.columns))
        ]
        parts: list[list[tuple[Cell, ...]]] = [
            [
                (name, *(f"{name} {part}" for part in PARTS * wide))
                for name, wide in zip(self.columns, split, strict=True)
            ],
            *(
                [_wide(cell) if wide else (cell,) for cell, wide in zip(row, split, strict=True)]
                for row in self.rows
            ),
        ]
        return csv_text([cell for cells in line for cell in cells] for line in parts)

    def text(self) -> str:
        lines = [self.columns, *map(_texts, self.rows)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        padded = (
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines
        )
        return f"{self.title}\n\n" + "\n".join(line.rstrip() for line in padded) + "\n"


PARTS = ("low", "high", "n")
"""The columns behind a mean's value in CSV."""


def _wide(cell: Cell) -> tuple[Cell, ...]:
    if isinstance(cell, Mean):
        return cell.value, cell.low, cell.high, cell.n
    return cell, None, None, None


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(_text(cell) for cell in row)


def _text(cell: Cell) -> str:
    """Two decimals without the zero before the point, as the slides write them."""
    if cell is None:
        return "-"
    if isinstance(cell, Mean):
        return f"{_text(cell.value)} [{_text(cell.low)}, {_text(cell.high)}] {cell.n}"
    return cell if isinstance(cell, str) else f"{cell:.2f}".removeprefix("0")


def scored_episodes(
    manifest: Manifest,
    samples: Iterable[TravelerSample],
    scored: Iterable[tuple[Episode, Score]],
    constant: Mapping[str, float],
    time_ignored: Mapping[str, float],
) -> list[ScoredEpisode]:
    """The finished episodes of a run; `constant` and `time_ignored` have the shortcuts' accuracy by
    sample."""
    by_id = {sample.id: sample for sample in samples}
    name = DEFAULT if manifest.prompt == "default" else manifest.prompt
    if manifest.prompt_file is not None:
        name = manifest.prompt_file.name
    episodes = []
    for _, score in scored:
        if score.outcome in ("read", "unreadable"):
            sample = by_id[score.sample]
            run = (manifest.model, score.condition, name)
            kind = (sample.category, sample.template, sample.size)
            accuracy, of_ceiling, ceiling = (score.metrics[m] for m in METRICS)
            cluster = sample.materials[0] if sample.materials else sample.id
            shortcuts = (constant[score.sample], time_ignored[score.sample])
            episodes.append(
                ScoredEpisode(*run, *kind, cluster, accuracy, of_ceiling, ceiling, *shortcuts)
            )
    return episodes


def configurations_table(rows: Sequence[ScoredEpisode]) -> SlideTable:
    """Table 4: accuracy of each configuration by number of events, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    sizes = sorted({row.size for row in crisp})
    cells = means(crisp, lambda row: (row.condition, row.configuration, row.size))
    title = f"Accuracy by configuration and number of events (Table 4), {CELLS}; {CRISP}"
    return _by_configuration(title, crisp, sizes, cells)


def models_table(rows: Sequence[ScoredEpisode]) -> SlideTable:
    """Table 5: accuracy of each configuration by model, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    cells = means(crisp, lambda row: (row.condition, row.configuration, row.model))
    title = f"Accuracy by configuration and model (Table 5), {CELLS}; {CRISP}"
    models = list(dict.fromkeys(row.model for row in crisp))
    return _by_configuration(title, crisp, models, cells)


def _by_configuration(
    title: str,
    rows: Sequence[ScoredEpisode],
    columns: Sequence[Hashable],
    values: Mapping[Hashable, Mean],
) -> SlideTable:
    used = {row.configuration for row in rows}
    names = [*(n for n in CONFIGURATIONS if n in used), *sorted(used - CONFIGURATIONS.keys())]
    table: list[tuple[Cell, ...]] = []
    for condition in dict.fromkeys(row.condition for row in rows):
        for name in names:
            cells = [values.get((condition, name, column)) for column in columns]
            if any(cells):
                table.append((condition, *_parts(name), *cells, _average(cells)))
    heads = ("condition", "manner", "dates", "events as", *map(str, columns), "average")
    return SlideTable(title, heads, tuple(table))


def categories_table(rows: Sequence[ScoredEpisode]) -> SlideTable:
    """Table 6: accuracy by category and by template, followed by what puts it into perspective:
    the ceiling of vague questions, the constant answer, the answer that ignores the time."""
    vague = [row for row in rows if row.category == "vague"]
    parts = (
        (rows, "accuracy", CATEGORIES, "{}"),
        (rows, "accuracy", TEMPLATES, "{}"),
        (vague, "of_ceiling", ("vague",), "{}, of the ceiling"),
        (vague, "ceiling", ("vague",), "{}, the ceiling"),
        (rows, "always_no", CATEGORIES, "{}, always no, nobody, 0, never"),
        (rows, "always_no", TEMPLATES, "{}, always no, nobody, 0, never"),
        (rows, "ignore_time", CATEGORIES, "{}, the time ignored"),
        (rows, "ignore_time", TEMPLATES, "{}, the time ignored"),
    )
    table: list[tuple[Cell, ...]] = []
    for part, value, names, title in parts:
        by_template = names is TEMPLATES
        values = means(part, lambda r: (r.template if by_template else r.category, r.label), value)  # noqa: B023
        for name in names:
            cells = [values.get((name, column)) for column in labels(rows)]
            if any(cell is not None for cell in cells):
                table.append((title.format(name), *cells, _average(cells)))
    heads = ("questions", *labels(rows), "average")
    return SlideTable(f"Accuracy by category and template (Table 6), {CELLS}", heads, tuple(table))


def lengths_table(rows: Sequence[ScoredEpisode]) -> SlideTable:
    """Figures 4 to 6 as a table: accuracy by category and number of events."""
    values = means(rows, lambda row: (row.category, row.size, row.label))
    kinds = sorted(
        {(row.category, row.size) for row in rows}, key=lambda kind: (_order(kind[0]), kind[1])
    )
    table = [
        (category, str(size), *(values.get((category, size, name)) for name in labels(rows)))
        for category, size in kinds
    ]
    heads = ("category", "events", *labels(rows))
    return SlideTable(
        f"Accuracy by number of events (Figures 4 to 6), {CELLS}", heads, tuple(table)
    )


def means(
    rows: Iterable[ScoredEpisode], key: Callable[[ScoredEpisode], Hashable], value: str = "accuracy"
) -> dict[Hashable, Mean]:
    """The mean of a value by key."""
    values: dict[Hashable, list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        values[key(row)].append((row.cluster, getattr(row, value)))
    return {name: _mean(pairs) for name, pairs in values.items()}


def _mean(values: Sequence[tuple[str, float]]) -> Mean:
    mean = fmean(value for _, value in values)
    return Mean(mean, *cluster_share_interval(values), len(values))


def labels(rows: Iterable[ScoredEpisode]) -> list[str]:
    """In the order of their appearance."""
    return list(dict.fromkeys(row.label for row in rows))


def _order(category: str) -> int:
    return [str(name) for name in CATEGORIES].index(category)


def _parts(name: str) -> tuple[str, str, str]:
    """Manner, dates and form; a prompt of the user's own has its name only."""
    own = CONFIGURATIONS.get(name)
    return (own.manner, own.dates, own.form) if own else (name, "-", "-")


def _average(cells: Sequence[Mean | None]) -> float | None:
    """The mean of the cells that have a value, each counted once, as in the slides."""
    values = [cell.value for cell in cells if cell is not None]
    return fmean(values) if values else None
