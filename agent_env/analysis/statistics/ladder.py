"""At which step points are lost: differences between conditions that each give one thing more.

With the score s of each sample, 1 − s(web) is the sum of 1 − s(explicit), writing down what is
told; s(explicit) − s(facts), computing; s(facts) − s(cited), reading; and s(cited) − s(web),
searching. The last one is divided by what the searching episode was shown: no proving page of some
fact (finding it), its address but not its dates (opening it), or all dates (using them).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.contrasts import Contrast, PlannedContrast, measure
from agent_env.analysis.intervals import Floats
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.tasks.modifiers import bare_name

STEPS = {
    ("web", "cited"): "finding and opening the page",
    ("cited", "facts"): "reading the page",
    ("facts", "explicit"): "computing with the facts",
    ("explicit", "1"): "writing the answer down",
}
BESIDE = {
    ("web-once", "web"): "searching only once",
    ("web", "web+python"): "computing without code",
}
"""What is not a part of 1 − web."""
SEARCHING = {
    "finding the page": "web, no proving page shown",
    "opening the page": "web, page listed, date not shown",
    "using the date that was shown": "web, date shown",
}
"""Parts of the first step, with their episodes of `web`."""


def losses(comparison: Comparison) -> dict[str, tuple[Contrast, ...]]:
    """By model, the points lost at each step; of runs that have two neighbours of the chain."""
    runs: dict[str, list[Arm]] = {}
    for arm in () if comparison.is_error else comparison.study.arms:
        runs.setdefault(arm.model_label, []).append(arm)
    is_rate = comparison.is_rate(comparison.metric)
    result = {}
    for model, arms in runs.items():
        # the arms by their conditions' names; `web~schema` also as web where no other could be
        names = {arm.condition.name: arm for arm in arms}
        plain = [arm for arm in arms if arm.condition.disturbance is None]
        short = [bare_name(arm.condition.name) for arm in plain]
        only = {name: arm for name, arm in zip(short, plain, strict=True) if short.count(name) == 1}
        if own := dict(_of_run(comparison, only | names)):
            tops = np.column_stack(list(own.values()))
            result[model] = measure(list(own), tops, comparison.clusters, is_rate)
    return result


def _of_run(
    comparison: Comparison, by_name: Mapping[str, Arm]
) -> Iterator[tuple[PlannedContrast, Floats]]:
    """Each step whose two conditions the run has, with its loss by sample."""
    columns = {name: comparison.column(arm, comparison.metric) for name, arm in by_name.items()}
    columns["1"] = np.ones(len(comparison.study.samples))
    # from the condition that gives the least; 1 is the full score
    chain = [name for name in ("web", "cited", "facts", "explicit", "1") if name in columns]
    if not any(pair in STEPS for pair in pairwise(chain[:-1])):
        return
    lacking = np.isnan(np.column_stack([columns[name] for name in chain])).any(axis=1)
    for (before, after), step in (STEPS | BESIDE).items():
        if before not in columns or after not in columns:
            continue
        if not (columns[before] + columns[after])[~lacking].any():
            continue  # nothing could be lost
        values = np.where(lacking, np.nan, columns[after] - columns[before])
        web = by_name[before].finished if after == "cited" else ()
        if web and all(each.provenance and each.provenance.lookups for each in web):
            for name, episodes in SEARCHING.items():
                part = comparison.column_of(by_name[before], partial(_is_lost_at, name))
                yield PlannedContrast(name, after, episodes, ()), np.multiply(values, part)
        else:
            yield PlannedContrast(step, after, before, ()), values


def _is_lost_at(step: str, record: Provenance) -> bool:
    """Whether an episode's points are lost at this part of its search, if any are."""
    finding, opening, using = SEARCHING
    if all(each.shown for each in record.lookups):
        return step == using
    is_listed = all(each.returned or each.shown for each in record.lookups)
    return step == (opening if is_listed else finding)


def ladder_sentences(comparison: Comparison) -> Iterator[str]:
    """For each model the step at which the most of the points are lost that are shown to be."""
    models = {arm.model_label for arm in comparison.study.arms}
    for model, contrasts in losses(comparison).items():
        parts = [each for each in contrasts if each.name not in BESIDE.values() and each.is_shown]
        for most in sorted(parts, key=lambda each: each.difference.value or 0.0)[-1:]:
            estimate, who = most.difference, f"{model}: " if len(models) > 1 else ""
            if (estimate.value or 0.0) > 0:
                yield (
                    f"{who}points are lost at {most.name}: {estimate.value:.3f} "
                    f"[{estimate.low:.3f}, {estimate.high:.3f}], n = {most.pairs} samples."
                )


@Statistic("ladder", order=25, section="Results", in_score=True).of
def ladder(comparison: Comparison) -> ResultTable:
    by_model = losses(comparison)
    rows = tuple(
        (model, c.name, f"{c.planned.after} − {c.planned.before}", c.difference.cell, c.p_holm,
         c.pairs)
        for model, contrasts in by_model.items() for c in contrasts
    )  # fmt: skip
    columns = (
        Column("model", rank=3), Column("lost at"), Column("difference", rank=2),
        Column("points lost", 3, signed=True), Column("p (Holm)", rank=1), Column("n", 0),
    )  # fmt: skip
    notes = (
        f"Points lost: mean difference in {comparison.metric} on the same samples; down to writing "
        "the answer down they add up to 1 − web, if no condition is missing.",
        "p (Holm): exact, corrected over a model's steps. n: samples with an answer under all of "
        "these conditions. Without steps at which nothing is right before or after.",
    )
    return ResultTable("ladder", "Where are points lost?", columns, rows, notes)
