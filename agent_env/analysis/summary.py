"""What one run gave, condition by condition: the JSON of `show`, and notes.

It counts the samples whose event is later than the model's knowledge cutoff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import Estimate
from agent_env.analysis.study import TOKENS, Arm
from agent_env.analysis.totals import Totals, sum_known
from agent_env.records.schema import Condition, ModelFacts, Sample
from agent_env.scoring.sample_means import SampleMeans

TROUBLES = ("failed", "unfinished", "unreadable", "scorer_failed")
QUANTITIES = (*TOKENS, "steps", "tool_calls", "cost_usd")


@dataclass(frozen=True, slots=True)
class Summary:
    label: str
    condition: str
    episodes: int
    """All episodes with a trace, failed and unfinished ones included."""
    finished: int
    """Those that came to an end; the means are over them."""
    troubles: Mapping[str, int]
    """By outcome of TROUBLES; unreadable ones are finished and score 0, the others are in no
    mean."""
    metrics: Mapping[str, Estimate]
    """The mean of each metric; a confidence interval for the main one and for error metrics."""
    defined: Mapping[str, int]
    """Of each error metric, the finished episodes for which it is defined."""
    used: Mapping[str, float | None]
    """Means of QUANTITIES; None where any finished episode's figure is unknown."""
    hosted_calls: float
    """Mean calls of the provider's own tools."""
    cut_outputs: int
    """Tool outputs that were cut to fit into the context, of all finished episodes."""
    repairs: int
    """Unreadable calls that were answered with the right form, of all finished episodes."""
    saved_tokens: int | None
    """Estimate: output tokens not written as looping replies were cut; None where unknown."""
    without_call: int | None
    """Finished episodes that were offered tools and called none; None where none were offered."""
    usage_sources: tuple[str, ...]
    stop_reasons: Mapping[str, int]
    """How the finished episodes ended."""
    spent: Totals | None
    """Over all episodes, failed and unfinished ones too."""

    def as_json(self) -> dict[str, object]:
        ends = {name: e for name, e in self.metrics.items() if e.method}
        return {
            "episodes": self.episodes,
            "finished": self.finished,
            **self.troubles,
            **{name: estimate.value for name, estimate in self.metrics.items()},
            **{f"{name}_interval": None if e.low is None else (e.low, e.high)
               for name, e in ends.items()},
            **{f"n_{name}": number for name, number in self.defined.items()},
            **self.used,
            "hosted_calls": self.hosted_calls,
            "cut_outputs": self.cut_outputs,
            **({"repairs": self.repairs} if self.repairs else {}),
            "saved_tokens": self.saved_tokens,
            "without_call": self.without_call,
            "usage_sources": list(self.usage_sources),
            "stop_reasons": self.stop_reasons,
            "spent": self.spent.as_json() if self.spent is not None else None,
        }  # fmt: skip


def summarise(comparison: Comparison) -> list[Summary]:
    study = comparison.study
    tested = [m for m in study.metrics if m == study.metrics[0] or m in study.error_metrics]
    estimates = {
        name: comparison.estimates_of(name)
        if name in tested
        else [Estimate(value) for value in comparison.values_of(name)]
        for name in study.metrics
    }
    used = {name: comparison.values_of(name) for name in QUANTITIES}
    return [
        _summary(
            arm,
            {name: column[place] for name, column in estimates.items()},
            {name: column[place] for name, column in used.items()},
            [name for name in study.metrics if name in study.error_metrics],
        )
        for place, arm in enumerate(study.arms)
    ]


def _summary(
    arm: Arm,
    metrics: Mapping[str, Estimate],
    used: Mapping[str, float | None],
    error_metrics: Sequence[str],
) -> Summary:
    outcomes, finished, hosted = arm.outcomes, arm.finished, SampleMeans()
    for each in finished:
        hosted.add(each.sample, each.hosted_calls)
    offered = [o.arrival for o in finished if o.arrival and o.arrival.is_offered]
    without = sum(not each.has_call for each in offered)
    return Summary(
        label=arm.label,
        condition=arm.condition.name,
        episodes=len(arm.observations),
        finished=len(finished),
        troubles={name: outcomes[name] for name in TROUBLES},
        metrics=metrics,
        defined={name: sum(name in o.metrics for o in finished) for name in error_metrics},
        used=used,
        hosted_calls=hosted.mean or 0.0,
        cut_outputs=sum(o.cut_outputs for o in finished),
        repairs=sum(o.repairs for o in finished),
        saved_tokens=sum_known([o.saved_tokens for o in finished]),
        without_call=without if offered else None,
        usage_sources=tuple(sorted({s for o in finished for s in o.usage_sources})),
        stop_reasons=dict(Counter(s.stop_reason for s in finished if s.stop_reason).most_common()),
        spent=arm.spent,
    )


def on_forms(conditions: Iterable[Condition]) -> Iterator[str]:
    formats = {condition.answer_format for condition in conditions}
    if formats - {"free"}:
        yield (
            "~schema: forced form, real words. The server held the answer (under the text protocol "
            "also tool calls) to a JSON schema, so what is wrong is no failure of form."
        )
    if "schema-last" in formats:
        yield "~schema-last: the same in a further reply, after a free one."


def notes_on_calls(comparison: Comparison) -> Iterator[str]:
    """What of the episodes no column tells."""
    rows = summarise(comparison)
    if silent := [f"{row.condition} {row.without_call}" for row in rows if row.without_call]:
        yield f"Episodes that called no tool: {', '.join(silent)}"
    if hosted := [f"{row.condition} {row.hosted_calls:.1f}" for row in rows if row.hosted_calls]:
        yield f"The provider's own tools called: {', '.join(hosted)}"
    if cut := [f"{row.condition} {row.cut_outputs}" for row in rows if row.cut_outputs]:
        yield f"Tool outputs cut to fit into the context: {', '.join(cut)}"
    if repairs := [f"{row.condition} {row.repairs}" for row in rows if row.repairs]:
        yield f"Unreadable calls answered with the right form: {', '.join(repairs)}"
    reasons = sum((Counter(row.stop_reasons) for row in rows), Counter[str]())
    if reasons.keys() - {"answered"}:
        yield f"Ended by {', '.join(f'{k} {n}' for k, n in reasons.most_common())}"
    loops = [row for row in rows if "repetition" in row.stop_reasons]
    if loops:
        saved = sum_known([row.saved_tokens for row in loops])
        tokens = "an unknown number of" if saved is None else f"about {saved}"
        yield f"Replies that repeated themselves were cut, which saved {tokens} tokens (estimate)"
    spent = [row.spent for row in rows if row.spent is not None]
    failed, unknown = (
        sum(getattr(s, n) for s in spent) for n in ("failed_calls", "uncounted_calls")
    )
    if failed:
        calls = "1 model call" if failed == 1 else f"{failed} model calls"
        yield f"{calls} without a reply (failed or cut off), {unknown} of unknown size"
    if charged := sum(each.charged_tokens for each in spent):
        yield f"Limits count {charged} tokens for calls of unknown size"
    if hits := sum(each.cache_hits for each in spent):
        yield f"{hits} replies from the reply cache"


@dataclass(frozen=True, slots=True)
class AfterCutoff:
    knowledge_cutoff: str
    samples: tuple[str, ...]
    """Ids of those whose event is later."""
    asked: int
    """All samples."""
    undated: int
    """Those whose event has no date that we know, or that ask for no event."""

    def as_json(self) -> dict[str, object]:
        return {
            "knowledge_cutoff": self.knowledge_cutoff,
            "count": len(self.samples),
            "samples": list(self.samples),
            "asked": self.asked,
            "undated": self.undated,
        }


def after_cutoff(
    samples: Iterable[Sample], event_date: Callable[[Sample], str | None], facts: ModelFacts | None
) -> AfterCutoff | None:
    """Which samples ask for an event after the model's knowledge cutoff; None where no cutoff is
    known. Dates are YYYY, YYYY-MM or YYYY-MM-DD; an event in the same year or month as a cutoff
    that names no more is not later."""
    if facts is None or facts.knowledge_cutoff is None:
        return None
    last = facts.knowledge_cutoff + "-99-99"[: 3 * (2 - facts.knowledge_cutoff.count("-"))]
    dates = {sample.id: event_date(sample) for sample in samples}
    return AfterCutoff(
        knowledge_cutoff=facts.knowledge_cutoff,
        samples=tuple(name for name, date in dates.items() if date is not None and date > last),
        asked=len(dates),
        undated=sum(date is None for date in dates.values()),
    )
