"""Commands on puzzles and fact tables: generate, audit, facts …"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import AsJson, say

if TYPE_CHECKING:
    from agent_env.families.time_puzzles.audit import AuditReport
    from agent_env.runs.generate import GenerateOptions as SetOptions
    from agent_env.runs.generate import Wording
    from agent_env.runs.options import RunOptions

Out = Annotated[Path, typer.Option(help="The file to write.")]
Table = Annotated[Path | None, typer.Argument(help="An event table; default: the shipped one.")]
Now = Annotated[str | None, typer.Option(help="YYYY-MM-DD; what still lasts, lasts until then.")]

ApiKeyEnv = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="The environment variable with the key of the model's server."
    ),
]
SHOWN = 12
"""Kinds of things left out that are printed."""
facts = typer.Typer(help="Tables of events: import, build, screen, check.", no_args_is_help=True)


def generate(
    context: typer.Context,
    task: Annotated[str, typer.Argument(help="time-puzzles, or another", metavar="TASK")],
    out: Out,
    count: Annotated[int, typer.Option(min=1, help="How many puzzles.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    facts_per_puzzle: Annotated[
        str, typer.Option("--facts", help="Facts per puzzle: 5 or 4-6.")
    ] = "4-6",
    solutions: Annotated[str, typer.Option(help="Solutions per puzzle: 1 or 0-6.")] = "1-6",
    years: Annotated[str, typer.Option(help="Years of the answers: A-B.")] = "1800-2050",
    calendars: Annotated[
        str, typer.Option(help="Joined by commas, or all: chinese, hebrew, islamic, persian, …")
    ] = "chinese",
    facts_table: Annotated[Path | None, typer.Option(help="Your own event table.")] = None,
    form: Annotated[
        str, typer.Option("--format", help="samples (a line each) or published (an array).")
    ] = "samples",
    unchecked: Annotated[
        bool, typer.Option("--unchecked", help="The paper's rules alone, no guarantees.")
    ] = False,
    processes: Annotated[int, typer.Option(min=1, help="The output is the same.")] = (
        os.cpu_count() or 1
    ),
    option: Annotated[
        list[str] | None,
        typer.Option(
            help="Of any other task than time-puzzles, which alone has --facts to --processes: "
            "KEY=VALUE, repeatable."
        ),
    ] = None,
    wording: Annotated[
        str | None,
        typer.Option(help="Of tdbench: template, or model:NAME as for run; each is read back."),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Of that model's server.")] = None,
    api_key_env: ApiKeyEnv = None,
    run: Annotated[
        Path | None, typer.Option(help="That model's replies; default: OUT.wording, kept.")
    ] = None,
    run_tokens: Annotated[
        int | None, typer.Option(min=1, help="That model's, in and out, in all.")
    ] = None,
) -> None:
    """Make a set of puzzles, or of another task's questions.

    Example: agent-env generate time-puzzles --count 600 --seed 7 --out puzzles.jsonl
    """
    from agent_env.cli.progress import count_up
    from agent_env.errors import ConfigError
    from agent_env.families.time_puzzles.commands import GenerateOptions, generate_set
    from agent_env.families.time_puzzles.guessers import guess_rates

    if task != "time-puzzles":
        _refuse_puzzle_options(context, task)
        from agent_env.episodes.calls.budget import RunLimits
        from agent_env.runs.generate import GenerateOptions as SetOptions

        given = (tuple(option or ()), wording or "template", base_url, api_key_env, run)
        _generate_other(SetOptions(task, out, count, seed, *given, RunLimits(run_tokens)))
        return
    if wording is not None:
        raise ConfigError("--wording: only tdbench has questions to be worded, not time-puzzles")
    options = GenerateOptions(
        out=out,
        count=count,
        seed=seed,
        facts=facts_per_puzzle,
        solutions=solutions,
        years=years,
        calendars=calendars,
        facts_table=facts_table,
        form=form,
        checked=not unchecked,
        processes=processes,
    )
    made, tables = generate_set(options, count_up(count))
    print(f"{len(made.puzzles)} puzzles in {out}", file=sys.stderr)
    if made.puzzles:
        rates = guess_rates(made.puzzles, tables).as_json()
        told = ", ".join(f"{name.replace('_', ' ')} {rate:.1%}" for name, rate in rates.items())
        print(f"exact match of guessers: {told}", file=sys.stderr)
    if made.missing:
        raise ConfigError(f"{len(made.missing)} puzzles are missing: {made.missing[0]}")


PUZZLE_OPTIONS = {
    "facts_per_puzzle": "--facts",
    "solutions": "--solutions",
    "years": "--years",
    "calendars": "--calendars",
    "facts_table": "--facts-table",
    "form": "--format",
    "unchecked": "--unchecked",
    "processes": "--processes",
}
"""Of time-puzzles alone, by parameter."""


def _refuse_puzzle_options(context: typer.Context, task: str) -> None:
    from agent_env.errors import ConfigError

    given = [
        name
        for parameter, name in PUZZLE_OPTIONS.items()
        if (source := context.get_parameter_source(parameter)) and source.name == "COMMANDLINE"
    ]
    if given:
        raise ConfigError(
            f"{', '.join(given)}: of time-puzzles only; write {task}'s own as --option KEY=VALUE"
        )


def _generate_other(options: SetOptions) -> None:
    """Questions of any family but Time Puzzles, whose options are its own."""
    from agent_env.cli.run import listening
    from agent_env.runs.generate import make_set

    with listening() as (listener, _):
        done = asyncio.run(make_set(options, listener))
    say(f"{len(done.made.samples)} questions in {options.out}; told in full in {done.summary}")
    left_out = sorted(done.made.left_out.items(), key=lambda pair: -pair[1])
    for what, number in left_out[:SHOWN]:
        say(f"  left out: {number} {what}")
    if len(left_out) > SHOWN:
        say(f"  and {len(left_out) - SHOWN} more")
    if done.wording is not None:
        _tell_wording(done.wording)


def _tell_wording(done: Wording) -> None:
    """How many questions are in the model's words, why others are not, and what it cost."""
    kept = done.questions - done.worded
    say(
        f"{done.worded} of {done.questions} questions in the words of {done.model}; "
        f"{kept} ({kept / done.questions:.1%}) keep the template's:"
    )
    for reason, number in done.refused.items():
        say(f"  {number} {reason}")
    cost = done.totals
    tokens = [f"{_count(cost.input_tokens)} in", f"{_count(cost.output_tokens)} out"]
    say(f"tokens: {', '.join(tokens)}; {cost.calls} calls, {cost.failed_calls} of them failed")
    if done.answered < done.queries:
        why = f": {done.stopped}" if done.stopped else ""
        say(f"{done.answered} of {done.queries} queries had a reply{why}; the same command asks on")
    if not done.answered:
        sys.exit(1)


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"


def audit(
    file: Annotated[Path, typer.Argument(help="Puzzles, in either format.")],
    facts_file: Annotated[
        Path | None,
        typer.Option(
            "--facts-table",
            "--facts",
            help="EVENTS.csv: event,start,end,multi_year_spans; the table that generate had.",
        ),
    ] = None,
    fix: Annotated[Path | None, typer.Option(help="Write the corrected set here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check any puzzle file: gold, closure, necessity, conventions, guessability, wording; exit 1
    where nothing could be judged.

    Example: agent-env audit puzzles.json --facts-table EVENTS.csv --fix corrected.json
    """
    from agent_env.families.time_puzzles.commands import audit_file

    report = audit_file(file, facts_file, fix)
    if report.without_event:
        say(
            f"{report.without_event} of {len(report.findings)} puzzles name events that "
            f"{facts_file or 'the shipped table'} lacks, so guess rates are unknown; "
            "name the puzzles' own table by --facts-table EVENTS.csv"
        )
    if as_json:
        print(json.dumps(report.as_json()))
    else:
        _print_report(report)
    if not report.judged:
        say(
            f"nothing was judged: of no puzzle in {file} are all facts known; puzzles need "
            "structured facts (constraints_meta, or facts in a samples.jsonl), and their events "
            "a table (--facts-table EVENTS.csv)"
        )
        sys.exit(1)


def _print_report(report: AuditReport) -> None:
    told = report.as_json()
    print(f"{'puzzles':24} {told['puzzles']}\n{'judged':24} {told['judged']}")
    if not report.judged:
        return
    for name in (
        "wrong_gold", "open_universe", "event_unnecessary", "any_unnecessary",
        "convention_dependent",
    ):  # fmt: skip
        print(f"{name.replace('_', ' '):24} {told[name]}")
    for title in ("wrong_gold_by_cause", "guess_rates"):
        values = told[title]
        if values is None:
            print("  guess rates: unknown")
            continue
        assert isinstance(values, dict)
        for name, value in values.items():
            shown = f"{value:.3f}" if isinstance(value, float) else value
            print(f"  {title.replace('_', ' ')}: {name.replace('_', ' ')} {shown}")
    for finding in report.findings:
        if finding.causes:
            print(f"{finding.identifier}: {', '.join(finding.causes)}")


@facts.command("import")
def import_table(
    file: Annotated[Path, typer.Argument(help="Your CSV.")], out: Out, now: Now = None
) -> None:
    """Check an event table of your own and write it in full form.

    Example: agent-env facts import mine.csv --out events.csv
    """
    from agent_env.families.event_facts.commands import import_events

    done = import_events(file, out, _day(now))
    print(f"{done.events} events in {done.out}, {done.lasting} of them still lasting")


@facts.command("import-wikidata")
def import_wikidata(
    out: Out,
    kind: Annotated[list[str], typer.Option(help="Such as war; repeatable.")],
    limit: Annotated[int, typer.Option(min=1, help="How many events.")] = 1000,
    endpoint: Annotated[str | None, typer.Option(help="Of the query service.")] = None,
    language: Annotated[list[str] | None, typer.Option(help="Of the names; repeatable.")] = None,
    contact: Annotated[str, typer.Option(help="An address for the service's operators.")] = "",
    sitelinks: Annotated[int, typer.Option(min=0, help="Least number of articles.")] = 15,
    now: Now = None,
) -> None:
    """Build an event table from the Wikidata query service.

    Example: agent-env facts import-wikidata --kind war --limit 500 --out wars.csv
    """
    import asyncio

    from agent_env.families.event_facts import commands as facts_commands

    built = asyncio.run(
        facts_commands.import_wikidata(
            out,
            kind,
            limit,
            _day(now),
            endpoint,
            tuple(language or ("en",)),
            contact,
            sitelinks,
            note=lambda text: print(text, file=sys.stderr),
        )
    )
    left_out = ", ".join(f"{n} {reason}" for reason, n in built.left_out.items()) or "none"
    print(f"{built.events} events in {built.out} from {built.pages} pages; left out: {left_out}")


@facts.command()
def screen(
    out: Out,
    model: Annotated[str, typer.Option(help="As for run.")],
    run: Annotated[Path, typer.Option(help="The run's folder, kept.")],
    table: Table = None,
    base_url: Annotated[str | None, typer.Option(help="Of the model's server.")] = None,
    api_key_env: ApiKeyEnv = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many events.")] = None,
    concurrency: Annotated[int, typer.Option(min=1)] = 8,
    now: Now = None,
) -> None:
    """Mark the events that a model can date without tools.

    Example: agent-env facts screen --model openai/gpt-5 --run runs/screen --out known.csv
    """
    options = _options(model, run, base_url, api_key_env, limit, concurrency)
    _ask("screen", table, out, options, _day(now))


@facts.command()
def check(
    out: Out,
    model: Annotated[str, typer.Option(help="As for run; it gets the web tools.")],
    run: Annotated[Path, typer.Option(help="The run's folder, kept.")],
    table: Table = None,
    base_url: Annotated[str | None, typer.Option(help="Of the model's server.")] = None,
    api_key_env: ApiKeyEnv = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many events.")] = None,
    concurrency: Annotated[int, typer.Option(min=1)] = 8,
    web: Annotated[str, typer.Option(help="As for run: sealed, live, record, frozen.")] = "sealed",
    search: Annotated[str | None, typer.Option(help="As for run.")] = None,
    pages: Annotated[Path | None, typer.Option(help="As for run.")] = None,
    now: Now = None,
) -> None:
    """Have a model with web tools judge each row: correct or not, why, by which pages.

    Example: agent-env facts check --model openai/gpt-5 --web record --search brave --run runs/c
    --out judged.csv
    """
    from agent_env.wiring.web_options import WebOptions

    options = _options(model, run, base_url, api_key_env, limit, concurrency)
    options = replace(options, web=WebOptions(mode=web, search=search, pages=pages))
    _ask("check", table, out, options, _day(now))


def _options(
    model: str,
    run: Path,
    base_url: str | None,
    api_key_env: str | None,
    limit: int | None,
    concurrency: int,
) -> RunOptions:
    from agent_env.runs.options import RunOptions

    return RunOptions(
        task="",
        model=model,
        out=run,
        base_url=base_url,
        api_key_envs=() if api_key_env is None else (api_key_env,),
        limit=limit,
        concurrency=concurrency,
    )


def _ask(what: str, table: Path | None, out: Path, options: RunOptions, now: date) -> None:
    import asyncio

    from agent_env.cli.run import listening
    from agent_env.families.event_facts import commands as facts_commands

    command = facts_commands.screen if what == "screen" else facts_commands.check
    with listening() as (listener, _):
        asked = asyncio.run(command(table, out, options, listener, now))
    counts = ", ".join(f"{number} {name}" for name, number in asked.counts.items())
    print(f"{counts}; result in {asked.out}, traces in {asked.run}")


def _day(text: str | None) -> date:
    from agent_env.errors import ConfigError

    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--now '{text}' is not a date; write YYYY-MM-DD") from None
