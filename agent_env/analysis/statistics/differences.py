"""The planned differences with confidence interval, tests, and what could be resolved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic


def differences(comparison: Comparison) -> ResultTable:
    """The planned differences with interval, tests, and what could be resolved."""
    effect = comparison.options.target_effect
    columns = (
        Column("difference"), Column(comparison.metric, 3, signed=True), Column("better", 0),
        Column("worse", 0), Column("p"), Column("p (Holm)"), Column("p McNemar, exact"),
        Column("p McNemar, mid"), Column("minimum detectable effect"),
        Column(f"n for {effect:g}", 0), Column("pairs", 0), Column("unpaired", 0),
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
        *_on_power(comparison.contrasts, effect),
        *_grouped(comparison.contrasts),
    )
    return ResultTable("differences", "Differences, paired by sample", columns, rows, notes)


def _on_power(contrasts: Sequence[Contrast], effect: float) -> Iterator[str]:
    """What the columns on power mean, where they say anything."""
    if any(c.detectable is not None for c in contrasts):
        yield "Minimum detectable effect: the true difference found in 80 % of cases at 5 %."
    if any(c.needed is not None for c in contrasts):
        yield f"n for {effect:g}: samples that show such a difference in 80 % of cases at 5 %."


def _grouped(contrasts: Sequence[Contrast]) -> list[str]:
    """The words of all that is not simply significant, those of the same words together."""
    names: dict[str, list[str]] = {}
    for each in contrasts:
        if not each.is_significant:
            names.setdefault(each.words, []).append(each.name)
    return [f"{'; '.join(own)}: {words}" for words, own in names.items()]


def _difference_row(c: Contrast) -> tuple[Cell, ...]:
    return (
        c.name, c.difference.cell, c.better, c.worse, c.p_value, c.p_holm, c.p_mcnemar,
        c.p_mcnemar_mid, c.detectable, c.needed, c.pairs, c.unpaired,
    )  # fmt: skip


STATISTIC = Statistic("differences", differences, order=20, section="Results", is_main=True)
