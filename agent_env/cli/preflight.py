"""`run --check`: prints the preflight."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_env.cli.run import say
from agent_env.cli.tables import print_table

if TYPE_CHECKING:
    from agent_env.records.manifest import Manifest, Preflight
    from agent_env.runs.options import RunOptions


def print_checks(runs: Sequence[RunOptions], as_json: bool) -> None:
    """The preflight of each model's run, which is not begun; exit code 2 where one would be
    refused, 1 where a server does not answer."""
    import asyncio

    from agent_env.episodes.calls.preflight import refusal, remarks
    from agent_env.runs.start import check_run

    reasons, is_away = [], False
    for options in runs:
        manifest = asyncio.run(check_run(options, say))
        if not manifest.preflights:
            say(f"{manifest.model} is a script: there is no server to try")
            continue
        (preflight,) = manifest.preflights
        if as_json:
            print(json.dumps(preflight.model_dump(mode="json")))
        else:
            _print(manifest, preflight)
            for remark in remarks(preflight):
                print(f"  {remark}")
        in_text = manifest.model_parameters.get("tool_protocol") == "text"
        reasons.append(refusal(preflight, in_text))
        is_away |= bool(preflight.probes) and all(probe.error for probe in preflight.probes)
    for reason in filter(None, reasons):
        say(reason)
    if any(reasons) and not any(options.preflight == "anyway" for options in runs):
        sys.exit(2)
    if is_away:
        sys.exit(1)


def _print(manifest: Manifest, preflight: Preflight) -> None:
    from agent_env.analysis.result_tables import Column, ResultTable

    facts = {
        "model asked for": preflight.model,
        "model that answers": preflight.served_model,
        "models listed": ", ".join(preflight.listed_models) if preflight.listed_models else None,
        "context, tokens": preflight.context_tokens,
        "template, SHA-256": preflight.template_digest and preflight.template_digest[:16],
        "template knows tools": _word(preflight.supports_tools),
        "usage told": _word(preflight.tells_usage),
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


def _word(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"
