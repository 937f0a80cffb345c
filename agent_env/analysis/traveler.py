"""TRAVELER's answers by configuration, model, category, template and size: the slides' Tables 4, 5
and 6 as layouts, and accuracy over the number of events.

Means are over finished episodes, unreadable answers included as 0; failed ones are counted apart.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.manifest import Manifest
from agent_env.schema import Episode, Score
from agent_env.tasks.traveler.configurations import CHOSEN, CONFIGURATIONS
from agent_env.tasks.traveler.sample import CATEGORIES, TEMPLATES, TravelerSample

Cell = str | float | None


@dataclass(frozen=True, slots=True)
class Answered:
    """One finished episode."""

    model: str
    condition: str
    configuration: str
    category: str
    template: str
    size: int
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
        lines = [self.columns, ("---",) * len(self.columns), *map(_texts, self.rows)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return f"{self.title}\n\n{body}\n"

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([self.columns, *self.rows])
        return text.getvalue()

    def text(self) -> str:
        lines = [self.columns, *map(_texts, self.rows)]
        widths = [max(len(line[at]) for line in lines) for at in range(len(self.columns))]
        padded = (
            "  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)) for line in lines
        )
        return f"{self.title}\n\n" + "\n".join(line.rstrip() for line in padded) + "\n"


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(_text(cell) for cell in row)


def _text(cell: Cell) -> str:
    """Two decimals without the zero before the point, as the slides write them."""
    if cell is None:
        return "-"
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
            found.append(Answered(*asked, *kind, *worth))
    return found


def configurations_table(rows: Sequence[Answered]) -> Sheet:
    """Table 4: accuracy of each configuration by number of events, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    sizes = sorted({row.size for row in crisp})
    found = means(crisp, lambda row: (row.configuration, row.size))
    title = "Accuracy by configuration and number of events (Table 4)"
    return _by_configuration(title, crisp, sizes, found)


def models_table(rows: Sequence[Answered]) -> Sheet:
    """Table 5: accuracy of each configuration by model, explicit and implicit only."""
    crisp = [row for row in rows if row.category != "vague"]
    found = means(crisp, lambda row: (row.configuration, row.label))
    title = "Accuracy by configuration and model (Table 5)"
    return _by_configuration(title, crisp, labels(crisp), found)


def _by_configuration(
    title: str,
    rows: Sequence[Answered],
    columns: Sequence[Hashable],
    found: Mapping[Hashable, float],
) -> Sheet:
    asked = {row.configuration for row in rows}
    names = [*(n for n in CONFIGURATIONS if n in asked), *sorted(asked - CONFIGURATIONS.keys())]
    table = []
    for name in names:
        cells = [found.get((name, column)) for column in columns]
        table.append((*_parts(name), *cells, _average(cells)))
    heads = ("manner", "dates", "events as", *map(str, columns), "average")
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
    return Sheet("Accuracy by category and template (Table 6)", heads, tuple(table))


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
    return Sheet("Accuracy by number of events (Figures 4 to 6)", heads, tuple(table))


def means(
    rows: Iterable[Answered], key: Callable[[Answered], Hashable], value: str = "accuracy"
) -> dict[Hashable, float]:
    """The mean of a value by key."""
    found: dict[Hashable, list[float]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(getattr(row, value))
    return {name: fmean(values) for name, values in found.items()}


def labels(rows: Iterable[Answered]) -> list[str]:
    """In the order of their appearance."""
    return list(dict.fromkeys(row.label for row in rows))


def _order(category: str) -> int:
    return [str(name) for name in CATEGORIES].index(category)


def _parts(name: str) -> tuple[str, str, str]:
    """Manner, dates and form; a prompt of the user's own has its name only."""
    known = CONFIGURATIONS.get(name)
    return (known.manner, known.dates, known.form) if known else (name, "-", "-")


def _average(cells: Sequence[float | None]) -> float | None:
    """Over what there is, each cell counting once, as in the slides."""
    known = [cell for cell in cells if cell is not None]
    return fmean(known) if known else None
