"""The commands `curve` and `attribute`, which ask a model anew from recorded steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import (
    AsJson,
    Opt,
    RunPath,
    Wide,
    for_each_run,
    listening,
    print_table,
    say,
    with_options,
)

if TYPE_CHECKING:
    from agent_env.sdk.run import AttributeOptions, CurveOptions

Check = Annotated[bool, Opt("Only say what the forks will use: ask nothing.")]


@with_options("agent_env.sdk.run:CurveOptions")
def curve(
    options: CurveOptions,
    folder: RunPath,
    html: Annotated[Path | None, Opt("Write the tables and the figure as one HTML file.")] = None,
    figures: Annotated[
        Path | None, Opt("Draw the figure into this folder, SVG, PNG and PDF.")
    ] = None,
    check: Check = False,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Accuracy against steps, tokens and cost from one run: each episode is forked where its budget
    ends, and must answer there.

    Example: agent-env episodes curve runs/first --budgets 1,2,4,8 --html curve.html
    """
    import asyncio
    from dataclasses import asdict, replace

    from agent_env.extensions.evidence.curve import ask_and_read, draw_curves, plan_curve
    from agent_env.sdk.commands import need_extra
    from agent_env.sdk.run import Run

    if html or figures:
        need_extra(*(("jinja2", "matplotlib", "scipy") if html else ("matplotlib",)))

    def show(path: Path, name: str) -> None:
        calls = options.calls
        own = replace(options, calls=replace(calls, out=calls.out and calls.out / name))
        plan = plan_curve(Run.open(path), own, say)
        forecast = plan.forks.forecast
        if check:
            print(json.dumps(asdict(forecast)) if as_json else forecast)
            return
        with listening() as (listener, _):
            result = asyncio.run(ask_and_read(plan, listener))
        if as_json:
            print(json.dumps(result.as_json(), allow_nan=False))
        for table in [] if as_json else result.tables():
            print_table(table, wide)
        page = html and (html if not name else html.with_name(f"{html.stem}-{path.name}.html"))
        for file in draw_curves(result, page, figures and figures / name):
            say(f"wrote {file}")

    for_each_run(folder, show, as_json)


@with_options("agent_env.sdk.run:AttributeOptions")
def attribute(
    options: AttributeOptions,
    trace: Annotated[
        Path,
        typer.Argument(help="A trace, or RUN/CONDITION/SAMPLE.1", metavar="EPISODE"),
    ],
    check: Check = False,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """At which step an episode's outcome turned: forks of each step are asked anew, and the share
    of right ends is compared before and after it.

    Example: agent-env episodes attribute runs/first/web/tp-1-00001.1 --forks 200
    """
    import asyncio
    from dataclasses import asdict

    from agent_env.extensions.evidence.attribute import ask_and_read, plan_attribution

    plan = plan_attribution(trace, options, say, {})
    forecast = plan.forks.forecast
    if check:
        print(json.dumps(asdict(forecast)) if as_json else forecast)
        return
    with listening() as (listener, _):
        result = asyncio.run(ask_and_read(plan, listener))
    if as_json:
        print(json.dumps({"folder": str(plan.forks.out), **result.as_json()}))
    else:
        print_table(result.table(), wide)
