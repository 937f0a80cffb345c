"""The results of a study: conditions, differences, the tools check, use of tokens and
time, outcomes, and the main metric by groups of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, unit_of
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.statistics.noise import noise_notes
from agent_env.analysis.study import QUANTITIES, RARE
from agent_env.analysis.summary import on_forms
from agent_env.analysis.tools_check import tools_check_table, tools_checks


@Statistic("conditions", order=10, section="Results", is_main=True).of
def conditions(comparison: Comparison) -> ResultTable:
    metrics, study = comparison.study.metrics, comparison.study
    rows = []
    unscored = any(arm.outcomes["scorer_failed"] for arm in study.arms)
    kinds = ("unreadable", "failed", "unfinished", *(["scorer_failed"] if unscored else []))
    for i, arm in enumerate(study.arms):
        outcomes = arm.outcomes
        scores = [comparison.means[name][i].cell for name in metrics]
        troubles = [outcomes[kind] for kind in kinds]
        rows.append((arm.label, arm.asked, len(arm.finished), *troubles, arm.missing, *scores,
                     comparison.of_all[i].cell))  # fmt: skip
    columns = (
        Column("condition"),
        Column("episodes", 0),
        Column("finished", 0, rank=2),
        *(Column(name.replace("_", " "), 0, if_any=True) for name in (*kinds, "never begun")),
        *(
            Column(name, rank=0 if name == comparison.metric else i + 3)
            for i, name in enumerate(metrics)
        ),
        Column(f"{comparison.of_all_metric}, counting failures as 0", rank=1),
    )
    methods = {e.method for name in metrics for e in comparison.means[name] if e.method}
    notes = (
        f"{len(study.samples)} samples in {comparison.cluster_count} clusters. Means are over "
        "samples, repeats of one sample averaged first; unreadable answers score 0. Failed, "
        "unfinished and never begun episodes enter no mean but the one that counts them as 0.",
        *(["Episodes whose scorer failed enter no column."] if unscored else []),
        *_on_errors(comparison),
        *on_forms(arm.condition for arm in study.arms),
        f"95 % intervals: {', '.join(sorted(methods))}.",
        *noise_notes(comparison),
        *comparison.remarks,
    )
    return ResultTable("conditions", f"Conditions of {study.task}", columns, tuple(rows), notes)


def _on_errors(comparison: Comparison) -> Iterator[str]:
    """Which metrics are better where they are less, and over how many samples they are means."""
    for name in comparison.study.metrics:
        if name in comparison.study.error_metrics:
            counts = ", ".join(
                f"{arm.label} {estimate.samples}"
                for arm, estimate in zip(comparison.study.arms, comparison.means[name], strict=True)
            )
            yield f"{name}: the less the better; over the samples where it is defined: {counts}."


@Statistic("differences", order=20, section="Results", is_main=True).of
def differences(comparison: Comparison) -> ResultTable:
    """The planned differences with interval, tests, and what could be resolved."""
    effect = comparison.options.target_effect
    margin = comparison.options.margin
    columns = (
        Column("difference"), Column("status"), Column(comparison.metric, 3, signed=True),
        Column("95 % CI, simultaneous", 3, signed=True, rank=4),
        Column("better", 0, rank=3), Column("worse", 0, rank=3), Column("p", rank=5),
        Column("p (Holm)"), Column("p McNemar, exact", rank=7), Column("p McNemar, mid", rank=7),
        Column("p TOST", rank=6), Column("p TOST (Holm)"),
        Column("minimum detectable effect", rank=1), Column(f"n for {effect:g}", 0, rank=2),
        Column("pairs", 0), Column("unpaired", 0, if_any=True),
    )  # fmt: skip
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (c.name, "exploratory" if c.planned.is_exploratory else None, c.difference.cell,
         c.simultaneous and (None, *c.simultaneous), c.better, c.worse, c.p_value, c.p_holm,
         c.p_mcnemar, c.p_mcnemar_mid, c.p_equivalence, c.p_equivalence_holm, c.detectable,
         c.needed, c.pairs, c.unpaired)
        for c in comparison.contrasts
    )  # fmt: skip
    tested = sum(c.p_value is not None for c in comparison.contrasts)
    how = (
        "p: sign-flip permutation test, mid-p, two-sided; Holm's correction over the "
        f"{tested} {'test' if tested == 1 else 'tests'} of this table."
    )
    notes = (
        f"Paired by sample, repeats averaged. {how if tested else 'Nothing was to be tested.'}",
        "p McNemar, exact: conservative; its mid-p form is close to its level.",
        *_on_columns(comparison.contrasts, margin, effect),
        *noise_notes(comparison),
    )
    return ResultTable("differences", "Differences, paired by sample", columns, rows, notes)


def _on_columns(
    contrasts: Sequence[Contrast], margin: float | None, effect: float
) -> Iterator[str]:
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
    if any(c.detectable is not None for c in contrasts):
        yield "Minimum detectable effect: the true difference found in 80 % of cases at 5 %."
    if any(c.needed is not None for c in contrasts):
        yield f"n for {effect:g}: samples that show such a difference in 80 % of cases at 5 %."


@Statistic("tools_check", order=30, section="Results", is_main=True, in_score=True).of
def tools_check(comparison: Comparison) -> ResultTable:
    return tools_check_table(tools_checks(comparison.study.arms))


DIGITS = {"cost_usd": 4, "steps": 1, "tool_calls": 1, "duration_s": 2}
"""Of the quantities; tokens have none."""
RANKS = {"tool_calls": 2, "duration_s": 1, **dict.fromkeys(RARE, 3)}


@Statistic("use", order=40, section="Results").of
def use(comparison: Comparison) -> ResultTable:
    present = [
        name
        for name in QUANTITIES
        if any(estimate.value is not None for estimate in comparison.means[name])
    ]
    rows = tuple(
        (arm.label, *(comparison.means[name][i].cell for name in present))
        for i, arm in enumerate(comparison.study.arms)
    )
    columns = (
        Column("condition"),
        *(Column(name, DIGITS.get(name, 0), rank=RANKS.get(name, 0)) for name in present),
    )
    unknown = [name for name in QUANTITIES if name not in present]
    notes = ["Means over samples, repeats averaged first; cluster bootstrap intervals."]
    if unknown:
        notes.append(f"Not known for these runs: {', '.join(unknown)}.")
    if any(row[k] == (None, None, None) for row in rows for k in range(1, len(row))):
        notes.append("A dash: unknown for at least one episode, or none finished.")
    return ResultTable("use", "What an episode uses", columns, rows, tuple(notes))


@Statistic("outcomes", order=50, section="Results").of
def outcomes(comparison: Comparison) -> ResultTable:
    rows = []
    for arm in comparison.study.arms:
        readable = [o for o in arm.observations if o.absent is not None and o.extra is not None]
        shares: list[Cell] = [None] * 4
        if readable:
            kinds = [(bool(o.absent), bool(o.extra)) for o in readable]
            cases = ((False, False), (True, False), (False, True), (True, True))
            shares = [kinds.count(kind) / len(readable) for kind in cases]
        rows.append((arm.label, len(readable), *shares))
    if not any(row[1] for row in rows):  # the logs of other tools have scores alone
        rows = []
    heads = ("right", "only missing", "only extra", "both")
    columns = (Column("condition"), Column("answers read", 0), *(Column(h) for h in heads))
    notes = (
        "Shares of the answers that could be read: gold values missing, values too many, or both.",
    )
    return ResultTable("outcomes", "How answers miss", columns, tuple(rows), notes)


def breakdown(comparison: Comparison, name: str) -> ResultTable:
    """The main metric by value of a group; arms by column, then the shortcuts."""
    by_value = comparison.by_group(name, comparison.metric)
    baselines = comparison.shortcut_arms
    shortcuts = comparison.by_group(name, comparison.metric, baselines) if baselines else {}
    labels = [arm.label for arm in (*comparison.study.arms, *baselines)]
    rows = tuple(
        (value, len(comparison.groups[name][value]),
         *(e.cell for e in (*estimates, *shortcuts.get(value, ()))))
        for value, estimates in by_value.items()
    )  # fmt: skip
    columns = (Column(name), Column("samples", 0), *(Column(label) for label in labels))
    many = sum(len(rows) for rows in comparison.groups[name].values())
    notes: tuple[str, ...] = (
        ("A sample stands under each of its values.",) if many > len(comparison.study.samples)
        else ()
    )  # fmt: skip
    notes += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    safe = name.replace(" ", "-")
    return ResultTable(f"by-{safe}", f"{comparison.metric} by {name}", columns, rows, notes)
