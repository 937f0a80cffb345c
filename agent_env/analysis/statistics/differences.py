"""The planned differences with confidence interval, tests, and what could be resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.trends import unit_of


def differences(comparison: Comparison) -> ResultTable:
    """The planned differences with interval, tests, and what could be resolved."""
    effect = comparison.options.target_effect
    margin = comparison.options.margin
    columns = (
        Column("difference"), Column("status"), Column(comparison.metric, 3, signed=True),
        Column("95 % CI, simultaneous", 3, signed=True, is_secondary=True),
        Column("better", 0, is_secondary=True),
        Column("worse", 0, is_secondary=True, is_second=True),
        Column("p", is_secondary=True), Column("p (Holm)"),
        Column("p McNemar, exact", is_secondary=True),
        Column("p McNemar, mid", is_secondary=True),
        Column("p TOST", is_secondary=True), Column("p TOST (Holm)"),
        Column("minimum detectable effect"), Column(f"n for {effect:g}", 0, is_secondary=True),
        Column("pairs", 0), Column("unpaired", 0),
    )  # fmt: skip
    rows = tuple(_difference_row(c) for c in comparison.contrasts)
    tested = sum(c.p_value is not None for c in comparison.contrasts)
    how = (
        "p: sign-flip permutation test, mid-p, two-sided; Holm's correction over the "
        f"{tested} {'test' if tested == 1 else 'tests'} of this table."
    )
    if any(c.p_mcnemar is not None for c in comparison.contrasts):
        how += " The exact McNemar test is conservative; its mid-p form is close to its level."
    notes = (
        f"Paired by sample, repeats averaged. {how if tested else 'Nothing was to be tested.'}",
        *_on_kinds(comparison.contrasts, margin),
        *_on_power(comparison.contrasts, effect),
    )
    return ResultTable("differences", "Differences, paired by sample", columns, rows, notes)


def _on_kinds(contrasts: Sequence[Contrast], margin: float | None) -> Iterator[str]:
    """What the rarer columns and rows mean, where there are any."""
    if any(c.simultaneous is not None for c in contrasts):
        yield "Simultaneous intervals hold for all rows together (bootstrap max-t)."
    if margin is not None:
        yield (
            f"p TOST: two one-sided tests that no difference is larger than {margin:g}; Holm's "
            "correction over them."
        )
    for unit in dict.fromkeys(unit_of(c.planned.dose)[1] for c in contrasts if c.planned.dose):
        yield (
            f"A trend is per {unit}: a slope within samples, and an association, as the model "
            "chooses its dose; better and worse count the samples where it rises and falls."
        )
    if any(c.planned.is_exploratory for c in contrasts):
        yield "Exploratory: in no plan that was made before the data."


def _on_power(contrasts: Sequence[Contrast], effect: float) -> Iterator[str]:
    """What the columns on power mean, where they say anything."""
    if any(c.detectable is not None for c in contrasts):
        yield ("Minimum detectable effect: the true difference found in 80 % of cases at 5 %.")
    if any(c.needed is not None for c in contrasts):
        yield f"n for {effect:g}: samples that show such a difference in 80 % of cases at 5 %."


def _difference_row(c: Contrast) -> tuple[Cell, ...]:
    return (
        c.name, "exploratory" if c.planned.is_exploratory else None, c.difference.cell,
        c.simultaneous and (None, *c.simultaneous), c.better, c.worse, c.p_value, c.p_holm,
        c.p_mcnemar, c.p_mcnemar_mid, c.p_equivalence, c.p_equivalence_holm, c.detectable,
        c.needed, c.pairs, c.unpaired,
    )  # fmt: skip


DIFFERENCES = Statistic("differences", differences, order=20, section="Results", is_main=True)
