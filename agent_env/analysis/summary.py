"""What one run gave, condition by condition: the JSON of `show`, and notes.

It counts the samples whose event is later than the model's knowledge cutoff.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.study import TOKENS, Arm
from agent_env.analysis.tools_check import has_call
from agent_env.analysis.totals import sum_known
from agent_env.records.schema import Condition, ModelFacts, Sample
from agent_env.scoring.sample_means import SampleMeans

TROUBLES = ("failed", "unfinished", "unreadable", "scorer_failed")
QUANTITIES = (*TOKENS, "steps", "tool_calls", "cost_usd")


def summarise(comparison: Comparison) -> dict[str, dict[str, object]]:
    """By condition, what the JSON of `show` has of it: episodes by outcome, the mean of each metric
    (of the main one and of errors with a 95 % interval), what was used, how episodes ended."""
    return {
        arm.condition.name: _summary(comparison, arm, place)
        for place, arm in enumerate(comparison.study.arms)
    }


def _summary(comparison: Comparison, arm: Arm, place: int) -> dict[str, object]:
    study, finished, episodes = comparison.study, arm.finished, arm.episodes
    metrics: dict[str, object] = {}
    for name in study.metrics:
        metrics[name] = comparison.values_of(name)[place]
        if name == study.metrics[0] or name in study.error_metrics:
            mean = comparison.estimates_of(name)[place]
            metrics[f"{name}_interval"] = None if mean.low is None else (mean.low, mean.high)
        if name in study.error_metrics:
            metrics[f"n_{name}"] = sum(name in each.metrics for each in finished)
    return {
        "episodes": len(arm.observations),
        "finished": len(finished),
        **{name: arm.outcomes[name] for name in TROUBLES},
        **metrics,
        **{name: comparison.values_of(name)[place] for name in QUANTITIES},
        "hosted_calls": _hosted(arm),
        "cut_outputs": sum(each.cut_outputs for each in episodes),
        **({"repairs": number} if (number := sum(each.repairs for each in episodes)) else {}),
        "saved_tokens": sum_known([each.saved_tokens for each in episodes]),
        "without_call": _without_call(arm),
        "usage_sources": sorted({source for each in episodes for source in each.usage_sources}),
        "stop_reasons": dict(_stop_reasons(arm).most_common()),
        "spent": arm.spent.as_json() if arm.spent is not None else None,
    }


def _hosted(arm: Arm) -> float:
    """Mean calls of the provider's own tools."""
    means = SampleMeans()
    for each in arm.episodes:
        means.add(each.sample, each.hosted_calls)
    return means.mean or 0.0


def _without_call(arm: Arm) -> int | None:
    """Finished episodes that were offered tools and called none; None where none were offered."""
    offered = [each for each in arm.episodes if each.tools]
    return sum(not has_call(each) for each in offered) if offered else None


def _stop_reasons(arm: Arm) -> Counter[str]:
    """How the finished episodes ended."""
    return Counter(each.stop_reason for each in arm.episodes if each.stop_reason)


def on_forms(conditions: Iterable[Condition]) -> Iterator[str]:
    formats = {condition.answer_format for condition in conditions}
    if formats - {"free"}:
        yield (
            "~schema: the server held the answer (under the text protocol "
            "also tool calls) to a JSON schema, so what is wrong is not a failure of form."
        )
    if "schema-last" in formats:
        yield "~schema-last: the same in a further reply, after a free one."


def notes_on_calls(comparison: Comparison) -> Iterator[str]:
    """What of the episodes no column tells."""
    arms = comparison.study.arms
    counts: dict[str, Callable[[Arm], float | None]] = {
        "Episodes that called no tool": _without_call,
        "The provider's own tools called": lambda arm: round(_hosted(arm), 1),
        "Tool outputs cut to fit into the context": lambda a: sum(
            e.cut_outputs for e in a.episodes
        ),
        "Unreadable calls answered with the right form": lambda a: sum(
            e.repairs for e in a.episodes
        ),
    }
    for text, count in counts.items():
        if own := [f"{arm.condition.name} {number}" for arm in arms if (number := count(arm))]:
            yield f"{text}: {', '.join(own)}"
    reasons = sum(map(_stop_reasons, arms), Counter[str]())
    if reasons.keys() - {"answered"}:
        yield f"Ended by {', '.join(f'{k} {n}' for k, n in reasons.most_common())}"
    if "repetition" in reasons:
        saved = sum_known([each.saved_tokens for arm in arms for each in arm.episodes])
        tokens = "an unknown number of" if saved is None else f"about {saved}"
        yield f"Replies that repeated themselves were cut, which saved {tokens} tokens (estimate)"
    spent = [arm.spent for arm in arms if arm.spent is not None]
    failed, unknown = (
        sum(getattr(s, n) for s in spent) for n in ("failed_calls", "uncounted_calls")
    )
    if failed:
        calls = "1 model call" if failed == 1 else f"{failed} model calls"
        yield f"{calls} without a reply (failed or cut off), {unknown} of unknown size"
    if charged := sum(each.charged_tokens for each in spent):
        yield f"The limits count {charged:,} tokens (estimate) for calls whose usage is unknown"
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
