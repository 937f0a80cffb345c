"""`run --check` and `study check`: print preflights, and what the plan will use and can show."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from agent_env.cli.options import with_options
from agent_env.cli.run import AsJson, print_table, say
from agent_env.records.options import Opt

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.records.forecast import Forecast, PlanForecast
    from agent_env.records.manifest import Manifest
    from agent_env.runs.options.run_options import RunOptions
    from agent_env.runs.planning.plan import Plan
    from agent_env.runs.servers.probe import ProbeOptions


def print_checks(
    runs: Sequence[RunOptions],
    as_json: bool,
    like: Sequence[Path] = (),
    contrasts: Sequence[str] = (),
    limits: RunLimits | None = None,
    models_at_once: bool = False,
) -> None:
    """The preflight of each run, none of which is begun, and the forecast of all, see
    `forecast_plan`; exit code 2 where one would be refused, 1 where a server does not answer."""
    import asyncio

    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.runs.forecast import forecast_plan
    from agent_env.runs.start import check_run

    checks: dict[str, Plan] = {}
    for options in runs:
        name = str(options.out or options.model)
        checks[name] = asyncio.run(check_run(options, say))
        if not as_json:
            if len(runs) > 1:
                print(f"== {name}")
            _print_check(checks[name].manifest)
    run_limits = limits or RunLimits()
    forecast = forecast_plan(checks, like, say, contrasts, run_limits, models_at_once)
    if as_json:
        rows = [
            {
                "preflight": each.manifest.preflights[0].model_dump(mode="json")
                if each.manifest.preflights
                else None,
                "forecast": run.model_dump(mode="json"),
            }
            for each, run in zip(list(checks.values()), forecast.runs, strict=True)
        ]
        whole = forecast.model_dump(mode="json", exclude={"runs"})
        print(json.dumps({"runs": rows, **whole}))
    else:
        _print_forecast(forecast)
    _exit([check.manifest for check in checks.values()], runs)


def _print_check(manifest: Manifest) -> None:
    from agent_env.episodes.calls.preflight import remarks

    if not manifest.preflights:
        say(f"{manifest.model} is a script: there is no server to try")
        return
    (preflight,) = manifest.preflights
    from agent_env.analysis.result_tables import Column, ResultTable

    facts: dict[str, object] = {
        "model asked for": preflight.model,
        "model that answers": preflight.served_model,
        "models listed": ", ".join(preflight.listed_models) if preflight.listed_models else None,
        "context, tokens": preflight.context_tokens,
        "template, SHA-256": preflight.template_digest and preflight.template_digest[:16],
        "template knows tools": _word(preflight.supports_tools),
        "usage told": _word(preflight.tells_usage),
        "reply ends by itself": _word(preflight.stops),
        "calls made": len(preflight.probes),
    }
    for name, value in facts.items():
        print(f"  {name}: {'unknown' if value is None else value}")
    heads = ("condition", "first step", "added tokens in", "tools reach the model",
             "required obeyed", "calls parsed")  # fmt: skip
    first_steps = {condition.name: condition.first_step for condition in manifest.conditions}
    rows = tuple(
        (check.condition, first_steps[check.condition],
         None if check.added_input_tokens is None else f"{check.added_input_tokens:+d}",
         *map(_word, (check.is_reached, check.required_obeyed, check.calls_parsed)))
        for check in preflight.conditions
    )  # fmt: skip
    if rows:
        print_table(ResultTable("preflight", "Conditions", tuple(map(Column, heads)), rows))
    for remark in remarks(preflight, manifest.is_in_text):
        print(f"  {remark}")


def _exit(manifests: Sequence[Manifest], runs: Sequence[RunOptions]) -> None:
    from agent_env.episodes.calls.preflight import refusal

    reasons, is_away = [], False
    for manifest in manifests:
        in_text = manifest.is_in_text
        for preflight in manifest.preflights:
            reasons.append(refusal(preflight, in_text))
            is_away |= bool(preflight.probes) and all(probe.error for probe in preflight.probes)
    for reason in filter(None, reasons):
        say(reason)
    if any(reasons) and not any(options.preflight == "anyway" for options in runs):
        sys.exit(2)
    if is_away:
        sys.exit(1)


def _print_forecast(forecast: PlanForecast) -> None:
    from agent_env.analysis.result_tables import Column, ResultTable
    from agent_env.runs.forecast import amounts_text, time_text

    heads = (
        Column("contrast"), Column("samples", 0), Column("minimum detectable effect"),
        Column("variance from"), Column("task", if_any=True),
    )  # fmt: skip
    for run in forecast.runs:
        if any(each.amounts.expected_tokens is not None for each in run.conditions):
            print_table(_amounts_table(run))
            print(f"  Time: {time_text(run.amounts)}, {run.concurrency} episodes at once.")
        if run.ways:
            print_table(_ways_table(run))
    if len(forecast.runs) > 1:
        print(f"  In all: {amounts_text(forecast.amounts)}.")
    if forecast.differences:
        is_one = len({each.task for each in forecast.differences}) == 1
        rows = tuple(
            (d.contrast, d.samples, d.difference, d.basis, None if is_one else d.task)
            for d in forecast.differences
        )
        notes = [
            "Minimum detectable effect: found in 80 % of cases at 5 %, two-sided, uncorrected."
        ]
        if few := [each.contrast for each in forecast.differences if each.difference is None]:
            notes.append(
                f"Too few samples to show any difference: {', '.join(dict.fromkeys(few))}."
            )
        print_table(ResultTable("detectable", "What it can show", heads, rows, tuple(notes)))


def _ways_table(run: Forecast) -> ResultTable:
    from agent_env.analysis.result_tables import Column, ResultTable

    heads = Column("way"), Column("USD", 4), Column("hours", 2), Column("hours at most", 1)
    hour = 3600.0
    rows = tuple(
        (
            way.name,
            way.expected_cost_usd,
            None if way.expected_s is None else way.expected_s / hour,
            None if way.most_s is None else way.most_s / hour,
        )
        for way in run.ways
    )
    note = (
        "now: as the options say; cached: each request finds the one before it in the provider's "
        "cache; flex: --service-tier; batch: --batch, a day at most for each step. No number: "
        "unknown, as the price table lacks that service tier."
    )
    return ResultTable("ways", "What the same calls cost otherwise", heads, rows, (note,))


def _amounts_table(run: Forecast) -> ResultTable:
    from agent_env.analysis.forecast import GUESS
    from agent_env.analysis.result_tables import Column, ResultTable
    from agent_env.models.addresses import short_name

    columns = (
        Column("condition"), Column("episodes", 0), Column("tokens", 0),
        Column("tokens at most", 0), Column("USD", 4), Column("USD at most", 2), Column("from"),
    )  # fmt: skip
    rows = [(c.condition, c.episodes, *c.amounts.spent, c.basis) for c in run.conditions]
    rows.append(("all", run.episodes, *run.amounts.spent, "within the run's limits"))
    title = f"What it will use · {run.task} · {short_name(run.model)}"
    is_guess = any(each.basis.startswith("guess") for each in run.conditions)
    return ResultTable("forecast", title, columns, tuple(rows), (GUESS,) if is_guess else ())


def _word(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


@with_options("agent_env.runs.servers.probe:ProbeOptions")
def check(
    options: ProbeOptions,
    out: Annotated[Path | None, Opt("Write the record here, to pass it on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Try what a model's server can do, by about twenty short calls.

    They try tools, streams, usage, JSON schema, seed, and what the server wants of an agent's
    requests. The record holds neither address nor key.

    Example: agent-env check http://127.0.0.1:8000/v1 --out probe.json
    """
    import asyncio

    from agent_env.episodes.calls.preflight import remarks
    from agent_env.errors import ConfigError
    from agent_env.runs.servers.probe import probe_server

    preflight, record = asyncio.run(probe_server(options, say))
    text = json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False)
    if as_json:
        print(text)
    else:
        from agent_env.analysis.result_tables import Column, ResultTable

        title = f"{record.server or 'unknown server'} {record.version or ''} · {record.model}"
        context = record.context_tokens
        rows = [(f.name, _word(f.is_seen) or "unknown", f.detail) for f in record.features]
        rows.append(("context", "unknown" if context is None else f"{context}", "tokens"))
        columns = (Column("feature"), Column("seen"), Column("what"))
        notes = (f"{record.calls} calls; unknown: the model's replies did not show it.",)
        print_table(ResultTable("probe", " ".join(title.split()), columns, tuple(rows), notes))
        for remark in remarks(preflight):
            print(f"  {remark}")
    if out is not None:
        try:
            out.write_text(f"{text}\n", encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"cannot write --out {out}: {exc.strerror}") from exc
        say(f"wrote {out}")
