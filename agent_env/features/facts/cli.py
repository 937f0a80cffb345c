"""Tables of events: import, build, screen, check."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import Opt, say, with_options

if TYPE_CHECKING:
    from agent_env.sdk.run import RunOptions

Out = Annotated[Path, Opt("The file to write.")]
Table = Annotated[Path | None, typer.Argument(help="An event table; default: the shipped one.")]
Now = Annotated[str | None, Opt("YYYY-MM-DD; what still lasts, lasts until then.")]
RunFolder = Annotated[Path, Opt("The run's folder, kept.")]
RECORD = "agent_env.runs.options.run_options:RunOptions"
RUN_OPTIONS = ("base_url", "api_key_env", "limit", "concurrency")
"""Options of a run that `screen` and `check` have."""


def import_table(
    file: Annotated[Path, typer.Argument(help="CSV, JSON lines, Parquet, SQLite or DuckDB.")],
    out: Out,
    now: Now = None,
    option: Annotated[
        list[str] | None,
        Opt("KEY=VALUE, repeatable: event, start, end (columns), date-format, encoding, table."),
    ] = None,
) -> None:
    """Check an event table of your own and write it in full form.

    Example: agent-env web facts import mine.csv --out events.csv --option event=name
    """
    from agent_env.features.facts.tables.user_tables import EventTableOptions, import_events
    from agent_env.sdk.family import record_options

    options = record_options(EventTableOptions, "facts import", option or ())
    result = import_events(file, out, stated_now(now), options)
    for text in result.notes:
        say(f"{file.name}: {text}")
    print(f"{result.events} events in {result.out}, {result.lasting} of them still lasting")


def import_wikidata(
    out: Out,
    kind: Annotated[list[str], Opt("Such as war; repeatable.")],
    limit: Annotated[int, Opt("How many events.", min=1)] = 1000,
    endpoint: Annotated[str | None, Opt("Of the query service.")] = None,
    language: Annotated[list[str] | None, Opt("Of the names; repeatable.")] = None,
    contact: Annotated[str, Opt("An address for the service's operators.")] = "",
    sitelinks: Annotated[int, Opt("Least number of articles.", min=0)] = 15,
    now: Now = None,
) -> None:
    """Build an event table from the Wikidata query service.

    Example: agent-env web facts import-wikidata --kind war --limit 500 --out wars.csv
    """
    import asyncio

    from agent_env.features.facts import wikidata

    languages = tuple(language or ("en",))
    result = asyncio.run(
        wikidata.import_wikidata(
            out, kind, limit, stated_now(now), endpoint, languages, contact, sitelinks, note=say
        )
    )
    skipped = ", ".join(f"{n} {reason}" for reason, n in result.left_out.items()) or "none"
    print(f"{result.events} events in {result.out} from {result.pages} pages; left out: {skipped}")


@with_options(RECORD, only=RUN_OPTIONS, task="")
def screen(
    options: RunOptions,
    out: Out,
    model: Annotated[str, Opt("As for run.")],
    run: RunFolder,
    table: Table = None,
    now: Now = None,
) -> None:
    """Mark the events that a model can date without tools.

    Example: agent-env web facts screen --model openai/gpt-5 --run runs/screen --out known.csv
    """
    _run("screen", table, out, replace(options, model=model, out=run), stated_now(now))


@with_options(RECORD, only=(*RUN_OPTIONS, "web", "search", "pages"), task="")
def check(
    options: RunOptions,
    out: Out,
    model: Annotated[str, Opt("As for run; it gets the web tools.")],
    run: RunFolder,
    table: Table = None,
    now: Now = None,
) -> None:
    """Have a model with web tools judge each row: correct or not, why, by which pages.

    Example: agent-env web facts check --model openai/gpt-5 --web record --search brave --run runs/c
    --out judged.csv
    """
    _run("check", table, out, replace(options, model=model, out=run), stated_now(now))


def _run(what: str, table: Path | None, out: Path, options: RunOptions, now: date) -> None:
    import asyncio

    from agent_env.features.facts import event_facts
    from agent_env.sdk.commands import listening

    command = event_facts.screen if what == "screen" else event_facts.check
    with listening() as (listener, _):
        result = asyncio.run(command(table, out, options, listener, now))
    counts = ", ".join(f"{number} {name}" for name, number in result.counts.items())
    print(f"{counts}; result in {result.out}, traces in {result.run}")


def stated_now(text: str | None) -> date:
    """The day of `--now`; today where it is not stated."""
    from agent_env.sdk.errors import ConfigError

    if text is None:
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--now '{text}' is not a date; write YYYY-MM-DD") from None
