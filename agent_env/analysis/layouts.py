"""A comparison as sheets: conditions, differences, noise, breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast
from agent_env.analysis.correlation import between_metrics, between_rankings
from agent_env.analysis.gap import PRICES, bought, gaps_closed
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.noise import noise_of, pass_hat
from agent_env.analysis.observations import QUANTITIES
from agent_env.analysis.paper import exact_against_others, implicit_explicit, over_solutions
from agent_env.analysis.sheets import Cell, Column, Sheet
from agent_env.analysis.treatment import treatment_sheet, treatments
from agent_env.errors import ConfigError

DIGITS = {"cost_usd": 4, "steps": 1, "tool_calls": 1, "duration_s": 2}
"""Of the quantities; tokens have none."""


def all_sheets(comparison: Comparison) -> list[Sheet]:
    """Every table that the study has something for, each breakdown included."""
    found = [make(comparison) for make in makers().values()]
    found += [by_group(comparison, name) for name in comparison.groups]
    return [sheet for sheet in found if sheet.rows]


def one_sheet(comparison: Comparison, name: str) -> Sheet:
    """The table of this name; ConfigError lists the known ones."""
    known = makers()
    if name not in known:
        raise ConfigError(f"unknown table '{name}'; known: {', '.join(known)}, all")
    return known[name](comparison)


def makers() -> dict[str, Callable[[Comparison], Sheet]]:
    """The tables by name, in the order in which they are read."""
    return {
        "conditions": conditions, "differences": differences, "treatment": treatment,
        "use": use, "outcomes": outcomes, "noise": noise, "reliability": reliability,
        "correlations": correlations, "rankings": rankings, "gap": gap, "tools": tools,
        "table1": implicit_explicit, "table3": exact_against_others, "figure4": over_solutions,
    }  # fmt: skip


def cell(estimate: Estimate) -> Cell:
    """Value and interval for a sheet."""
    return estimate.value, estimate.low, estimate.high


def conditions(comparison: Comparison) -> Sheet:
    """Each arm's episodes and metrics, the main one also with failures as 0."""
    metrics, study = comparison.study.metrics, comparison.study
    rows = []
    unscored = any(o.outcome == "scorer_failed" for arm in study.arms for o in arm.observations)
    kinds = (*_KINDS, "scorer_failed") if unscored else _KINDS
    for i, arm in enumerate(study.arms):
        ended = sum(o.counts for o in arm.observations)
        counted = [sum(o.outcome == kind for o in arm.observations) for kind in kinds]
        scores = [cell(comparison.means[name][i]) for name in metrics]
        rows.append((arm.label, arm.asked, ended, *counted, arm.missing, *scores,
                     cell(comparison.of_all[i])))  # fmt: skip
    heads = ("episodes", "finished", *(k.replace("_", " ") for k in kinds), "never begun")
    columns = (
        Column("condition"),
        *(Column(name, 0) for name in heads),
        *(Column(name) for name in metrics),
        Column(f"{comparison.of_all_metric} of all"),
    )
    methods = {e.method for name in metrics for e in comparison.means[name] if e.method}
    notes = (
        f"{len(study.samples)} samples in {comparison.cluster_count} clusters. Means are over "
        "samples, repeats of one sample averaged first; unreadable answers score 0. Failed, "
        "unfinished and never begun episodes enter no mean but the last column, where they are 0.",
        *(["Episodes whose scorer failed enter no column."] if unscored else []),
        *_on_errors(comparison),
        f"95 % intervals: {', '.join(sorted(methods))}.",
        *comparison.remarks,
    )
    return Sheet("conditions", f"Conditions of {study.task}", columns, tuple(rows), notes)


_KINDS = ("unreadable", "failed", "unfinished")


def _on_errors(comparison: Comparison) -> Iterator[str]:
    """Which metrics are better where they are less, and over how many samples they are means."""
    for name in comparison.study.metrics:
        if name in comparison.study.error_metrics:
            counts = ", ".join(
                f"{arm.label} {estimate.samples}"
                for arm, estimate in zip(comparison.study.arms, comparison.means[name], strict=True)
            )
            yield f"{name}: the less the better; over the samples where it is defined: {counts}."


def differences(comparison: Comparison) -> Sheet:
    """The planned differences with interval, tests, and what could be resolved."""
    wanted = comparison.options.wanted
    columns = (
        Column("difference"), Column(comparison.metric, 3, signed=True), Column("better", 0),
        Column("worse", 0), Column("p"), Column("p (Holm)"), Column("p McNemar, exact"),
        Column("p McNemar, mid"), Column("smallest shown"), Column(f"n for {wanted:g}", 0),
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
        *_on_power(comparison.contrasts, wanted),
        *_grouped(comparison.contrasts),
    )
    return Sheet("differences", "Differences, paired by sample", columns, rows, notes)


def _on_power(contrasts: Sequence[Contrast], wanted: float) -> Iterator[str]:
    """What the columns on power mean, where they say anything."""
    if any(c.detectable is not None for c in contrasts):
        yield "Smallest shown: the true difference found in 80 % of cases at 5 %."
    if any(c.needed is not None for c in contrasts):
        yield f"n for {wanted:g}: samples that show such a difference in 80 % of cases at 5 %."


def _grouped(contrasts: Sequence[Contrast]) -> list[str]:
    """The words of all that is not simply significant, those of the same words together."""
    names: dict[str, list[str]] = {}
    for each in contrasts:
        if not each.is_significant:
            names.setdefault(each.words, []).append(each.name)
    return [f"{'; '.join(own)}: {words}" for words, own in names.items()]


def _difference_row(c: Contrast) -> tuple[Cell, ...]:
    return (
        c.name, cell(c.difference), c.better, c.worse, c.p_value, c.p_holm, c.p_mcnemar,
        c.p_mcnemar_mid, c.detectable, c.needed, c.pairs, c.unpaired,
    )  # fmt: skip


def outcomes(comparison: Comparison) -> Sheet:
    """How answers miss: dates missing, dates too many, both."""
    rows = []
    for arm in comparison.study.arms:
        read = [o for o in arm.observations if o.absent is not None and o.extra is not None]
        shares: list[Cell] = [None] * 4
        if read:
            kinds = [(bool(o.absent), bool(o.extra)) for o in read]
            wanted = ((False, False), (True, False), (False, True), (True, True))
            shares = [kinds.count(kind) / len(read) for kind in wanted]
        rows.append((arm.label, len(read), *shares))
    heads = ("right", "only missing", "only extra", "both")
    columns = (Column("condition"), Column("answers read", 0), *(Column(h) for h in heads))
    notes = (
        "Shares of the answers that could be read: gold values missing, values too many, or both.",
    )
    return Sheet("outcomes", "How answers miss", columns, tuple(rows), notes)


def use(comparison: Comparison) -> Sheet:
    """Tokens, cost, steps, calls, time per finished episode."""
    known = [
        name
        for name in QUANTITIES
        if any(estimate.value is not None for estimate in comparison.means[name])
    ]
    rows = tuple(
        (arm.label, *(cell(comparison.means[name][i]) for name in known))
        for i, arm in enumerate(comparison.study.arms)
    )
    columns = (Column("condition"), *(Column(name, DIGITS.get(name, 0)) for name in known))
    unknown = [name for name in QUANTITIES if name not in known]
    notes = ["Means per finished episode; cluster bootstrap intervals."]
    if unknown:
        notes.append(f"Not known for these runs: {', '.join(unknown)}.")
    if any(row[k] == (None, None, None) for row in rows for k in range(1, len(row))):
        notes.append("A dash: unknown for at least one episode, or none finished.")
    return Sheet("use", "What an episode uses", columns, rows, tuple(notes))


def treatment(comparison: Comparison) -> Sheet:
    """Whether the tools of each arm arrived; no rows where none has any."""
    found = []
    for run in dict.fromkeys(arm.run for arm in comparison.study.arms):
        arms = {arm.condition.name: arm for arm in comparison.study.arms if arm.run == run}
        arrivals = {
            name: [o.arrival for o in arm.observations if o.arrival is not None and o.counts]
            for name, arm in arms.items()
        }
        problems = {name: arm.problem for name, arm in arms.items() if arm.problem is not None}
        rows = treatments([arm.condition for arm in arms.values()], arrivals, problems)
        found += [(arms[row.condition].label, row) for row in rows]
    return treatment_sheet(found)


def noise(comparison: Comparison) -> Sheet:
    """Flips between repeats; no rows without repeats."""
    found = [each for each in noise_of(comparison) if each.flips.value is not None]
    rows = tuple((each.label, cell(each.flips), each.floor) for each in found)
    columns = (Column("condition"), Column("flip rate"), Column("noise floor"))
    notes = (
        "Flip rate: the chance that two episodes of one sample score differently. Noise floor: two "
        "single runs of the same condition differ by no more than this in 95 % of cases.",
    )
    return Sheet("noise", "Noise between repeats", columns, rows, notes)


def reliability(comparison: Comparison) -> Sheet:
    """pass^k; no rows without repeats."""
    found = pass_hat(comparison)
    labels = [arm.label for arm in comparison.study.arms]
    rows = [(label, *(cell(by[i]) for by in found.values())) for i, label in enumerate(labels)]
    columns = (Column("condition"), *(Column(f"pass^{k}") for k in found))
    notes = ("pass^k: the chance that k episodes of one sample are all exactly right.",)
    many = tuple(rows) if len(found) > 1 else ()
    return Sheet("reliability", "Reliability over repeats", columns, many, notes)


def correlations(comparison: Comparison) -> Sheet:
    """Rank correlations between the metrics."""
    rows = tuple(
        (f"{c.first} and {c.second}", cell(c.spearman), cell(c.kendall), c.n)
        for c in between_metrics(comparison)
    )
    columns = (Column("metrics"), Column("Spearman"), Column("Kendall tau-b"), Column("n", 0))
    notes = ("Over all finished episodes; cluster bootstrap intervals. A dash: one is constant.",)
    return Sheet("correlations", "How the metrics agree", columns, rows, notes)


def rankings(comparison: Comparison) -> Sheet:
    """Rank correlations between the orders of the models; no rows below three models."""
    rows = tuple(
        (f"{c.first} and {c.second}", cell(c.spearman), cell(c.kendall), c.n)
        for c in between_rankings(comparison)
    )
    columns = (Column("conditions"), Column("Spearman"), Column("Kendall tau-b"),
               Column("models", 0))  # fmt: skip
    return Sheet("rankings", "How the rankings of the models agree", columns, rows)


def gap(comparison: Comparison) -> Sheet:
    """The share of the implicit–explicit gap that the web closes."""
    found = gaps_closed(comparison)
    rows = tuple((c.model, c.condition, cell(c.gap), cell(c.share), c.gap.samples) for c in found)
    columns = (Column("model"), Column("condition"), Column("explicit − base", 3, signed=True),
               Column("share closed"), Column("samples", 0))  # fmt: skip
    told = [f"{c.model} {c.condition}: {c.share.method}." for c in found if c.share.value is None]
    return Sheet("gap", "How much of the implicit–explicit gap is closed", columns, rows,
                 tuple(told))  # fmt: skip


def tools(comparison: Comparison) -> Sheet:
    """What a condition gains for what it uses more."""
    found = bought(comparison)
    rows = []
    for each in found:
        extra = [each.extra[unit] for unit in PRICES]
        rows.append((f"{each.after} − {each.before}", each.gain, *extra,
                     *(cell(each.per_unit[unit]) for unit in PRICES)))  # fmt: skip
    columns = (
        Column("tools added"), Column(comparison.metric, 3, signed=True),
        *(Column(f"extra {unit}s" if unit != "1,000 tokens" else "extra 1,000 tokens", 2,
                 signed=True) for unit in PRICES),
        *(Column(f"gain per {unit}", 4, signed=True) for unit in PRICES),
    )  # fmt: skip
    notes = ("Gain per unit has no value where no more is used, where that is uncertain, or where "
             "the unit is unknown.",)  # fmt: skip
    return Sheet("tools", "What the tools bought", columns, tuple(rows), notes)


def by_group(comparison: Comparison, name: str) -> Sheet:
    """The main metric and output tokens by value of a group; arms by column."""
    found = comparison.by_group(name, comparison.metric)
    labels = [arm.label for arm in comparison.study.arms]
    rows = tuple(
        (value, len(comparison.groups[name][value]), *(cell(e) for e in estimates))
        for value, estimates in found.items()
    )
    columns = (Column(name), Column("samples", 0), *(Column(label) for label in labels))
    many = sum(len(rows) for rows in comparison.groups[name].values())
    notes = (
        ("A sample stands under each of its values.",) if many > len(comparison.study.samples)
        else ()
    )  # fmt: skip
    safe = name.replace(" ", "-")
    return Sheet(f"by-{safe}", f"{comparison.metric} by {name}", columns, rows, notes)
