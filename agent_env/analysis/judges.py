"""How far judges and annotators agree with the answer parser, and with each other.

An answer counts where the metric is defined for it and the judge said right or wrong; all others
are counted by their reason. Intervals are at 95 %: queries (a query's phrasings, conditions and
repeats together) are drawn with replacement. Where no query differs from another in its agreement
the bootstrap says nothing: raw agreement then has Wilson's interval over the queries, kappa none.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from agent_env.analysis.intervals import Estimate, bootstrap_estimate, wilson
from agent_env.analysis.resampling import draw_weights
from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.analysis.totals import sum_known
from agent_env.records.escaping import unguarded
from agent_env.records.schema import Episode, ModelFacts, Sample, Score, Verdict

Side = Literal["both", "reader", "judge", "neither"]
"""Who calls an answer right."""
SIDES: tuple[Side, ...] = ("both", "reader", "judge", "neither")
Counts = Sequence[float]
"""Of answers, by SIDES."""
CELL = 30_000
"""Maximum characters of a sheet's cell; spreadsheets hold at most 32,767."""


def cell_of(text: str) -> str:
    """The text as a sheet has it."""
    return text if len(text) <= CELL else f"{text[:CELL]} … (cut)"


def answer_digest(text: str) -> str:
    """Of the answer's cell, but for what a spreadsheet changes: a guard against formulas, kinds of
    white space."""
    plain = " ".join(unguarded(cell_of(text)).split())
    return hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """One judge beside one metric."""

    judge: str
    metric: str
    answers: int
    """Finished episodes for which the metric is defined."""
    judged: int
    """Of them, those with a verdict; the figures are over these."""
    unparsable: int
    failed: int
    not_asked: int
    """Those without a text to judge among them."""
    queries: int
    """Clusters among the judged ones."""
    agreement: Estimate
    kappa: Estimate
    confusion: Mapping[Side, int]
    """Whom an answer is right to."""
    calls: int
    input_tokens: int | None
    """None where any reply's figure is unknown, like the next."""
    output_tokens: int | None
    cost_usd: float | None
    """None where a price or a count is unknown."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        figures = {
            name: {"value": estimate.value, "low": estimate.low, "high": estimate.high}
            for name, estimate in (("agreement", self.agreement), ("kappa", self.kappa))
        }
        return asdict(self) | figures


OF_TWO: dict[tuple[bool, bool], Side] = {
    (True, True): "both", (True, False): "reader",
    (False, True): "judge", (False, False): "neither",
}  # fmt: skip
"""By whether the answer parser and the judge call the answer right."""


def judge_agreements(
    samples: Mapping[str, Sample],
    scored: Sequence[tuple[Episode, Score]],
    facts: Mapping[str, ModelFacts] | None = None,
) -> list[JudgeAgreement]:
    """One for each judge and metric of which a trace tells, sorted; `facts` are prices by judge."""
    pairs = {(one.judge, one.metric) for episode, _ in scored for one in episode.judged}
    return [
        _agreement(judge, metric, samples, scored, (facts or {}).get(judge))
        for judge, metric in sorted(pairs)
    ]


def last_verdict(episode: Episode, judge: str, metric: str) -> str | None:
    """What the judge verdicts last; a failed call only where there is nothing else."""
    verdicts = [one.says for one in episode.judged if one.judge == judge and one.metric == metric]
    readable = [says for says in verdicts if says != "failed"]
    return next(reversed(readable or verdicts), None)


def _agreement(
    judge: str,
    metric: str,
    samples: Mapping[str, Sample],
    scored: Sequence[tuple[Episode, Score]],
    facts: ModelFacts | None,
) -> JudgeAgreement:
    counts: Counter[str] = Counter()
    clusters: dict[str, Counter[Side]] = defaultdict(Counter)
    calls: list[Verdict] = []
    for episode, score in scored:
        calls += [j for j in episode.judged if (j.judge, j.metric) == (judge, metric)]
        if episode.status != "finished" or metric not in score.metrics:
            continue
        says = last_verdict(episode, judge, metric)
        counts[says or "not asked"] += 1
        if says in ("right", "wrong"):
            sample = samples[episode.sample]
            query = str(getattr(sample, "query", sample.id))  # whose phrasings are drawn together
            clusters[query][OF_TWO[score.metrics[metric] == 1, says == "right"]] += 1
    rows = [tuple(cluster[side] for side in SIDES) for cluster in clusters.values()]
    agreement, kappa = _figures(rows)
    whole = tuple(map(sum, zip(*rows, strict=True))) if rows else (0, 0, 0, 0)
    tried = (call for one in calls for call in one.calls)
    known = (call.reply.usage if call.reply is not None else call.usage for call in tried)
    usages = [usage for usage in known if usage is not None]
    return JudgeAgreement(
        judge=judge,
        metric=metric,
        answers=sum(counts.values()),
        judged=counts["right"] + counts["wrong"],
        unparsable=counts["unparsable"],
        failed=counts["failed"],
        not_asked=counts["not asked"],
        queries=len(rows),
        agreement=agreement,
        kappa=kappa,
        confusion=dict(zip(SIDES, whole, strict=True)),
        calls=sum(len(one.calls) for one in calls),
        input_tokens=sum_known([u.input_tokens for u in usages]),
        output_tokens=sum_known([u.output_tokens for u in usages]),
        cost_usd=sum_known([usage.cost_usd(facts) for usage in usages]),
    )


def _raw(counts: Counts) -> float | None:
    total = sum(counts)
    return (counts[0] + counts[3]) / total if total else None


def cohen(counts: Counts) -> float | None:
    """Agreement beyond chance; None where chance alone would agree always, or of no answers."""
    both, reader, judge, neither = counts
    total = sum(counts)
    if not total:
        return None
    yes = (both + reader) * (both + judge)
    no = (judge + neither) * (reader + neither)
    chance = (yes + no) / total**2
    return None if chance == 1 else ((both + neither) / total - chance) / (1 - chance)


def _figures(rows: Sequence[Counts]) -> tuple[Estimate, Estimate]:
    """Raw agreement and kappa; rows are clusters."""
    whole = tuple(map(sum, zip(*rows, strict=True))) if rows else (0, 0, 0, 0)
    raw, kappa, n = _raw(whole), cohen(whole), len(rows)
    if raw is None:
        return Estimate(None), Estimate(None)
    if len({_raw(row) for row in rows}) == 1:
        return Estimate(raw, *wilson(raw, n), "Wilson", n, n), Estimate(kappa)
    drawn = draw_weights(n) @ np.array(rows, dtype=float)
    kappas = np.array([np.nan if (k := cohen(row)) is None else k for row in drawn])
    if kappa is None or np.isnan(kappas).all() or np.nanmin(kappas) == np.nanmax(kappas):
        kappa_estimate = Estimate(kappa)  # an answer parser, or a judge, that always says the same
    else:
        kappa_estimate = bootstrap_estimate(kappa, kappas, n, n)
    return bootstrap_estimate(raw, np.array([_raw(row) for row in drawn]), n, n), kappa_estimate


def judge_table(agreements: Sequence[JudgeAgreement], title: str) -> ResultTable:
    """A line for each judge and metric."""
    heads = ("judged", "unparsable", "failed", "not asked")
    whom = ("right to both", "answer parser only", "judge only", "neither")
    columns = (
        Column("judge"), Column("metric"), *(Column(head, 0) for head in heads),
        Column("agreement"), Column("kappa"), *(Column(name, 0) for name in whom),
    )  # fmt: skip
    rows = tuple(
        (row.judge, row.metric, row.judged, row.unparsable, row.failed, row.not_asked,
         row.agreement.cell, row.kappa.cell,
         *(row.confusion[cell] for cell in SIDES))
        for row in agreements
    )  # fmt: skip
    note = "judges beside the answer parser; 95 % confidence intervals, queries drawn whole"
    return ResultTable("judges", title, columns, rows, (note,))


Labels = Mapping[str, str]
"""Class by item; an item without a label is not in it."""


@dataclass(frozen=True, slots=True)
class ClassAgreement:
    """One class: what one side calls so, measured against the other."""

    name: str
    precision: float | None
    """None where the measured side never gives the class."""
    recall: float | None
    """None where the other side never does."""
    f1: float | None
    measured: int
    """Items to which the measured side gives the class."""
    true: int
    """Items to which the other side does."""


def by_class(measured: Labels, truth: Labels) -> tuple[ClassAgreement, ...]:
    """Each class over the items that both have (paper on TDBench, section D.2)."""
    common = [item for item in truth if item in measured]
    names = sorted({measured[i] for i in common} | {truth[i] for i in common})
    return tuple(_one_class(name, measured, truth, common) for name in names)


def _one_class(name: str, measured: Labels, truth: Labels, items: Sequence[str]) -> ClassAgreement:
    called = sum(measured[item] == name for item in items)
    true = sum(truth[item] == name for item in items)
    both = sum(measured[item] == truth[item] == name for item in items)
    f1 = 2 * both / (called + true) if called + true else None
    return ClassAgreement(
        name, both / called if called else None, both / true if true else None, f1, called, true
    )


def cohen_kappa(one: Labels, other: Labels) -> float | None:
    """Agreement beyond chance on the items that both label; None where chance alone would agree
    always, or where there are none."""
    items = [item for item in one if item in other]
    if not items:
        return None
    observed = sum(one[item] == other[item] for item in items) / len(items)
    first, second = Counter(one[i] for i in items), Counter(other[i] for i in items)
    chance = sum(first[name] * second[name] for name in first) / len(items) ** 2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def mean_kappa(annotators: Sequence[Labels]) -> float | None:
    """The mean over all pairs; None where it is defined for none of them."""
    pairs = [cohen_kappa(one, other) for one, other in combinations(annotators, 2)]
    defined = [kappa for kappa in pairs if kappa is not None]
    return sum(defined) / len(defined) if defined else None


def krippendorff_alpha(annotators: Sequence[Labels]) -> float | None:
    """Nominal alpha over all items with two labels or more; missing labels are allowed. None where
    there is no such item, or but one class."""
    items = dict.fromkeys(item for labels in annotators for item in labels)
    units = [[labels[item] for labels in annotators if item in labels] for item in items]
    units = [unit for unit in units if len(unit) > 1]
    totals = Counter(name for unit in units for name in unit)
    n = sum(totals.values())
    expected = n * n - sum(count * count for count in totals.values())
    if not expected:
        return None
    observed = sum(
        (len(unit) ** 2 - sum(c * c for c in Counter(unit).values())) / (len(unit) - 1)
        for unit in units
    )
    return 1 - (n - 1) * observed / expected


def only(labels: Labels, name: str) -> dict[str, str]:
    """The same labels with two classes: this one, and all others."""
    return {item: name if label == name else "other" for item, label in labels.items()}


def majority(annotators: Sequence[Labels]) -> tuple[dict[str, str], int]:
    """The class that most give each item, and how many items are tied and so left out."""
    majorities: dict[str, str] = {}
    tied = 0
    for item in dict.fromkeys(item for labels in annotators for item in labels):
        counts = Counter(labels[item] for labels in annotators if item in labels).most_common(2)
        if len(counts) > 1 and counts[0][1] == counts[1][1]:
            tied += 1
        else:
            majorities[item] = counts[0][0]
    return majorities, tied
