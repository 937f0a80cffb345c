"""A paper's values beside ours, with interval, n and a verdict.

A value of ours is equal to the printed digit, or the paper's lies inside or outside of the sampling
interval of ours, or the two are not comparable, with the reason: another model, other questions, or
a part of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agent_env.features.papers.paper import Experiment, Quantity
from agent_env.sdk.family import Shortcut
from agent_env.sdk.results import Cell, Column, Estimate, Measurement, ResultTable


@dataclass(frozen=True, slots=True)
class PaperRow:
    row: str
    model: str
    gold: str
    """The reading of the gold answers, such as published or corrected; "" if there is one only."""
    quantity: Quantity
    paper: float | None
    ours: Estimate
    verdict: str
    paper_row: str = ""
    """The paper's row; "" where the paper has none for it."""
    theirs: Estimate | None = None
    """Ours by the scorer that the paper's authors published; None where there is none."""

    @property
    def is_shortcut(self) -> bool:
        """Whether no model answered, but a shortcut."""
        return self.row.startswith(Shortcut.ROW)

    @property
    def is_measured(self) -> bool:
        """Whether a model has a value."""
        return self.ours.value is not None and not self.is_shortcut


@dataclass(frozen=True, slots=True)
class ExperimentResult:
    """A table or figure of the paper with ours beside it."""

    experiment: Experiment
    rows: tuple[PaperRow, ...]
    """Those of ours, each with the paper's value where it has one."""
    notes: tuple[str, ...] = ()
    not_reproduced: str = ""
    """Why there is no figure of ours; "" where there are some."""

    @property
    def is_reproduced(self) -> bool:
        """Whether there is a figure of ours."""
        return any(row.is_measured for row in self.rows)


EQUAL, INSIDE, OUTSIDE = (
    "equal to the printed digit", "inside the sampling interval", "outside the sampling interval",
)  # fmt: skip
NOT_COMPARABLE = "not comparable"
Key = tuple[str, str, str]
"""Row, model and quantity of a measurement."""


def comparison_rows(
    ours: Sequence[tuple[str, Measurement]],
    experiment: Experiment,
    paper_row: Mapping[str, str],
    incomparable: Callable[[Measurement], str],
    theirs: Mapping[Key, Estimate],
) -> tuple[PaperRow, ...]:
    """Our measurements with the reading of the gold, each beside the paper's value. `paper_row`
    maps our models to the paper's rows, `theirs` holds ours by the authors' scorer."""
    quantities, published = experiment.quantities, experiment.published
    places = {quantity.name: k for k, quantity in enumerate(quantities)}
    rows = []
    for gold, each in ours:
        own = each.row if each.row in published else paper_row.get(each.row, "")
        quantity, place = quantities[places[each.quantity]], places[each.quantity]
        value = published[own][place] if own in published else None
        by_authors = None  # by the files' own gold, which is the first reading
        if gold == ours[0][0]:
            by_authors = theirs.get((each.row, each.model, each.quantity))
        if value is None:
            verdict = each.remark or _no_value(each.estimate, own, experiment.span(quantity))
        else:
            reason = each.incomparable or incomparable(each)
            verdict = _verdict(value, by_authors or each.estimate, reason, quantity)
        rows.append(
            PaperRow(
                each.row, each.model, gold, quantity, value, each.estimate, verdict, own, by_authors
            )
        )
    return tuple(rows)


def _verdict(paper: float, ours: Estimate, incomparable: str, quantity: Quantity) -> str:
    """The verdict on a value of ours beside the paper's."""
    if ours.value is None:
        return f"{NOT_COMPARABLE}: {ours.method or 'no finished episode'}"
    if incomparable:
        return f"{NOT_COMPARABLE}: {incomparable}"
    if abs(ours.value - paper) <= 0.5 * 10**-quantity.digits + 1e-9:
        return EQUAL
    if ours.low is None or ours.high is None:
        reason = f" ({ours.method})" if ours.method else ""
        return f"{NOT_COMPARABLE}: another value, and ours has no interval{reason}"
    return INSIDE if ours.low - 1e-9 <= paper <= ours.high + 1e-9 else OUTSIDE


def _no_value(ours: Estimate, own: str, span: str | None) -> str:
    """What is in the place of a verdict where the paper has no value."""
    if ours.value is None:
        return ours.method or "no finished episode"
    return "the paper prints no value" if own or span is None else "no row of the paper"


def experiment_table(result: ExperimentResult, brief: bool = False) -> ResultTable:
    """A row for each value of ours, beside the paper's and the range of all its rows. The
    difference and the verdict are of ours under the authors' rules, where they published a scorer.
    `brief`: the reason of a verdict that several rows have stands once, below."""
    own = result.experiment
    digits = max((quantity.digits for quantity in own.quantities), default=1)
    columns = (
        Column("row"), Column("model"), Column("gold"), Column("quantity"), Column("unit"),
        Column("paper", digits), Column("its rows"), Column("ours (95 % CI)", digits),
        Column("ours under their rules", digits, rank=1),
        Column("difference", digits, signed=True, rank=2),
        Column("n", 0), Column("verdict"),
    )  # fmt: skip
    verdicts = Counter(row.verdict for row in result.rows)
    common = [v for v, number in verdicts.items() if brief and number > 1 and ": " in v]
    rows: list[tuple[Cell, ...]] = []
    for row in result.rows:
        verdict = row.verdict.partition(": ")[0] if row.verdict in common else row.verdict
        paper = None if row.paper is None else float(row.paper)
        compared = (row.theirs or row.ours).value
        rows.append((
            row.row, row.model or None, row.gold or None, row.quantity.name, row.quantity.unit,
            paper, own.span(row.quantity), row.ours.cell,
            None if row.theirs is None else row.theirs.cell,
            None if compared is None or paper is None else compared - paper,
            row.ours.samples, verdict,
        ))  # fmt: skip
    why = (f"Not reproduced: {result.not_reproduced}",) if result.not_reproduced else ()
    return ResultTable(own.name, own.title, columns, tuple(rows), (*why, *common, *result.notes))


def published_table(own: Experiment) -> ResultTable:
    """The paper's values as it prints them; without rows where it prints none."""
    columns = [Column(f"{each.name} ({each.unit})", each.digits) for each in own.quantities]
    rows = tuple(
        (name, *(None if value is None else float(value) for value in values))
        for name, values in own.published.items()
    )
    title = f"The paper's values of {own.name}"
    return ResultTable(f"{own.name}-paper", title, (Column("row"), *columns), rows)


def overview(results: Sequence[ExperimentResult]) -> ResultTable:
    """A line for each table and figure of the paper."""
    rows: list[tuple[Cell, ...]] = []
    for each in results:
        measured = [row for row in each.rows if row.is_measured]
        rows.append((
            each.experiment.name, each.experiment.title, len(measured),
            sum(row.paper is not None for row in measured),
            *(sum(row.verdict.startswith(verdict) for row in each.rows)
              for verdict in (EQUAL, INSIDE, OUTSIDE, NOT_COMPARABLE)),
            each.not_reproduced or None,
        ))  # fmt: skip
    columns = (
        Column("name"), Column("the paper's"), Column("values of ours", 0),
        Column("with a paper value", 0), Column("equal", 0), Column("inside the interval", 0),
        Column("outside", 0), Column(NOT_COMPARABLE, 0), Column("not reproduced because"),
    )  # fmt: skip
    return ResultTable("overview", "What is reproduced", columns, tuple(rows))
