"""Shares of right answers as a judge sees them, corrected by what people say of some of these.

Rogan–Gladen: (share called right + specificity - 1) / (sensitivity + specificity - 1), with the
interval of Lang and Reiczigel (2014), which takes in the sampling of the answers and that of the
labels. It needs a judge that errs alike in all conditions; labels of all of them are counted
together. Prediction-powered (PPI++, Angelopoulos, Duchi and Zrnic 2023): the judge's share over
answers without a label, plus what people add over those with one, weighted for the least variance;
it needs labels of randomly drawn answers, and nothing of the judge. Its interval has half an answer
added to each of the four cells of judge and people (as Agresti and Coull do for a share), so that a
judge without a seen error is not taken to be perfect. Answers to one sample's phrasings and repeats
count as the effective number of independent ones. Everything is at 95 %, and clipped to [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist, fmean

from agent_env.analysis.intervals import LEVEL, Estimate, effective_size, wilson
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.significance import student_quantile

Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
FEWEST_LABELS = 10
"""With fewer in a condition there is no prediction-powered figure."""
EVERY = "all"
"""The row over all conditions."""


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer that a judge called right or wrong."""

    condition: str
    query: str
    """What its sample shares with others; drawn together."""
    is_right: bool
    label: bool | None
    """Whether people call it correct; None without a label."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of so many independent answers."""

    value: float
    n: float

    @classmethod
    def of(cls, pairs: Sequence[tuple[str, float]]) -> Share | None:
        """Of clusters' names and outcomes; None without any."""
        return cls(fmean(v for _, v in pairs), effective_size(pairs)) if pairs else None

    @property
    def estimate(self) -> Estimate:
        return Estimate(self.value, *wilson(self.value, self.n), "Wilson")


def rogan_gladen(right: Share, sensitivity: Share, specificity: Share) -> Estimate:
    """The true share; None where the judge is no better than chance."""
    gain = sensitivity.value + specificity.value - 1
    seen = (right.n * right.value + Z * Z / 2) / (right.n + Z * Z)
    (se, n_se), (sp, n_sp) = (
        ((each.n * each.value + 1) / (each.n + 2), each.n + 2)
        for each in (sensitivity, specificity)
    )
    if gain <= 0 or se + sp <= 1:
        return Estimate(None, method="sensitivity + specificity is at most 1")
    value, centre = (right.value + specificity.value - 1) / gain, (seen + sp - 1) / (se + sp - 1)
    error_se, error_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    shift = 2 * Z * Z * (centre * error_se - (1 - centre) * error_sp)
    variance = seen * (1 - seen) / (right.n + Z * Z)
    variance += centre**2 * error_se + (1 - centre) ** 2 * error_sp
    return _clipped(value, centre + shift, Z * sqrt(variance) / (se + sp - 1), "Lang-Reiczigel")


def prediction_powered(cells: Sequence[float], rest: Share) -> Estimate:
    """The true share, by the labelled answers (right to both, to the judge only, to people only,
    to neither) and the judge's share of those without a label."""
    value, _, _ = _powered(cells, rest, 0.0)
    _, centre, variance = _powered(cells, rest, 0.5)
    quantile = student_quantile(0.025, max(sum(cells) - 1, 1))
    return _clipped(value, centre, quantile * sqrt(variance), "prediction-powered")


def _powered(cells: Sequence[float], rest: Share, added: float) -> tuple[float, float, float]:
    """The estimate, the same for its interval, and its variance."""
    both, judge, people, neither = (each + added for each in cells)
    n = both + judge + people + neither
    called, true = (both + judge) / n, (both + people) / n
    pooled = (n * called + rest.n * rest.value) / (n + rest.n)
    spread, weight = pooled * (1 - pooled), 0.0
    if spread > 0:
        weight = (both / n - called * true) / spread / (1 + n / rest.n)
        weight = min(max(weight, 0.0), 1.0)
    residual = true - weight * called
    moment = (both * (1 - weight) ** 2 + judge * weight**2 + people) / n
    free = (rest.n * rest.value + 4 * added) / (rest.n + 8 * added)
    variance = weight**2 * free * (1 - free) / rest.n + (moment - residual**2) / n
    estimate = weight * rest.value + residual
    return estimate, estimate, variance


def _clipped(value: float, centre: float, half: float, method: str) -> Estimate:
    low, high = (min(max(end, 0.0), 1.0) for end in (centre - half, centre + half))
    inside = min(max(value, 0.0), 1.0)
    clipped = f", clipped from {value:.3f}" if inside != value else ""
    return Estimate(inside, min(low, inside), max(high, inside), f"{method}{clipped}")


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """What a judge says of one condition's answers, and what of it stands."""

    judge: str
    condition: str
    judged: int
    labelled: int
    raw: Estimate
    corrected: Estimate
    """By Rogan and Gladen."""
    powered: Estimate
    further_labels: int | None
    """So many more would narrow the interval to the width that is wished; None where all judged
    answers labelled would not."""
    sensitivity: Estimate
    """Of answers that people call correct, those that the judge calls right; over all conditions,
    as the next."""
    specificity: Estimate


def corrected_shares(
    judge: str, answers: Sequence[JudgedAnswer], width: float, are_random: bool
) -> list[CorrectedShare]:
    """A row for each condition and, where there are several, for all; `are_random`: whether the
    labelled answers were drawn randomly."""
    known = [each for each in answers if each.label is not None]
    found = Share.of([(a.query, float(a.is_right)) for a in known if a.label])
    passed = Share.of([(a.query, float(not a.is_right)) for a in known if not a.label])
    names = sorted({each.condition for each in answers})
    groups = {name: [a for a in answers if a.condition == name] for name in names}
    rows = {EVERY: list(answers), **groups} if len(groups) > 1 else groups
    return [
        _row(judge, name, rows[name], found, passed, len(known), width, are_random) for name in rows
    ]


def _row(
    judge: str,
    condition: str,
    answers: Sequence[JudgedAnswer],
    found: Share | None,
    passed: Share | None,
    all_labels: int,
    width: float,
    are_random: bool,
) -> CorrectedShare:
    raw = Share.of([(a.query, float(a.is_right)) for a in answers])
    assert raw is not None
    known = [a for a in answers if a.label is not None]
    free = Share.of([(a.query, float(a.is_right)) for a in answers if a.label is None])

    def corrected(more: int) -> Estimate:
        if found is None or passed is None:
            return Estimate(None, method="labels of one class only")
        grown = 1 + more / all_labels
        parts = (Share(each.value, each.n * grown) for each in (found, passed))
        return rogan_gladen(raw, *parts)

    def powered(more: int) -> Estimate:
        if not are_random or len(known) < FEWEST_LABELS or free is None:
            reason = f"fewer than {FEWEST_LABELS} labels" if are_random else "no random sample"
            return Estimate(None, method=reason if free is not None else "all have labels")
        left = len(answers) - len(known)
        grown = effective_size([(a.query, float(a.label == a.is_right)) for a in known])
        grown *= (1 + more / len(known)) / len(known)
        cells = [
            grown * sum((a.is_right, a.label) == pair for a in known)
            for pair in ((True, True), (True, False), (False, True), (False, False))
        ]
        return prediction_powered(cells, Share(free.value, free.n * max(left - more, 1) / left))

    best = powered if powered(0).value is not None else corrected
    return CorrectedShare(
        judge=judge,
        condition=condition,
        judged=len(answers),
        labelled=len(known),
        raw=raw.estimate,
        corrected=corrected(0),
        powered=powered(0),
        further_labels=_further(best, len(answers) - len(known), width),
        sensitivity=Estimate(None) if found is None else found.estimate,
        specificity=Estimate(None) if passed is None else passed.estimate,
    )


def _further(estimate: Callable[[int], Estimate], most: int, width: float) -> int | None:
    """The fewest further labels, of at most so many, with an interval as narrow as `width`."""

    def is_narrow(more: int) -> bool:
        low, high = estimate(more).low, estimate(more).high
        return low is not None and high is not None and high - low <= width

    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_narrow(middle) else (middle + 1, high)
    return low if is_narrow(low) else None


def correction_table(shares: Sequence[CorrectedShare], width: float) -> ResultTable:
    """A line for each judge and condition."""
    heads = ("raw", "Rogan-Gladen", "prediction-powered", "sensitivity", "specificity")
    columns = (
        Column("judge"), Column("condition"), Column("judged", 0), Column("labelled", 0),
        *map(Column, heads), Column(f"further labels for a width of {width:g}", 0),
    )  # fmt: skip
    rows = tuple(
        (each.judge, each.condition, each.judged, each.labelled,
         *(e.cell for e in (each.raw, each.corrected, each.powered, each.sensitivity,
                            each.specificity)),
         each.further_labels)
        for each in shares
    )  # fmt: skip
    told = {
        f"{each.judge}, {each.condition}: {name}: {estimate.method}."
        for each in shares
        for name, estimate in (("Rogan-Gladen", each.corrected), ("powered", each.powered))
        if estimate.value is None or "clipped" in estimate.method
    }
    notes = (
        "Share of right answers as the judge calls them, and corrected by the labels; 95 % CI. "
        "Rogan-Gladen needs a judge that errs alike in all conditions; prediction-powered needs "
        "labels of randomly drawn answers.",
        "Further labels: for the prediction-powered interval, else the other; a dash where all "
        "answers labelled would not do.",
        *sorted(told),
    )
    return ResultTable("corrected", "What the judge's shares are worth", columns, rows, notes)
