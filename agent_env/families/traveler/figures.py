"""TRAVELER's answers by configuration, model, category, template and size: the slides' Tables 4, 5
and 6 as layouts, and accuracy over the number of events.

Means are over finished episodes, unreadable answers included as 0; failed ones are counted apart.
Intervals are Wilson's at 95 %, questions on one list of events counting as one piece of evidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.intervals import cluster_share_interval
from agent_env.families.traveler.configurations import CHOSEN, CONFIGURATIONS
from agent_env.families.traveler.sample import CATEGORIES, TEMPLATES, TravelerSample
from agent_env.records.escaping import csv_text, markdown_text
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Episode, Score

CELLS = "each the mean, its 95 % interval and its number of answers"
CRISP = "vague questions are left out, which the accuracy of score counts"


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean with its interval, and over how many answers it is."""

    value: float
    low: float
    high: float
    n: int


Cell = str | float | Figure | None


@dataclass(frozen=True, slots=True)
class Answered:
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

    @property
    def label(self) -> str:
        """The model, with its condition where that is another than the list in the prompt."""
        return self.model if self.condition == "base" else f"{self.model} · {self.condition}"


@dataclass(frozen=True, slots=True)
class Sheet:
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
            any(isinstance(row[at], Figure) for row in self.rows) for at in range(len(self.columns))
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
"""What stands behind a figure's value in CSV."""


def _wide(cell: Cell) -> tuple[Cell, ...]:
    if isinstance(cell, Figure):
        return cell.value, cell.low, cell.high, cell.n
    return cell, None, None, None


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(_text(cell) for cell in row)


def _text(cell: Cell) -> str:
    """Two decimals without the zero before the point, as the slides write them."""
    if cell is None:
        return "-"
    if isinstance(cell, Figure):
        return f"{_text(cell.value)} [{_text(cell.low)}, {_text(cell.high)}] {cell.n}"
    return cell if isinstance(cell, str) else f"{cell:.2f}".removeprefix("0")


def answered(
    manifest: Manifest,
    samples: Iterable[TravelerSample],
    scored: Iterable[tuple[Episode, Score]],
) -> list[Answered]:
    """The finished episodes of a run."""
    by_id = {sample.id: sample for sample in samples}
    name = CHOSEN if manifest.prompt == "default" else manifest.prompt
    if manifest.prompt_file is not None:
        name = manifest.prompt_file.name
    found = []
    for _, score in scored:
        if score.outcome in ("read", "unreadable"):
            sample = by_id[score.sample]
            asked = (manifest.model, score.condition, name)
            kind = (sample.category, sample.template, sample.size)
            worth = (score.metrics[m] for m in ("accuracy", "of_ceiling", "ceiling", "always_no"))
            listed = sample.materials[0] if sample.materials else sample.id
            found.append(Answered(*asked, *kind, listed, *worth))
    return found


def configurations_table(rows: Sequence[Answered]) -> Sheet:
    """Table 4: accuracy of each configuration by number of events, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    sizes = sorted({row.size for row in crisp})
    found = means(crisp, lambda row: (row.condition, row.configuration, row.size))
    title = f"Accuracy by configuration and number of events (Table 4), {CELLS}; {CRISP}"
    return _by_configuration(title, crisp, sizes, found)


def models_table(rows: Sequence[Answered]) -> Sheet:
    """Table 5: accuracy of each configuration by model, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    found = means(crisp, lambda row: (row.condition, row.configuration, row.model))
    title = f"Accuracy by configuration and model (Table 5), {CELLS}; {CRISP}"
    models = list(dict.fromkeys(row.model for row in crisp))
    return _by_configuration(title, crisp, models, found)


def _by_configuration(
    title: str,
    rows: Sequence[Answered],
    columns: Sequence[Hashable],
    found: Mapping[Hashable, Figure],
) -> Sheet:
    asked = {row.configuration for row in rows}
    names = [*(n for n in CONFIGURATIONS if n in asked), *sorted(asked - CONFIGURATIONS.keys())]
    table: list[tuple[Cell, ...]] = []
    for condition in dict.fromkeys(row.condition for row in rows):
        for name in names:
            cells = [found.get((condition, name, column)) for column in columns]
            if any(cells):
                table.append((condition, *_parts(name), *cells, _average(cells)))
    heads = ("condition", "manner", "dates", "events as", *map(str, columns), "average")
    return Sheet(title, heads, tuple(table))


def categories_table(rows: Sequence[Answered]) -> Sheet:
    """Table 6: accuracy by category and by template; below it what a vague score has to be read
    against: its ceiling, its share of the ceiling, the constant answer."""
    vague = [row for row in rows if row.category == "vague"]
    parts = (
        (rows, "accuracy", CATEGORIES, "{}"),
        (rows, "accuracy", TEMPLATES, "{}"),
        (vague, "of_ceiling", ("vague",), "{}, of the ceiling"),
        (vague, "ceiling", ("vague",), "{}, the ceiling"),
        (rows, "always_no", CATEGORIES, "{}, always no, nobody, 0, never"),
    )
    table: list[tuple[Cell, ...]] = []
    for kept, value, names, title in parts:
        by_template = names is TEMPLATES
        found = means(kept, lambda r: (r.template if by_template else r.category, r.label), value)  # noqa: B023
        for name in names:
            cells = [found.get((name, column)) for column in labels(rows)]
            if any(cell is not None for cell in cells):
                table.append((title.format(name), *cells, _average(cells)))
    heads = ("questions", *labels(rows), "average")
    return Sheet(f"Accuracy by category and template (Table 6), {CELLS}", heads, tuple(table))


def lengths_table(rows: Sequence[Answered]) -> Sheet:
    """Figures 4 to 6 as a table: accuracy by category and number of events."""
    found = means(rows, lambda row: (row.category, row.size, row.label))
    kinds = sorted(
        {(row.category, row.size) for row in rows}, key=lambda kind: (_order(kind[0]), kind[1])
    )
    table = [
        (category, str(size), *(found.get((category, size, name)) for name in labels(rows)))
        for category, size in kinds
    ]
    heads = ("category", "events", *labels(rows))
    return Sheet(f"Accuracy by number of events (Figures 4 to 6), {CELLS}", heads, tuple(table))


def means(
    rows: Iterable[Answered], key: Callable[[Answered], Hashable], value: str = "accuracy"
) -> dict[Hashable, Figure]:
    """The mean of a value by key."""
    found: dict[Hashable, list[tuple[str, float]]] = defaultdict(list)
    for row in rows:
        found[key(row)].append((row.cluster, getattr(row, value)))
    return {name: _figure(values) for name, values in found.items()}


def _figure(values: Sequence[tuple[str, float]]) -> Figure:
    mean = fmean(value for _, value in values)
    return Figure(mean, *cluster_share_interval(values), len(values))


def labels(rows: Iterable[Answered]) -> list[str]:
    """In the order of their appearance."""
    return list(dict.fromkeys(row.label for row in rows))


def _order(category: str) -> int:
    return [str(name) for name in CATEGORIES].index(category)


def _parts(name: str) -> tuple[str, str, str]:
    """Manner, dates and form; a prompt of the user's own has its name only."""
    known = CONFIGURATIONS.get(name)
    return (known.manner, known.dates, known.form) if known else (name, "-", "-")


def _average(cells: Sequence[Figure | None]) -> float | None:
    """Over what there is, each cell counting once, as in the slides."""
    known = [cell.value for cell in cells if cell is not None]
    return fmean(known) if known else None
