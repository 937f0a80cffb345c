"""What the judges of a run say of its answers.

An answer counts where the metric is defined for it, or it has no score yet, and the judge said
right or wrong; all others are counted by their reason. Intervals are Wilson's at 95 %, in which the
answers to one query (its conditions and repeats) count as one sample as far as they are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from agent_env.sdk.inside import JudgeCall, sum_known
from agent_env.sdk.records import Episode, ModelFacts, Sample
from agent_env.sdk.results import Column, Comparison, Estimate, ResultTable, Statistic


@dataclass(frozen=True, slots=True)
class JudgeRates:
    judge: str
    metric: str
    answers: int
    """Finished episodes for which the metric is defined, or that have no score yet."""
    judged: int
    """Of them, those with a verdict; the figures are over these."""
    unparsable: int
    failed: int
    not_asked: int
    """Those without a text to judge among them."""
    queries: int
    """Clusters among the judged ones."""
    right: Estimate
    """The share that the judge calls right."""
    calls: int
    input_tokens: int | None
    """None where any reply's figure is unknown, like the next."""
    output_tokens: int | None
    cost_usd: float | None
    """None where a price or a count is unknown."""

    def as_json(self) -> dict[str, object]:
        right = {"value": self.right.value, "low": self.right.low, "high": self.right.high}
        return asdict(self) | {"right": right}


def judge_rates(
    samples: Mapping[str, Sample],
    scored: Sequence[tuple[Episode, Mapping[str, float]]],
    facts: Mapping[str, ModelFacts] | None = None,
) -> list[JudgeRates]:
    """One for each judge and metric of which a trace tells, sorted, from episodes and metrics;
    `facts` are prices by judge."""
    pairs = {(one.judge, one.metric) for episode, _ in scored for one in episode.judged}
    rates = []
    for judge, metric in sorted(pairs):
        counts: Counter[str] = Counter()
        right: list[tuple[str, float]] = []
        calls: list[JudgeCall] = []
        for episode, metrics in scored:
            for one in episode.judged:
                calls += one.calls if (one.judge, one.metric) == (judge, metric) else ()
            if not is_to_judge(episode, metrics, metric):
                continue
            says = last_verdict(episode, judge, metric)
            counts[says or "not asked"] += 1
            if says in ("right", "wrong"):
                sample = samples[episode.sample]
                query = str(getattr(sample, "query", sample.id))  # drawn together
                right.append((query, float(says == "right")))
        known = (call.reply.usage if call.reply is not None else call.usage for call in calls)
        usages = [usage for usage in known if usage is not None]
        price = (facts or {}).get(judge)
        rates.append(
            JudgeRates(
                judge=judge,
                metric=metric,
                answers=sum(counts.values()),
                judged=counts["right"] + counts["wrong"],
                unparsable=counts["unparsable"],
                failed=counts["failed"],
                not_asked=counts["not asked"],
                queries=len({query for query, _ in right}),
                right=Estimate.of_mean(right, share=True),
                calls=len(calls),
                input_tokens=sum_known([u.input_tokens for u in usages]),
                output_tokens=sum_known([u.output_tokens for u in usages]),
                cost_usd=sum_known([usage.cost_usd(price) for usage in usages]),
            )
        )
    return rates


def is_to_judge(episode: Episode, metrics: Mapping[str, float], metric: str) -> bool:
    """Whether a verdict on its answer counts: the metric is defined for it, or it has no score at
    all, as before the first verdict that gives it one."""
    return episode.status == "finished" and (not metrics or metric in metrics)


def last_verdict(episode: Episode, judge: str, metric: str) -> str | None:
    """What the judge verdicts last; a failed call only where there is nothing else."""
    verdicts = [one.says for one in episode.judged if one.judge == judge and one.metric == metric]
    readable = [says for says in verdicts if says != "failed"]
    return next(reversed(readable or verdicts), None)


@Statistic(
    "judges", order=130, section="Results", in_score="alone",
    without_rows="No answer was judged; agent-env episodes judge has a model judge them.",
).of  # fmt: skip
def judges(comparison: Comparison) -> ResultTable:
    """A row for each judge and metric of each run."""
    samples = {sample.id: sample for sample in comparison.study.samples}
    by_run: dict[str, list[tuple[Episode, Mapping[str, float]]]] = {}
    for arm in comparison.study.arms:
        pairs = ((each.episode, each.metrics) for each in arm.observations)
        by_run.setdefault(arm.run, []).extend((e, metrics) for e, metrics in pairs if e)
    return judge_table(
        {run: judge_rates(samples, scored) for run, scored in by_run.items()},
        "What do judges say of the answers?",
    )


def judge_table(by_run: Mapping[str, Sequence[JudgeRates]], title: str) -> ResultTable:
    """The rates of each run by its name, which is a column where there are several."""
    heads = ("judged", "unparsable", "failed", "not asked")
    columns = (
        Column("run"), Column("judge"), Column("metric"), *(Column(head, 0) for head in heads),
        Column("right"), Column("calls", 0), Column("tokens in", 0), Column("out", 0),
    )  # fmt: skip
    rows = tuple(
        (run, row.judge, row.metric, row.judged, row.unparsable, row.failed, row.not_asked,
         row.right.cell, row.calls, row.input_tokens, row.output_tokens)
        for run, rates in by_run.items() for row in rates
    )  # fmt: skip
    note = "Right to the judge; 95 % intervals in which the answers to one query count together."
    table = ResultTable("judges", title, columns, rows, (note,))
    return table if len(by_run) > 1 else table.of_columns(range(1, len(columns)))
