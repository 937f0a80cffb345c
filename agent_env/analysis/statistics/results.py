"""The results of a study: the conditions in one table, every contrast with its test, the tools
check, use of tokens and time, outcomes, and the main metric by groups of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import MARK, QUANTITIES, RARE, Arm
from agent_env.analysis.summary import TROUBLES, notes_on_calls, on_forms
from agent_env.analysis.tools_check import tools_check_table, tools_checks, tools_problems
from agent_env.analysis.totals import sum_known
from agent_env.tasks.shortcuts import Shortcut

MISSING = "never begun"


@Statistic("conditions", order=10, section="Results").of
def conditions(comparison: Comparison) -> ResultTable:
    """Each condition with its score, what it gains, and what it costs."""
    return conditions_table(
        comparison, f"How well does each condition do on {comparison.study.task}?"
    )


def conditions_table(comparison: Comparison, title: str, notes: Sequence[str] = ()) -> ResultTable:
    """`notes` come last below it."""
    study, scores = comparison.study, comparison.estimates_of(comparison.metric)
    contrasts: dict[str, Contrast] = {}
    for contrast in comparison.contrasts:
        if not contrast.planned.is_interaction:
            contrasts.setdefault(contrast.planned.after, contrast)
    baselines = {_baseline(comparison, each) for each in contrasts.values()}
    used = {name: comparison.values_of(name) for name in (*QUANTITIES, "steps")}
    rows: list[tuple[Cell, ...]] = []
    for i, arm in enumerate(study.arms):
        gain, score = contrasts.get(arm.label), scores[i]
        tokens = sum_known([used["input_tokens"][i], used["output_tokens"][i]])
        is_effective = score.effective is not None and score.effective != score.samples
        paired: tuple[Cell, ...] = (None, None, None)
        if gain is not None:
            counts = f"{gain.better} / {gain.worse}"
            paired = (gain.difference.cell, _baseline(comparison, gain), counts)
        rows.append(
            (arm.label, score.samples, score.effective if is_effective else None, score.cell,
             *paired, used["tool_calls"][i], tokens,
             used["cost_usd"][i], *(arm.outcomes[kind] for kind in TROUBLES), arm.missing)
        )  # fmt: skip
    word = "difference from" if comparison.is_error else "gain over"
    baseline = baselines.pop() if len(baselines) == 1 else None
    columns = (
        Column("condition"), Column("n", 0), Column("effective n", 1), Column(comparison.metric),
        Column(f"{word} {baseline or 'baseline'}", signed=True, key="gain"), Column("baseline"),
        Column("better / worse"), Column("tool calls", 1), Column("tokens", 0), Column("USD", 4),
        *(Column(name.replace("_", " "), 0, if_any=True) for name in (*TROUBLES, MISSING)),
    )  # fmt: skip
    table = ResultTable("conditions", title, columns, tuple(rows), baseline=baseline)
    table = table.of_columns(i for i in range(len(columns)) if i != 5 or baseline is None)
    return table.with_notes(dict.fromkeys((*_on_conditions(comparison, scores, contrasts), *notes)))


def _baseline(comparison: Comparison, contrast: Contrast) -> str:
    """The condition alone where it is of the same run."""
    after, before = (
        comparison.study.arm(label) for label in (contrast.planned.after, contrast.planned.before)
    )
    return before.name_in_run if after.run == before.run else before.label.removesuffix(MARK)


def _on_conditions(
    comparison: Comparison, scores: Sequence[Estimate], contrasts: dict[str, Contrast]
) -> Iterator[str]:
    study, name = comparison.study, comparison.metric
    repeats = "" if comparison.is_single else ", repeats of one sample averaged first"
    gains = _methods("; paired gain", [c.difference for c in contrasts.values()])
    yield f"Mean over samples{repeats}{_methods('', scores)}{gains}; calls and tokens per episode."
    if comparison.is_error:
        yield f"{name}: less is better, over the samples where it is defined."
    if any(score.effective not in (None, score.samples) for score in scores):
        yield ("Effective n: as many independent samples would give an interval of the same width.")
    if whys := _without_interval(study.arms, scores):
        yield f"No interval: {', '.join(whys)}."
    if any(arm.outcomes["failed"] + arm.outcomes["unfinished"] + arm.missing for arm in study.arms):
        parts = (
            f"{arm.label} {Column('').text(each.cell)}"
            for arm, each in zip(study.arms, comparison.of_all, strict=True)
        )
        metric = comparison.of_all_metric
        yield f"With failed and missing episodes as 0, {metric}: {', '.join(parts)}."
    yield from tools_problems(study.arms)
    yield from notes_on_calls(comparison)
    yield from on_forms(arm.condition for arm in study.arms)
    yield from comparison.remarks


def _methods(what: str, estimates: Iterable[Estimate]) -> str:
    names = sorted({each.method for each in estimates if each.low is not None})
    return f"{what} [95 % CI: {', '.join(names)}]" if names else ""


def _without_interval(arms: Sequence[Arm], scores: Sequence[Estimate]) -> list[str]:
    """Each reason with the conditions that it holds for."""
    whys: dict[str, list[str]] = {}
    for arm, score in zip(arms, scores, strict=True):
        if score.low is None:
            method = score.method if arm.finished else "no finished episode"
            whys.setdefault(method, []).append(arm.label)
    return [f"{' and '.join(labels)} ({why})" for why, labels in whys.items()]


@Statistic("differences", order=20, section="Results").of
def differences(comparison: Comparison) -> ResultTable:
    """Every contrast with its intervals, its test, and what could be found."""
    columns = (
        Column("difference"), Column("status"), Column(comparison.metric, signed=True),
        Column("simultaneous 95 % CI", signed=True, rank=1), Column("better", 0, rank=2),
        Column("worse", 0, rank=2), Column("p"), Column("p (Holm)"),
        Column("minimum detectable effect"),
        Column("n for this difference", 0), Column("pairs", 0), Column("unpaired", 0, if_any=True),
    )  # fmt: skip
    contrasts = comparison.contrasts
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (c.name, "exploratory" if c.planned.is_exploratory else None, c.difference.cell,
         c.simultaneous and (None, *c.simultaneous), c.better, c.worse, c.p_value, c.p_holm,
         c.detectable, c.needed, c.pairs, c.unpaired)
        for c in contrasts
    )  # fmt: skip
    is_counted = comparison.is_rate(comparison.metric) and comparison.is_single
    flips = "permutation of the signs of whole clusters"
    test = f"exact McNemar test (of interactions a {flips})" if is_counted else flips
    why = {c.difference.method for c in contrasts if c.difference.low is None}
    notes = [
        f"Paired by sample{_methods('', [c.difference for c in contrasts])}. p: {test}, two-sided; "
        "Holm's correction over all rows.",
        "Simultaneous: holds for all rows together (Bonferroni). Minimum detectable effect: the "
        "true difference that is found in 80 % of cases; n for this difference: the samples that "
        "find the observed one in 80 % of cases.",
        *([f"No interval: {', '.join(sorted(why))}."] if why else []),
    ]
    if any(c.planned.is_exploratory for c in contrasts):
        notes.append("Exploratory: not planned before the data were seen.")
    title = "How large are the differences, and could they be chance?"
    return ResultTable("differences", title, columns, rows, tuple(notes))


@Statistic("tools_check", order=30, section="Results").of
def tools_check(comparison: Comparison) -> ResultTable:
    return tools_check_table(tools_checks(comparison.study.arms))


DIGITS = {"cost_usd": 4, "steps": 1, "tool_calls": 1, "duration_s": 2}
"""Of the quantities; tokens have none."""
RANKS = {"tool_calls": 2, "duration_s": 1, **dict.fromkeys(RARE, 3)}


@Statistic("use", order=40, section="Results").of
def use(comparison: Comparison) -> ResultTable:
    rows = tuple(
        (arm.label, *(comparison.means[name][i].cell for name in QUANTITIES))
        for i, arm in enumerate(comparison.study.arms)
    )
    columns = (
        Column("condition"),
        *(Column(name, DIGITS.get(name, 0), rank=RANKS.get(name, 0)) for name in QUANTITIES),
    )
    note = (
        "Means over samples, repeats averaged first [95 % CI: studentised bootstrap, none where "
        "all are equal]. A dash: unknown for at least one episode, or none finished."
    )
    known = any(cell != (None, None, None) for row in rows for cell in row[1:])
    title = "What does an episode use?"
    return ResultTable("use", title, columns, rows if known else (), (note,))


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
    columns = (
        Column(name),
        Column("samples", 0),
        *(Column(label, rank=int(label.startswith(Shortcut.ROW))) for label in labels),
    )
    many = sum(len(rows) for rows in comparison.groups[name].values())
    notes: tuple[str, ...] = (
        ("A sample counts under each of its values.",) if many > len(comparison.study.samples)
        else ()
    )  # fmt: skip
    notes += tuple(f"{arm.label} {arm.note}." for arm in baselines if arm.note)
    safe = name.replace(" ", "-")
    return ResultTable(f"by-{safe}", f"{comparison.metric} by {name}", columns, rows, notes)
