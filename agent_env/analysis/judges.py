"""How far judges agree with the reader: raw agreement, Cohen's kappa, and what lies beside them.

An answer counts where the metric is defined for it and the judge said right or wrong; all others
are counted by their reason. Intervals are at 95 %: queries (a query's phrasings, conditions and
repeats together) are drawn with replacement. Where no query differs from another in its agreement
the bootstrap says nothing: raw agreement then has Wilson's interval over the queries, kappa none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Literal, TypeVar

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agent_env.analysis.intervals import wilson
from agent_env.models.prices import cost_usd
from agent_env.records.schema import Episode, ModelFacts, Sample, Score, Usage, Verdict

RESAMPLES = 2000
SEED = 20261121
Cell = Literal["both", "reader", "judge", "neither"]
"""Who calls an answer right."""
CELLS: tuple[Cell, ...] = ("both", "reader", "judge", "neither")
Counts = tuple[int, int, int, int]
"""By CELLS."""
Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


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
    agreement: Figure
    kappa: Figure
    confusion: Mapping[Cell, int]
    """Whom an answer is right to."""
    calls: int
    input_tokens: int | None
    """None where any reply's figure is unknown, like the next."""
    output_tokens: int | None
    cost_usd: float | None
    """None where a price or a count is unknown."""

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return asdict(self)


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


def last_says(episode: Episode, judge: str, metric: str) -> str | None:
    """What the judge said last; a failed call only where there is nothing else."""
    said = [one.says for one in episode.judged if one.judge == judge and one.metric == metric]
    answered = [says for says in said if says != "failed"]
    return next(reversed(answered or said), None)


def _agreement(
    judge: str,
    metric: str,
    samples: Mapping[str, Sample],
    scored: Sequence[tuple[Episode, Score]],
    facts: ModelFacts | None,
) -> JudgeAgreement:
    counts: Counter[str] = Counter()
    clusters: dict[str, Counter[Cell]] = defaultdict(Counter)
    calls: list[Verdict] = []
    for episode, score in scored:
        calls += [j for j in episode.judged if (j.judge, j.metric) == (judge, metric)]
        if episode.status != "finished" or metric not in score.metrics:
            continue
        says = last_says(episode, judge, metric)
        counts[says or "not asked"] += 1
        if says in ("right", "wrong"):
            cell = _cell(score.metrics[metric] == 1, says == "right")
            clusters[_query(samples[episode.sample])][cell] += 1
    rows = [_counts(found) for found in clusters.values()]
    agreement, kappa = _figures(rows)
    whole = _summed(rows)
    usages = _usages(calls)
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
        confusion=dict(zip(CELLS, whole, strict=True)),
        calls=sum(len(one.calls) for one in calls),
        input_tokens=_sum(u.input_tokens for u in usages),
        output_tokens=_sum(u.output_tokens for u in usages),
        cost_usd=_sum(cost_usd(usage, facts) for usage in usages),
    )


def _cell(reader: bool, judge: bool) -> Cell:
    if reader:
        return "both" if judge else "reader"
    return "judge" if judge else "neither"


def _query(sample: Sample) -> str:
    """What is drawn together: phrasings of one query; else the sample alone."""
    return str(getattr(sample, "query", sample.id))


def _counts(found: Counter[Cell]) -> Counts:
    return found["both"], found["reader"], found["judge"], found["neither"]


def _summed(rows: Iterable[Counts], times: Iterable[int] | None = None) -> Counts:
    sums = [0, 0, 0, 0]
    for row, factor in zip(rows, times, strict=True) if times else ((row, 1) for row in rows):
        for place in range(4):
            sums[place] += row[place] * factor
    return sums[0], sums[1], sums[2], sums[3]


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


def _figures(rows: Sequence[Counts]) -> tuple[Figure, Figure]:
    whole = _summed(rows)
    raw, kappa = _raw(whole), cohen(whole)
    if raw is None:
        return Figure(None), Figure(None)
    if len({_raw(row) for row in rows}) == 1:
        return Figure(raw, *wilson(raw, len(rows))), Figure(kappa)
    kinds, weights = zip(*Counter(rows).items(), strict=True)
    rng, drawn = Random(SEED), list[Counts]()
    for _ in range(RESAMPLES):
        picked = Counter(rng.choices(range(len(kinds)), weights, k=len(rows)))
        drawn.append(_summed((kinds[i] for i in picked), picked.values()))
    kappas = [value for counts in drawn if (value := cohen(counts)) is not None]
    raws = [value for counts in drawn if (value := _raw(counts)) is not None]
    return Figure(raw, *_percentiles(raws)), Figure(kappa, *_percentiles(kappas))


def _percentiles(drawn: list[float]) -> tuple[float, float] | tuple[None, None]:
    if not drawn:
        return None, None
    drawn.sort()
    last = len(drawn) - 1
    if drawn[0] == drawn[last]:  # a reader, or a judge, that always says the same
        return None, None
    return drawn[round(0.025 * last)], drawn[round(0.975 * last)]


def _usages(calls: Iterable[Verdict]) -> list[Usage]:
    tried = (call for one in calls for call in one.calls)
    found = (call.reply.usage if call.reply is not None else call.usage for call in tried)
    return [usage for usage in found if usage is not None]


def _sum(values: Iterable[Number | None]) -> Number | None:
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def judge_table(found: Sequence[JudgeAgreement], title: str) -> Table:
    """A line for each judge and metric."""
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("judge", "metric"):
        table.add_column(name, no_wrap=True)
    heads = ("judged", "unparsable", "failed", "not asked", "agreement", "kappa")
    for name in (*heads, "right to both", "reader only", "judge only", "neither"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in found:
        numbers = (row.judged, row.unparsable, row.failed, row.not_asked)
        table.add_row(
            escape(row.judge),
            row.metric,
            *map(str, numbers),
            *(_shown(figure) for figure in (row.agreement, row.kappa)),
            *(str(row.confusion[cell]) for cell in CELLS),
        )
    table.caption = "judges beside the reader; intervals at 95 %, queries drawn whole"
    return table


def _shown(figure: Figure) -> str:
    if figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return f"{figure.value:.3f} [-]"
    return f"{figure.value:.3f} [{figure.low:.2f}, {figure.high:.2f}]"
