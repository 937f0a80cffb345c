"""Commands on TRAVELER: the study of the slides, and its tables."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

traveler = typer.Typer(help="TRAVELER: its study and its tables.", no_args_is_help=True)


@traveler.command()
def study(
    out: Annotated[Path, typer.Option(help="The study's folder; an interrupted study continues.")],
    model: Annotated[
        list[str] | None, typer.Option(help="As for run; the first ranks prompts. Repeatable.")
    ] = None,
    configurations: Annotated[
        str, typer.Option(help="all twelve, or names such as zero-shot+date-only+json,…")
    ] = "all",
    keep: Annotated[int, typer.Option(min=1, help="Number of configurations for all models.")] = 4,
    chosen: Annotated[
        str | None, typer.Option(help="Configurations for all models, in place of the best.")
    ] = None,
    final: Annotated[
        str | None, typer.Option(help="Configuration of the last stage, in place of the best.")
    ] = None,
    per_cell: Annotated[
        int, typer.Option(min=1, help="Questions of each number of events and category.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Of the questions.")] = 1,
    option: Annotated[
        list[str] | None, typer.Option(help="As for run traveler: KEY=VALUE. Repeatable.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Of compatible/NAME models.")] = None,
    api_key_env: Annotated[
        list[str] | None,
        typer.Option(metavar="[MODEL=]NAME", help="As for run. Repeatable."),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Sent if given.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Episodes at the same time.")] = 8,
) -> None:
    """Rank configurations by one model, ask the best of all models, then everything by one.

    Example: agent-env traveler study --model openai/gpt-5 --configurations all --out runs/study
    """
    import asyncio

    from agent_env.cli.run import say
    from agent_env.families.traveler.study import StudyPlan, named_configurations, run_study
    from agent_env.runs.start import Listener

    plan = StudyPlan(
        models=tuple(model or ["reference"]),
        configurations=named_configurations(configurations),
        keep=keep,
        chosen=named_configurations(chosen) if chosen else (),
        final=named_configurations(final)[0] if final else None,
        per_cell=per_cell,
        seed=seed,
        options=tuple(option or ()),
        base_url=base_url,
        api_key_envs=tuple(api_key_env or ()),
        temperature=temperature,
    )
    listener = Listener(say, lambda folder, total: say(f"{total} episodes"), lambda key, end: None)
    try:
        asyncio.run(run_study(plan, out, listener, concurrency))
    except KeyboardInterrupt:
        say("the same command continues the study")
        raise
    _print([out], "text", None)


@traveler.command()
def tables(
    runs: Annotated[list[Path], typer.Argument(help="Runs, or a study's folder.", metavar="RUN…")],
    form: Annotated[str, typer.Option("--format", help="text, markdown, csv or json.")] = "text",
    curves: Annotated[
        Path | None, typer.Option(help="Write accuracy by number of events here, as SVG.")
    ] = None,
) -> None:
    """The slides' Tables 4, 5 and 6 and accuracy by number of events.

    Example: agent-env traveler tables runs/study --curves lengths.svg
    """
    _print(runs, form, curves)


def _print(runs: list[Path], form: str, curves: Path | None) -> None:
    from agent_env.cli.run import one_of, say
    from agent_env.errors import ConfigError
    from agent_env.families.traveler.study import result_tables, write_curves

    one_of(form, ("text", "markdown", "csv", "json"), "--format")
    results = result_tables(runs, say)
    if not results:
        raise ConfigError("no episode finished, so there are no results")
    if form == "json":
        print(json.dumps([asdict(table) for table in results]))
    else:
        print("\n".join(getattr(table, form)() for table in results), end="")
    if curves is not None:
        write_curves(runs, curves, say)
        say(f"curves in {curves}")
