"""The options of a run's model calls: their entries in run.json, and the objects made from them."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from math import ceil, floor, log10
from pathlib import Path
from typing import Annotated, Any

from agent_env.episodes.calls.budget import ConcurrencyLimit, RunBudget, RunLimits
from agent_env.episodes.calls.caller import Calls
from agent_env.episodes.calls.reply_cache import ReplyCache
from agent_env.episodes.calls.retries import Breaker, IsUp, Outage, Retries
from agent_env.episodes.run_folder import RunFolder, stored_as
from agent_env.episodes.trace.fold import charges
from agent_env.episodes.trace.lines import read_events
from agent_env.errors import ConfigError, DatasetError, RunStopped, StorageError
from agent_env.models.addresses import split_address
from agent_env.models.usage import is_priced, read_prices
from agent_env.permits import Permit, text_of
from agent_env.records.manifest import Manifest
from agent_env.records.options import CALLS, RUN, Opt, OptionGroup
from agent_env.records.reach import Reach
from agent_env.records.schema import ModelFacts
from agent_env.records.trace_events import Event, ModelCalled

FILES_PER_EPISODE = 4
"""A trace, a connection, and what a sandbox holds open."""


@dataclass(frozen=True, slots=True)
class CallOptions:
    """The user's options for a run's model calls."""

    run: Annotated[RunLimits, OptionGroup(manifest="run_limits")] = field(default_factory=RunLimits)
    retries: Annotated[Retries, OptionGroup(manifest="retries")] = field(default_factory=Retries)
    breaker: Annotated[
        int | None,
        Opt(
            "Model calls in a row that all failed; 0: never.",
            RUN,
            "--stop-after-failures",
            min=0,
            typed=int,
            manifest="retries.breaker",
            read=lambda calls: calls or None,
        ),
    ] = 20
    """Failed calls in a row after which the run stops."""
    prices: Annotated[
        Path | ModelFacts | None,
        Opt(
            "A table of models: agent-env docs limits shows the form.",
            CALLS,
            typed=Path | None,
            reach=Reach.MONEY,
        ),
    ] = None
    """The file, or the model's row itself."""
    reply_cache: Annotated[
        Path | None,
        Opt("Keep replies here, and take those that are here.", CALLS, manifest="reply_cache"),
    ] = None


def manifest_fields(
    options: CallOptions,
    model: str,
    limits: Mapping[str, Any],
    note: Callable[[str], None],
    permit: Permit,
    tier: str | None = None,
) -> dict[str, Any]:
    """The entries of run.json; ConfigError for a cost limit without prices."""
    is_cost_limited = limits.get("cost_usd") is not None
    facts = priced_facts(options, model, note, is_cost_limited, tier)
    cache = options.reply_cache
    if cache is not None:
        ReplyCache(cache, permit).close()  # fails before anything else
    return {
        "run_limits": asdict(options.run),
        "retries": asdict(options.retries) | {"breaker": options.breaker},
        "reply_cache": None if cache is None else str(cache.absolute()),
        "model_facts": facts,
    }


def priced_facts(
    options: CallOptions,
    model: str,
    note: Callable[[str], None],
    is_cost_limited: bool = False,
    tier: str | None = None,
) -> ModelFacts | None:
    """The model's row in the table of prices; ConfigError for a cost limit without prices."""
    facts = model_facts(options.prices, model, note)
    lacking = [each for each in dict.fromkeys((None, tier)) if not is_priced(facts, each)]
    if lacking and (is_cost_limited or options.run.cost_usd is not None):
        which = model if lacking[0] is None else f"{model} at the tier {lacking[0]}"
        raise ConfigError(
            f"a cost limit needs the prices of {which}; name a table that has them with --prices"
        )
    if facts is not None and tier in lacking and tier is not None:
        note(f"the price table has no tier {tier} of {model}: what its calls cost stays unknown")
    return facts


def asked_tier(parameters: Mapping[str, Any]) -> str | None:
    """The service tier that a run's calls ask for, as its replies name it; None for the standard
    one, and where the account's settings decide."""
    tier = parameters.get("service_tier")
    return None if tier in (None, "auto", "default") else str(tier)


def model_facts(
    file: Path | ModelFacts | None, model: str, note: Callable[[str], None]
) -> ModelFacts | None:
    """The model's row in the table; None without one, which `note` reports."""
    if file is None or isinstance(file, ModelFacts):
        return file
    table = read_prices(file)
    facts = table.get(model) or table.get(split_address(model)[0])  # wherever it is
    if facts is None:
        note(f"{file} has no model {model}: its cost and its knowledge cutoff stay unknown")
    return facts


def open_calls(
    folder: RunFolder,
    manifest: Manifest,
    concurrency: int,
    stack: AsyncExitStack,
    note: Callable[[str], None],
    is_up: IsUp | None = None,
    budget: RunBudget | None = None,
) -> Calls:
    """What the calls of this start share. `is_up`: the server's health check; `budget`: None for
    one of this run alone."""
    breaker = manifest.retries.get("breaker", Breaker().calls)
    if budget is None:
        budget = open_budget(folder, manifest)
    if manifest.model_facts is not None:
        folder.permit.check(Reach.MONEY, text_of(manifest.model_facts))
    cache = _cache(manifest, stack, note, folder.permit)
    retries = retries_of(manifest)
    return Calls(
        pace=ConcurrencyLimit(most=concurrency),
        retries=retries,
        budget=budget,
        outage=outage_of(retries, is_up, note, _has_answered(folder, manifest)),
        breaker=Breaker(None if breaker is None else int(breaker)),
        cache=cache,
    )


def open_budget(
    folder: RunFolder, manifest: Manifest, wider: tuple[RunBudget, ...] = ()
) -> RunBudget:
    """The run's budget. With a limit, it and the wider ones get what earlier starts have spent;
    else no trace is read."""
    budget = RunBudget(
        limits=run_limits(manifest),
        facts=manifest.model_facts,
        tier=manifest.calls_tier or asked_tier(manifest.model_parameters),
        max_output=max_output(manifest),
        wider=wider,
    )
    if budget.is_limited:
        for probe in (probe for each in manifest.preflights for probe in each.probes):
            budget.spend(probe.charged or probe.usage, is_preflight=True)
        for events in all_events(folder):
            usages, holds = charges(events)
            for usage in usages:
                budget.spend(usage)
            for usage in holds:
                budget.hold(usage)
    return budget


def outage_of(
    retries: Retries, is_up: IsUp | None, note: Callable[[str], None], has_answered: bool = False
) -> Outage:
    """The settings of waits for a server that is away, reported by `note`."""
    return Outage(
        retries.time_s,
        is_up,
        has_answered=has_answered,
        attempts=retries.attempts,
        note=note,
        first_wait_s=retries.first_wait_s,
        longest_wait_s=retries.longest_wait_s,
    )


def _has_answered(folder: RunFolder, manifest: Manifest) -> bool:
    """Whether the run's server ever answered, to the preflight or to an episode."""
    for probe in (probe for each in manifest.preflights for probe in each.probes):
        if probe.error is None or probe.error_kind not in (None, "connection"):
            return True
    events = (event for trace in all_events(folder) for event in trace)
    return any(isinstance(event, ModelCalled) and event.reply is not None for event in events)


def max_output(manifest: Manifest) -> int | None:
    """The user's limit on the output tokens of one call."""
    limit = manifest.model_parameters.get("max_output_tokens")
    return limit if isinstance(limit, int) else None


def _cache(
    manifest: Manifest, stack: AsyncExitStack, note: Callable[[str], None], permit: Permit
) -> ReplyCache | None:
    if manifest.reply_cache is None:
        return None
    cache = ReplyCache(Path(manifest.reply_cache), permit)
    stack.callback(cache.close)
    stack.callback(
        lambda: note(f"reply cache: {cache.hits} replies found, {cache.misses} asked for")
    )
    return cache


def all_events(folder: RunFolder) -> Iterator[list[Event]]:
    """The events of every trace of the run; skips broken and empty ones, which scoring reports."""
    for file in folder.traces():
        try:
            events = read_events(file).events  # their texts cost nothing
        except (DatasetError, StorageError):
            continue
        if events:
            yield events


def run_limits(manifest: Manifest) -> RunLimits:
    """The limits of the whole run, from run.json."""
    return stored_as(RunLimits, manifest.run_limits, "run_limits")


def retries_of(manifest: Manifest) -> Retries:
    """The settings of retries, from run.json."""
    stored = {name: value for name, value in manifest.retries.items() if name != "breaker"}
    return stored_as(Retries, stored, "retries")


def change_run_limits(folder: RunFolder, limits: RunLimits) -> None:
    """Replaces limits in run.json by those that are set in `limits`."""
    manifest = folder.manifest
    new = {name: value for name, value in asdict(limits).items() if value is not None}
    if not new:
        return
    if "cost_usd" in new and not is_priced(manifest.model_facts):
        raise ConfigError(f"the run has no prices of {manifest.model}; a cost limit cannot hold")
    folder.change(run_limits={**manifest.run_limits, **new})


def how_to_go_on(folder: RunFolder, stopped: RunStopped) -> str:
    """The command that resumes the run; a limit that was reached is doubled, or raised to what the
    next call needs."""
    command = f"agent-env resume {folder.path}"
    limits = run_limits(folder.manifest)
    least = rounded_up(stopped.at_least or 0.0)
    if stopped.reason == "tokens" and limits.tokens is not None:
        return f"{command} --run-tokens {max(limits.tokens * 2, int(least))}"
    if stopped.reason == "cost" and limits.cost_usd is not None:
        return f"{command} --run-cost-usd {max(limits.cost_usd * 2, least):g}"
    return command


def rounded_up(amount: float) -> float:
    """The amount rounded up to two significant digits."""
    if amount <= 0:
        return 0.0
    unit = 10.0 ** (floor(log10(amount)) - 1)
    return round(ceil(amount / unit) * unit, 9)


def allow_open_files(episodes: int) -> None:
    """Raises this process's limit on open files for so many concurrent episodes; ConfigError if the
    system allows too few."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 200 + FILES_PER_EPISODE * episodes
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < needed // 2:
        raise ConfigError(
            f"{episodes} episodes at once may need {needed} open files, and this system allows "
            f"{hard}; take a lower --concurrency, or raise ulimit -n"
        )
