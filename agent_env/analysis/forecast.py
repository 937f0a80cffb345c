"""Tokens, money and time that a run will take, and the differences that it can show: at most by
limits and prices; expected by the means of an earlier run, else by a guess that is stated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_env.analysis.intervals import Means, Z, minimum_detectable_effect
from agent_env.analysis.study import RunData
from agent_env.episodes.calls.options import asked_tier
from agent_env.models.addresses import short_name, split_address
from agent_env.models.usage import MILLION
from agent_env.records.forecast import (
    Amounts,
    ConditionForecast,
    DetectableDifference,
    Forecast,
    Way,
)
from agent_env.records.manifest import Manifest, Probe
from agent_env.records.schema import Condition, Usage

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.contrasts import PlannedContrast

STEPS = 5
"""Guess: model calls of an episode with tools; one without."""
OUTPUT = 400
"""Guess: output tokens of a call."""
TOOL_OUTPUT = 800
"""Guess: tokens of the tool outputs after a call."""

GUESS = (
    f"Guess: {OUTPUT} output tokens a call, {TOOL_OUTPUT} of tool output after each; --like RUN "
    "takes the means of an earlier run."
)


@dataclass(frozen=True, slots=True)
class Mean:
    """Means of one episode; None for unknown."""

    basis: str
    usage: Usage | None
    time_s: float | None
    repeated_tokens: int | None = None
    """Input tokens that stood in the request before, too."""


def forecast_run(manifest: Manifest, earlier: Sequence[RunData]) -> Forecast:
    """The forecast of a run; its own model's earlier run goes before another's."""
    repeats = manifest.planned_episodes // len(manifest.conditions)
    means = [
        _earlier_mean(manifest, each, earlier) or _guess(manifest, each)
        for each in manifest.conditions
    ]
    conditions = tuple(
        _condition(manifest, condition, repeats, mean)
        for condition, mean in zip(manifest.conditions, means, strict=True)
    )
    episodes = repeats * len(conditions)
    at_once = max(1, min(manifest.concurrency, episodes))
    whole = added([each.amounts for each in conditions])
    limits = manifest.run_limits
    amounts = capped(
        whole.model_copy(
            update={
                "expected_s": None if whole.expected_s is None else whole.expected_s / at_once,
                "most_s": None if whole.most_s is None else whole.most_s / at_once,
            }
        ),
        limits.get("tokens"),
        limits.get("cost_usd"),
        limits.get("time_s"),
    )
    return Forecast(
        task=manifest.task,
        model=split_address(manifest.model)[0],
        episodes=episodes,
        concurrency=at_once,
        conditions=conditions,
        amounts=amounts,
        ways=_ways(manifest, means, repeats, amounts),
    )


def _ways(
    manifest: Manifest, means: Sequence[Mean], episodes: int, amounts: Amounts
) -> tuple[Way, ...]:
    """The same calls, so many episodes of each mean, at other prices and speeds."""
    facts, tier = manifest.model_facts, asked_tier(manifest.model_parameters)
    if facts is None or any(mean.usage is None for mean in means):
        return ()

    def cost(tier: str | None, is_cached: bool = False) -> float | None:
        costs = []
        for mean in means:
            usage = _at_tier(mean.usage, tier)
            if usage is not None and is_cached:
                repeated = mean.repeated_tokens
                usage = usage.model_copy(update={"cached_tokens": repeated})
                usage = None if repeated is None else usage
            costs.append(None if usage is None else usage.cost_usd(facts))
        known = [each for each in costs if each is not None]
        return sum(known) * episodes if len(known) == len(costs) else None

    steps, now_s = _number(manifest.limits, "steps"), amounts.expected_s
    # providers end a batch after a day; each step of an episode is in one of its own
    most_s = None if steps is None else steps * 86_400.0
    return (
        Way(name="now", expected_cost_usd=cost(tier), expected_s=now_s, most_s=amounts.most_s),
        Way(name="cached", expected_cost_usd=cost(tier, True), expected_s=now_s),
        Way(name="flex", expected_cost_usd=cost("flex")),
        Way(name="batch", expected_cost_usd=cost("batch"), most_s=most_s),
    )


def _at_tier(usage: Usage | None, tier: str | None) -> Usage | None:
    return usage if usage is None or tier is None else usage.model_copy(update={"tier": tier})


def _condition(
    manifest: Manifest, condition: Condition, episodes: int, mean: Mean
) -> ConditionForecast:
    used = _at_tier(mean.usage, asked_tier(manifest.model_parameters))
    tokens = None if used is None else (used.input_tokens or 0) + (used.output_tokens or 0)
    cost = None if used is None else used.cost_usd(manifest.model_facts)
    # of one episode, by its limits and the model's context
    limits = manifest.limits
    steps, context = _number(limits, "steps"), None
    if manifest.preflights:
        context = manifest.preflights[-1].context_tokens
    bounds = [
        _number(limits, "tokens"),
        None if steps is None or context is None else steps * context,
    ]
    known = [bound for bound in bounds if bound is not None]
    most = round(min(known)) if known else None
    amounts = Amounts(
        expected_tokens=None if tokens is None else tokens * episodes,
        most_tokens=None if most is None else most * episodes,
        expected_cost_usd=None if cost is None else cost * episodes,
        most_cost_usd=_times(_most_cost(manifest, most), episodes),
        expected_s=_times(mean.time_s, episodes),
        most_s=_times(_number(manifest.limits, "time_s"), episodes),
    )
    return ConditionForecast(
        condition=condition.name, episodes=episodes, basis=mean.basis, amounts=amounts
    )


def _earlier_mean(
    manifest: Manifest, condition: Condition, earlier: Sequence[RunData]
) -> Mean | None:
    """Of the condition's episodes in the best of the earlier runs; None where none tells."""
    name = split_address(manifest.model)[0]
    model_runs = [run for run in earlier if split_address(run.manifest.model)[0] == name]
    for run in (*model_runs, *(each for each in earlier if each not in model_runs)):
        spent = run.spent.get(condition.name)
        if spent is None or not spent.episodes or spent.input_tokens is None:
            continue
        if spent.output_tokens is None:
            continue
        number = spent.episodes
        observed = run.observations.get(condition.name, ())
        times = [o.used.get("duration_s") for o in observed]
        known = [time for time in times if time is not None]
        calls = spent.calls / number
        firsts = [each.episode.first_input_tokens for each in observed if each.episode]
        model_note = "" if run in model_runs else f" ({short_name(run.manifest.model)})"
        return Mean(
            basis=f"{run.name}{model_note}, n = {number}",
            usage=Usage(
                input_tokens=round(spent.input_tokens / number),
                cached_tokens=round((spent.cached_tokens or 0) / number),
                output_tokens=round(spent.output_tokens / number),
            ),
            time_s=sum(known) / len(known) if known else None,
            repeated_tokens=_repeated(spent.input_tokens / number, calls, firsts),
        )
    return None


def _repeated(tokens: float, calls: float, firsts: Sequence[float | None]) -> int | None:
    """Of evenly growing requests all but the last; None where the first's length is unknown."""
    known = [first for first in firsts if first is not None]
    if calls <= 1 or not known:
        return 0 if calls <= 1 else None
    last = max(0.0, 2 * tokens / calls - sum(known) / len(known))
    return round(max(0.0, tokens - last))


def _guess(manifest: Manifest, condition: Condition) -> Mean:
    """From the preflight and the constants above; nothing for a model without a server."""
    if not manifest.preflights:
        return Mean("a script: no tokens", None, None)
    preflight = manifest.preflights[-1]
    first = {check.condition: check.first_tokens for check in preflight.contexts}
    steps = STEPS if condition.tools else 1
    if condition.name not in first:
        return Mean("nothing tells", None, None)
    growth = OUTPUT + TOOL_OUTPUT
    requests = [first[condition.name] + step * growth for step in range(steps)]
    longest, time_s = max(preflight.probes, key=_output), None
    # output tokens of a test call whose time tells the server's speed
    if longest.latency_s is not None and (produced := _output(longest)) >= 16:
        time_s = steps * longest.latency_s * max(1.0, OUTPUT / produced)
    return Mean(
        basis=f"guess: {steps} call{'s' if steps > 1 else ''}",
        usage=Usage(input_tokens=sum(requests), output_tokens=steps * OUTPUT),
        time_s=time_s,
        repeated_tokens=sum(requests[:-1]),
    )


def _output(probe: Probe) -> int:
    return probe.usage.output_tokens or 0


def _most_cost(manifest: Manifest, tokens: int | None) -> float | None:
    """Of one episode: as many of its tokens as can be are of the dearer kind."""
    facts, most_usd = manifest.model_facts, _number(manifest.limits, "cost_usd")
    prices = None if facts is None else facts.prices_of(asked_tier(manifest.model_parameters))
    if tokens is None or prices is None:
        return most_usd
    into, out = prices.input_per_million, prices.output_per_million
    if into is None or out is None:
        return most_usd
    steps, each = (
        _number(manifest.limits, "steps"),
        manifest.model_parameters.get("max_output_tokens"),
    )
    most = [float(tokens)]
    if isinstance(each, int) and steps is not None:
        most.append(steps * each)
    if (limit := _number(manifest.limits, "output_tokens")) is not None:
        most.append(limit)
    output = min(most) if out > into else 0.0
    cost = (output * out + (tokens - output) * into) / MILLION
    return cost if most_usd is None else min(most_usd, cost)


def added(parts: Sequence[Amounts]) -> Amounts:
    """The sums; None where a part is unknown."""
    return _combined(parts, sum)


def side_by_side(parts: Sequence[Amounts]) -> Amounts:
    """As `added`, but the longest time."""
    longest = _combined(parts, max)
    times = {name: getattr(longest, name) for name in ("expected_s", "most_s")}
    return added(parts).model_copy(update=times)


def _combined(parts: Sequence[Amounts], combine: Callable[[list[Any]], Any]) -> Amounts:
    columns = {name: [getattr(part, name) for part in parts] for name in Amounts.model_fields}
    return Amounts(
        **{
            name: combine(values) if values and None not in values else None
            for name, values in columns.items()
        }
    )


def capped(
    amounts: Amounts, tokens: float | None, cost: float | None, time_s: float | None
) -> Amounts:
    """No more than these limits; an unknown maximum is the limit then."""
    limits = {"tokens": tokens, "cost_usd": cost, "s": time_s}
    update: dict[str, float | None] = {}
    for name, limit in limits.items():
        if limit is None:
            continue
        most, expected = getattr(amounts, f"most_{name}"), getattr(amounts, f"expected_{name}")
        update[f"most_{name}"] = limit if most is None else min(most, limit)
        update[f"expected_{name}"] = None if expected is None else min(expected, limit)
    return amounts.model_copy(update=update)


def _times(value: float | None, number: int) -> float | None:
    return None if value is None else value * number


def _number(limits: Mapping[str, Any], name: str) -> float | None:
    value = limits.get(name)
    return value if isinstance(value, int | float) else None


# What the plan can show --------------------------------------------------------------------------

DISAGREEMENT = 0.3
"""Guess: the share of pairs whose scores differ, where no earlier run tells."""


def detectable_differences(
    planned: Comparison, earlier: Comparison | None
) -> tuple[DetectableDifference, ...]:
    """What each contrast of a plan can show, by the variance of paired differences in an earlier
    run, whose conditions are taken by name, of the same model where it has them."""
    found = []
    for contrast in planned.plans:
        error, basis = (None, "") if earlier is None else _earlier_error(contrast, planned, earlier)
        if error is None:
            error = (DISAGREEMENT * contrast.reach / planned.cluster_count) ** 0.5
            basis = f"guess: {100 * DISAGREEMENT:.0f} % of pairs differ{basis and f' ({basis})'}"
        effect = minimum_detectable_effect(-Z * error, Z * error)
        found.append(
            DetectableDifference(
                task=planned.study.task,
                contrast=contrast.name,
                samples=len(planned.study.samples),
                difference=effect if effect <= contrast.reach else None,
                basis=basis,
            )
        )
    return tuple(found)


def _earlier_error(
    contrast: PlannedContrast, planned: Comparison, earlier: Comparison
) -> tuple[float | None, str]:
    """The standard error that the contrast would have over the planned clusters, and where it
    comes from; None where the earlier runs do not tell, and why."""
    values = np.zeros(len(earlier.study.samples))
    names = dict[str, None]()
    for label, weight in contrast.weights:
        arm = planned.study.arm(label)
        like = [a for a in earlier.study.arms if a.condition.name == arm.condition.name]
        twins = [a for a in like if split_address(a.model)[0] == split_address(arm.model)[0]]
        if not like:
            return None, f"no earlier run has {arm.condition.name}"
        chosen = (twins or like)[0]
        names[chosen.run if twins else f"{chosen.run} ({short_name(chosen.model)})"] = None
        values += weight * earlier.column(chosen, earlier.metric)
    clusters = len(np.unique(earlier.clusters[~np.isnan(values)]))
    if clusters < 10:  # independent pairs of an earlier run without which its variance is not taken
        return None, f"{clusters} pairs in {', '.join(names)} are too few"
    error = float(Means(values[:, None], earlier.clusters).errors[0])
    if error == 0:
        return None, f"all pairs alike in {', '.join(names)}"
    scale = (clusters / planned.cluster_count) ** 0.5
    pairs = int((~np.isnan(values)).sum())
    return error * scale, f"{', '.join(names)}, {pairs} pairs"
