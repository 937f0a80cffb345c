"""A paper's values beside ours: with interval, n, and why they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Cell, Column, ResultTable


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of a paper's table or figure."""

    name: str
    unit: str = "%"
    """Quantities of one unit share a panel of the figure."""
    digits: int = 1
    x: float | None = None
    """Its place on the axis where the paper draws a curve."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One of our figures, in the paper's unit."""

    row: str
    """A row of the paper, or the name of a model that we asked."""
    quantity: str
    estimate: Estimate
    why: str = ""
    """Why it may differ from the paper's, where this figure has a reason of its own."""
    model: str = ""
    """The model, where the row is not one."""


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One figure of the paper and ours; either may be missing."""

    row: str
    model: str
    gold: str
    """The reading of the gold answers, such as published or corrected; "" if there is one only."""
    quantity: Quantity
    paper: float | None
    ours: Estimate | None
    why: str
    paper_row: str = ""
    """The paper's row; "" where the paper has none for it."""


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """A table or figure of the paper with ours beside it."""

    name: str
    title: str
    quantities: tuple[Quantity, ...]
    published: Mapping[str, tuple[float | None, ...]]
    rows: tuple[PaperRow, ...]
    """Ours first, then what the paper has alone."""
    notes: tuple[str, ...] = ()
    not_reproduced: str = ""
    """Why there is no figure of ours; "" where there are some."""
    extra: tuple[ResultTable, ...] = field(default=())
    """Tables beside it, such as the shortcuts over the same questions."""

    @property
    def is_reproduced(self) -> bool:
        """Whether there is a figure of ours."""
        return any(row.ours is not None and row.ours.value is not None for row in self.rows)


def percent(estimate: Estimate) -> Estimate:
    """The estimate of a share in points of 100."""
    return scaled(estimate, 100)


def scaled(estimate: Estimate, factor: float) -> Estimate:
    """The estimate in another unit."""
    value, low, high = (
        None if each is None else each * factor
        for each in (estimate.value, estimate.low, estimate.high)
    )
    return Estimate(value, low, high, estimate.method, estimate.samples, estimate.clusters)


def measurements(
    table: ResultTable, columns: Mapping[str, str], n: str = "n", scale: float = 1
) -> Iterator[Measurement]:
    """A table of ours as measurements: `columns` maps its headings to the paper's quantities, its
    first column is the row, `n` the heading of the number of samples."""
    headings = [column.name for column in table.columns]
    count_at = headings.index(n) if n in headings else None
    for cells in table.rows:
        count = None if count_at is None else cells[count_at]
        samples = count if isinstance(count, int) else 0
        for heading, quantity in columns.items():
            if heading in headings:
                ours = scaled(_estimate(cells[headings.index(heading)], samples), scale)
                yield Measurement(str(cells[0]), quantity, ours)


def _estimate(cell: Cell, samples: int) -> Estimate:
    if isinstance(cell, tuple):
        return Estimate(*cell, samples=samples)
    return Estimate(None if isinstance(cell, str) else cell, samples=samples)


def comparison_rows(
    ours: Sequence[tuple[str, Measurement]],
    quantities: Sequence[Quantity],
    published: Mapping[str, tuple[float | None, ...]],
    paper_row: Mapping[str, str],
) -> tuple[PaperRow, ...]:
    """Our measurements with the reading of the gold, each beside the paper's value; then the values
    of the paper that nobody measured. `paper_row` maps our models to the paper's rows."""
    places = {quantity.name: k for k, quantity in enumerate(quantities)}
    rows, measured = [], set[tuple[str, str]]()
    for gold, each in ours:
        own = each.row if each.row in published else paper_row.get(each.row, "")
        place = places[each.quantity]
        value = published[own][place] if own in published else None
        measured.add((own, each.quantity))
        why = each.why or _why(value, each.estimate, own, published, place)
        quantity = quantities[place]
        rows.append(PaperRow(each.row, each.model, gold, quantity, value, each.estimate, why, own))
    for name, values in published.items():
        for quantity, value in zip(quantities, values, strict=True):
            if value is not None and (name, quantity.name) not in measured:
                rows.append(PaperRow(name, "", "", quantity, value, None, "not measured", name))
    return tuple(rows)


def _why(
    paper: float | None,
    ours: Estimate,
    own: str,
    published: Mapping[str, tuple[float | None, ...]],
    place: int,
) -> str:
    if ours.value is None:
        return ours.method or "no finished episode"
    if paper is not None:
        if ours.low is None or ours.high is None:
            return f"ours has no interval: {ours.method or 'too few samples'}"
        inside = ours.low - 1e-9 <= paper <= ours.high + 1e-9
        return "the paper's value lies in our interval" if inside else "outside of our interval"
    known = [v for values in published.values() if (v := values[place]) is not None]
    if own or not known:
        return "the paper prints no value"
    span = f"{min(known):g}" if len(known) == 1 else f"{min(known):g} to {max(known):g}"
    return f"no row of the paper; its rows have {span}"


def experiment_table(result: ExperimentResult, is_complete: bool = True) -> ResultTable:
    """The rows as a table; unless complete, without the values that nobody measured."""
    shown = [row for row in result.rows if is_complete or row.ours is not None]
    digits = max((quantity.digits for quantity in result.quantities), default=1)
    columns = (
        Column("row"), Column("model"), Column("gold"), Column("quantity"), Column("unit"),
        Column("paper", digits), Column("ours (95 % CI)", digits),
        Column("difference", digits, signed=True), Column("n", 0), Column("why they differ"),
    )  # fmt: skip
    notes = list(result.notes)
    if result.not_reproduced:
        notes.insert(0, f"Not reproduced: {result.not_reproduced}")
    if hidden := [row.row for row in result.rows if row.ours is None and not is_complete]:
        names = ", ".join(dict.fromkeys(hidden))
        notes.append(f"The paper also has {names}, which were not measured here.")
    rows = tuple(_cells(row) for row in shown)
    return ResultTable(result.name, result.title, columns, rows, tuple(notes))


def _cells(row: PaperRow) -> tuple[Cell, ...]:
    ours = row.ours
    value = None if ours is None else ours.value
    difference = None if value is None or row.paper is None else value - row.paper
    return (
        row.row, row.model or None, row.gold or None, row.quantity.name, row.quantity.unit,
        None if row.paper is None else float(row.paper), None if ours is None else ours.cell,
        difference, None if ours is None else ours.samples, row.why,
    )  # fmt: skip


def overview(results: Sequence[ExperimentResult]) -> ResultTable:
    """A line for each table and figure of the paper."""
    rows = tuple(
        (
            result.name, result.title, len(_measured(result)),
            sum(row.paper is not None for row in _measured(result)),
            sum(row.why.startswith("the paper's value lies") for row in result.rows),
            result.not_reproduced or None,
        )
        for result in results
    )  # fmt: skip
    columns = (
        Column("name"), Column("the paper's"), Column("values of ours", 0, is_kept=True),
        Column("with a paper value", 0), Column("paper's in our interval", 0),
        Column("not reproduced because"),
    )  # fmt: skip
    return ResultTable("overview", "What is reproduced", columns, rows)


def _measured(result: ExperimentResult) -> list[PaperRow]:
    return [row for row in result.rows if row.ours is not None and row.ours.value is not None]
