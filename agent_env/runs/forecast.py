"""The forecast of a plan: of runs that were checked and not begun."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.analysis.comparison import Comparison, Options
from agent_env.analysis.forecast import (
    added,
    capped,
    detectable_differences,
    forecast_run,
    side_by_side,
)
from agent_env.analysis.study import RunData, Study, assemble
from agent_env.episodes.calls.budget import RunLimits
from agent_env.episodes.calls.retries import silent
from agent_env.records.forecast import Amounts, DetectableDifference, PlanForecast
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.screen.progress import duration
from agent_env.runs.start import check_run
from agent_env.runs.study import find_runs

if TYPE_CHECKING:
    from agent_env.runs.planning.plan import Plan

NO_LIMITS = RunLimits()
TIMES = {"about": "expected", "at most": "most"}


def forecast_plan(
    checks: Mapping[str, Plan],
    like: Sequence[Path],
    note: Callable[[str], None],
    contrasts: Sequence[str] = (),
    limits: RunLimits = NO_LIMITS,
    models_at_once: bool = False,
) -> PlanForecast:
    """Of runs by their names. `like`: earlier runs to learn from, or folders of runs; `contrasts`:
    see contrast_text, those that a task has the conditions for, else the ones of `compare`;
    `limits`: of all runs together."""
    opened = [Run.open(folder) for folder in (find_runs(like, note) if like else ())]
    earlier = [(run, run.data(note, str(run.path))) for run in opened]
    runs = tuple(
        forecast_run(check.manifest, _of_task(earlier, check.manifest.task))
        for check in checks.values()
    )
    by_model: dict[str, list[Amounts]] = {}
    for run in runs:
        by_model.setdefault(run.model if models_at_once else "", []).append(run.amounts)
    whole = side_by_side([added(amounts) for amounts in by_model.values()])
    tasks: dict[tuple[str, str], dict[str, Plan]] = {}
    for name, check in checks.items():
        key = check.manifest.task, check.manifest.samples_digest
        tasks.setdefault(key, {})[name] = check
    differences: list[DetectableDifference] = []
    for plans in tasks.values():  # of one task over the same samples
        task = next(iter(plans.values())).task
        short = [Path(name).name for name in plans]
        names = short if len(set(short)) == len(short) else list(plans)
        planned = [
            RunData(name, check.manifest, {sample.id: sample for sample in check.samples}, {})
            for name, check in zip(names, plans.values(), strict=True)
        ]
        metrics, hooks = task.metrics, task.analysis
        study = assemble(planned, metrics, error_metrics=task.error_metrics, hooks=hooks)
        like_it = _of_task(earlier, study.task)
        before = Comparison(Study.of(like_it, task)) if like_it else None
        options = Options(planned=tuple(contrasts))
        differences += detectable_differences(Comparison(study, options), before)
    amounts = capped(whole, limits.tokens, limits.cost_usd, limits.time_s)
    return PlanForecast(runs=runs, differences=tuple(differences), amounts=amounts)


async def forecast_text(runs: Sequence[RunOptions]) -> str:
    """What runs that are not begun will use one after the other; tries each server."""
    plans = [await check_run(each, silent) for each in runs]
    forecasts = [forecast_run(each.manifest, ()) for each in plans]
    episodes = f"{sum(each.episodes for each in forecasts)} episodes of {len(runs)} runs"
    asked = [
        f.amounts for f, plan in zip(forecasts, plans, strict=True) if plan.manifest.preflights
    ]
    return f"{episodes}: {amounts_text(added(asked)) if asked else 'what they use is unknown'}"


def amounts_text(amounts: Amounts) -> str:
    tokens, most, cost, most_cost = (
        "unknown" if value is None else f"{value:,.{digits}f}"
        for value, digits in zip(amounts.spent, (0, 0, 2, 2), strict=True)
    )
    money = f"{cost} USD (at most {most_cost})" if amounts.most_cost_usd else "cost unknown"
    return f"{tokens} tokens (at most {most}), {money}, {time_text(amounts)}"


def time_text(amounts: Amounts) -> str:
    """For users."""
    times = ((word, getattr(amounts, f"{name}_s")) for word, name in TIMES.items())
    known = [f"{word} {duration(s, with_hours=True)}" for word, s in times if s is not None]
    return ", ".join(known if amounts.expected_s is not None else ["time unknown", *known])


def _of_task(earlier: Sequence[tuple[Run, RunData]], task: str) -> list[RunData]:
    return [data for _, data in earlier if data.manifest.task == task]
