"""What faults of tools cost, and what models make of them: each twin beside its plain condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.fault_trails import FaultTrail
from agent_env.analysis.intervals import Estimate, paired_share_interval
from agent_env.analysis.observations import Observation
from agent_env.analysis.resampling import Floats
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.statistics.reliability import pass_hat
from agent_env.analysis.study import Arm
from agent_env.tasks.conditions import is_twin

FAULT_NOTES = (
    "Lost: plain − twin, paired by sample. Landed: episodes in which the model read something else "
    "than a tool gave. Recovery: right although a fault landed; after explicit or implicit ones, "
    "where no other kind landed.",
    "Notices, after a landed fault: says so in words, retries the same call, or asks otherwise for "
    "the same; the last happens without faults too.",
    "n landed, explicit, implicit: the samples that the share before it is of; notices are of as "
    "many as recovery.",
    "More: twin − plain, paired. No effect: drawn, but changed nothing; in no share.",
)
Value = Callable[[Observation, FaultTrail], float | None]
"""Of an episode under faults; None where it does not count."""


def faults(comparison: Comparison) -> ResultTable:
    """A row for each plain condition with twins under faults, and for each of these."""
    pairs = twins_of(comparison, lambda arm: bool(arm.condition.disturbance.faults))  # type: ignore[union-attr]
    by_k = pass_hat(comparison)
    columns = (
        Column("condition"), Column("rate", 2, is_kept=True), Column("lost", 3, signed=True),
        Column("landed"), Column("recovery"), Column("n landed", 0, is_second=True),
        Column("after explicit"), Column("n explicit", 0, is_second=True),
        Column("after implicit"), Column("n implicit", 0, is_second=True),
        Column("notices"), Column("says so", is_secondary=True),
        Column("retries", is_secondary=True), Column("asks otherwise", is_secondary=True),
        Column("more calls", 2, signed=True), Column("more tokens", 0, signed=True),
        Column("no effect", 0), Column("n", 0),
        *(Column(f"pass^{k}", is_secondary=k > 1) for k in by_k),
    )  # fmt: skip
    places = {arm.label: place for place, arm in enumerate(comparison.study.arms)}
    rows: list[tuple[Cell, ...]] = []
    for plain, twins in pairs:
        passed = [estimates[places[plain.label]].cell for estimates in by_k.values()]
        n = len({o.sample for o in plain.observations if o.counts})
        rows.append((plain.label, 0.0, *[None] * 15, n, *passed))
        for twin in twins:
            passed = [estimates[places[twin.label]].cell for estimates in by_k.values()]
            rows.append((*_row(comparison, plain, twin), *passed))
    return ResultTable(
        "faults", "Faults of tools", columns, tuple(rows), (*FAULT_NOTES, *_levels(pairs))
    )


def _levels(pairs: Sequence[tuple[Arm, Sequence[Arm]]]) -> list[str]:
    """What each level draws, as `--faults` has it."""
    found = [its for _, twins in pairs for twin in twins if (its := twin.condition.disturbance)]
    return [
        f"{its.suffix}: " + ", ".join(f"{f.tool}={f.kind}:{f.rate:g}" for f in its.faults)
        for its in {its.suffix: its for its in found}.values()
    ]


def twins_of(
    comparison: Comparison, concerns: Callable[[Arm], bool]
) -> list[tuple[Arm, list[Arm]]]:
    """Each plain condition of a run with those of its disturbed twins that are wanted."""
    pairs = []
    for plain in comparison.study.arms:
        if plain.condition.disturbance is not None:
            continue
        twins = [
            arm
            for arm in comparison.study.arms
            if arm.run == plain.run
            and arm.condition.disturbance is not None
            and is_twin(plain.condition, arm.condition, "disturbance")
            and concerns(arm)
        ]
        if twins:
            pairs.append((plain, twins))
    return pairs


def _row(comparison: Comparison, plain: Arm, twin: Arm) -> tuple[Cell, ...]:
    def estimate(value: Value) -> Estimate:
        return share_of(
            comparison, twin, lambda o: None if o.faults is None else value(o, o.faults)
        )

    def share(value: Value) -> Cell:
        return estimate(value).cell

    def right(observation: Observation, trail: FaultTrail) -> float:
        return is_right(comparison, observation)

    counted = [o for o in twin.observations if o.counts and o.faults is not None]
    rates: dict[str, float] = {}
    for fault in twin.condition.disturbance.faults if twin.condition.disturbance else ():
        rates[fault.tool] = rates.get(fault.tool, 0.0) + fault.rate
    return (
        twin.label,
        max(rates.values(), default=None),
        more_of(comparison, twin, plain, (comparison.metric,)).cell,
        share(lambda o, t: float(t.landed)),
        *with_n(estimate(lambda o, t: right(o, t) if t.landed else None)),
        *with_n(estimate(lambda o, t: right(o, t) if t.explicit and not t.implicit else None)),
        *with_n(estimate(lambda o, t: right(o, t) if t.implicit and not t.explicit else None)),
        share(lambda o, t: float(t.notices) if t.landed else None),
        share(lambda o, t: float(t.says_so) if t.landed else None),
        share(lambda o, t: float(t.retries) if t.landed else None),
        share(lambda o, t: float(t.asks_otherwise) if t.landed else None),
        more_of(comparison, plain, twin, ("tool_calls",)).cell,
        more_of(comparison, plain, twin, ("input_tokens", "output_tokens")).cell,
        sum(o.faults.without_effect for o in counted if o.faults is not None),
        len({o.sample for o in counted}),
    )


def with_n(estimate: Estimate) -> tuple[Cell, Cell]:
    """A share of a part of the samples, and how many these are."""
    return estimate.cell, estimate.samples or None


def is_right(comparison: Comparison, observation: Observation) -> float:
    """Whether the episode is right by the main metric."""
    score = observation.metrics.get(comparison.metric, np.nan)
    return float(score == 0 if comparison.is_error else score >= 1)


def share_of(
    comparison: Comparison, arm: Arm, value: Callable[[Observation], float | None]
) -> Estimate:
    """The mean over samples of what the finished episodes have; None does not count."""
    own: dict[str, list[float]] = {sample.id: [] for sample in comparison.study.samples}
    for observation in arm.observations:
        if observation.counts and (each := value(observation)) is not None:
            own[observation.sample].append(each)
    column: Floats = np.array([np.mean(each) if each else np.nan for each in own.values()])
    known = column[~np.isnan(column)]
    is_share = bool(np.isin(known, (0.0, 1.0)).all())
    return comparison.estimates(column[:, None], is_share)[0]


def more_of(comparison: Comparison, before: Arm, after: Arm, quantities: Sequence[str]) -> Estimate:
    """What the second has more than the first, paired by sample; unknown where one is."""
    values = np.sum(
        [comparison.column(after, name) - comparison.column(before, name) for name in quantities],
        axis=0,
    )
    if np.isnan(values).all():
        return Estimate(None, method="unknown")
    (estimate,) = comparison.estimates(values[:, None], share=False)
    known, n = set(values[~np.isnan(values)]), estimate.clusters
    is_score = tuple(quantities) == (comparison.metric,) and known <= {-1.0, 0.0, 1.0}
    if is_score and estimate.low is None and len(known) == 1 and n > 1:
        (value,) = known
        low, high = paired_share_interval(n * int(value > 0), n * int(value < 0), n)
        return replace(estimate, low=low, high=high, method="Bonett-Price, as all pairs agree")
    return estimate


FAULTS = Statistic(
    "faults", faults, order=62, section="Faults and attacks", in_score=True,
    without_rows="No condition has a twin with faults of tools; run --faults makes them.",
)  # fmt: skip
