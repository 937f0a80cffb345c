"""What one run gave, condition by condition."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from agent_env.analysis.intervals import Interval, mean_intervals
from agent_env.analysis.totals import Totals, episode_cost, totals
from agent_env.records.schema import Episode, ModelFacts, Score


@dataclass(frozen=True, slots=True)
class Result:
    """One episode and its score."""

    episode: Episode
    score: Score

    @property
    def counts(self) -> bool:
        """Whether it enters the means: the episode came to an end without failing."""
        return self.score.outcome in ("read", "unreadable")


@dataclass(frozen=True, slots=True)
class Summary:
    """Means per finished episode of one condition, and counts."""

    condition: str
    samples: int
    """Distinct samples among the finished episodes; phrasings of one query are one."""
    episodes: int
    """All episodes with a trace, failed and unfinished ones included."""
    finished: int
    """Those that came to an end; the means are over them."""
    failed: int
    unfinished: int
    unreadable: int
    """Of the finished ones; they score 0."""
    scorer_failed: int
    """Those whose scorer raised an error; they are in no mean."""
    metrics: dict[str, float | None]
    """By name, over the episodes for which the metric is defined; None where there is none."""
    input_tokens: float | None
    """None where any finished episode's figure is unknown, like those below."""
    cached_tokens: float | None
    output_tokens: float | None
    reasoning_tokens: float | None
    steps: float | None
    tool_calls: float | None
    usage_sources: tuple[str, ...]
    without_call: int | None
    """Finished episodes that were offered tools and called none; None where none were offered."""
    hosted_calls: float
    """Calls of the provider's own tools."""
    cut_outputs: int
    """Tool outputs that were cut to fit into the context, of all finished episodes."""
    stop_reasons: dict[str, int]
    """How the finished episodes ended."""
    cost_usd: float | None
    """Mean; None where a price or a count is unknown."""
    spent: Totals
    """Over all episodes, failed and unfinished ones too."""
    intervals: dict[str, tuple[float, float] | None]
    """95 %, of the first metric and of the error metrics. Repeats of one sample are no further
    evidence and do not narrow them, nor do samples of one cluster."""
    defined: dict[str, int]
    """Of each error metric, the finished episodes for which it is defined."""

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's of the first metric; None where nothing finished."""
        return self.intervals[next(iter(self.metrics))]

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "episodes": self.episodes,
            "finished": self.finished,
            "failed": self.failed,
            "unfinished": self.unfinished,
            "unreadable": self.unreadable,
            "scorer_failed": self.scorer_failed,
            **self.metrics,
            **{f"{name}_interval": interval for name, interval in self.intervals.items()},
            **{f"n_{name}": number for name, number in self.defined.items()},
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "reasoning_tokens": self.reasoning_tokens,
            "steps": self.steps,
            "tool_calls": self.tool_calls,
            "hosted_calls": self.hosted_calls,
            "cut_outputs": self.cut_outputs,
            "without_call": self.without_call,
            "usage_sources": list(self.usage_sources),
            "stop_reasons": self.stop_reasons,
            "cost_usd": self.cost_usd,
            "spent": self.spent.as_json(),
        }


def summarise(
    results: Iterable[Result],
    conditions: Sequence[str],
    metrics: Sequence[str],
    facts: ModelFacts | None = None,
    queries: Mapping[str, str] | None = None,
    error_metrics: frozenset[str] = frozenset(),
    clusters: Mapping[str, str] | None = None,
) -> list[Summary]:
    """One summary per condition, in the given order; costs at the prices of `facts`. By sample,
    `queries` names what several samples are phrasings of, and `clusters` what stands and falls
    together; without clusters the queries do."""
    by_condition: dict[str, list[Result]] = {name: [] for name in conditions}
    for result in results:
        by_condition.setdefault(result.episode.condition, []).append(result)
    together = clusters or queries or {}
    measured = [name for name in metrics if name == metrics[0] or name in error_metrics]
    intervals = _intervals(by_condition, measured, error_metrics, together)
    return [
        _summary(name, found, metrics, facts, queries or {}, error_metrics, intervals[name])
        for name, found in by_condition.items()
    ]


def _summary(
    condition: str,
    results: list[Result],
    metrics: Sequence[str],
    facts: ModelFacts | None,
    queries: Mapping[str, str],
    error_metrics: frozenset[str],
    intervals: dict[str, Interval | None],
) -> Summary:
    ended = [result for result in results if result.counts]
    episodes = [result.episode for result in ended]
    return Summary(
        condition=condition,
        samples=len({queries.get(episode.sample, episode.sample) for episode in episodes}),
        episodes=len(results),
        finished=len(ended),
        failed=sum(r.score.outcome == "failed" for r in results),
        unfinished=sum(r.score.outcome == "unfinished" for r in results),
        unreadable=sum(r.score.outcome == "unreadable" for r in results),
        scorer_failed=sum(r.score.outcome == "scorer_failed" for r in results),
        metrics={name: _mean(_defined(ended, name)) for name in metrics},
        input_tokens=_mean([e.input_tokens for e in episodes]),
        cached_tokens=_mean([e.cached_tokens for e in episodes]),
        output_tokens=_mean([e.output_tokens for e in episodes]),
        reasoning_tokens=_mean([e.reasoning_tokens for e in episodes]),
        steps=_mean([e.steps for e in episodes]),
        tool_calls=_mean([e.tool_calls for e in episodes]),
        without_call=_without_call(episodes),
        cut_outputs=sum(episode.cut_outputs for episode in episodes),
        hosted_calls=_mean([e.hosted_calls for e in episodes]) or 0.0,
        usage_sources=tuple(sorted({s for e in episodes for s in e.usage_sources})),
        stop_reasons=dict(Counter(e.stop_reason for e in episodes if e.stop_reason).most_common()),
        cost_usd=_mean([episode_cost(e, facts) for e in episodes]),
        spent=totals((result.episode for result in results), facts),
        intervals=intervals,
        defined={name: len(_defined(ended, name)) for name in metrics if name in error_metrics},
    )


def _intervals(
    by_condition: Mapping[str, Sequence[Result]],
    metrics: Sequence[str],
    error_metrics: frozenset[str],
    clusters: Mapping[str, str],
) -> dict[str, dict[str, Interval | None]]:
    """By condition and metric; drawn as a comparison of the conditions draws."""
    ended = {name: [r for r in found if r.counts] for name, found in by_condition.items()}
    keys = [(name, metric) for name in ended for metric in metrics]
    shares = {
        metric: metric not in error_metrics
        and all(v in (0, 1) for found in ended.values() for v in _defined(found, metric))
        for metric in metrics
    }
    found = mean_intervals(
        [_by_sample(ended[name], metric, clusters) for name, metric in keys],
        [shares[metric] for _, metric in keys],
        [cluster or f"/{sample}" for sample, cluster in clusters.items()],
    )
    by_key = dict(zip(keys, found, strict=True))
    return {name: {metric: by_key[name, metric] for metric in metrics} for name in ended}


def _by_sample(
    results: Sequence[Result], metric: str, clusters: Mapping[str, str]
) -> list[tuple[str, float]]:
    """Each sample's mean over its repeats, with its cluster."""
    values: dict[str, list[float]] = defaultdict(list)
    for r in results:
        if metric in r.score.metrics:
            values[r.score.sample].append(r.score.metrics[metric])
    return [(clusters.get(name) or f"/{name}", fmean(own)) for name, own in values.items()]


def _defined(results: Sequence[Result], metric: str) -> list[float]:
    """The values of those for which the metric is defined: dates are not asked of every answer."""
    return [r.score.metrics[metric] for r in results if metric in r.score.metrics]


def _without_call(episodes: Sequence[Episode]) -> int | None:
    offered = [episode for episode in episodes if episode.tools]
    called = sum(episode.tool_calls + episode.hosted_calls > 0 for episode in offered)
    return len(offered) - called if offered else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None
