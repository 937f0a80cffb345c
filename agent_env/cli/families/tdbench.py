"""Commands on TDBench: import, tables."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import AsJson, say
from agent_env.cli.tables import print_table

if TYPE_CHECKING:
    from agent_env.families.tdbench.commands import ImportReport


tdbench = typer.Typer(
    help="Questions from temporal tables: published files, tables of results.",
    no_args_is_help=True,
)
MAX_LISTED = 20
"""Differences that are printed without --json."""


@tdbench.command("import")
def import_command(
    folder: Annotated[Path, typer.Argument(help="Holds CSVs and question files.", metavar="DIR")],
    now: Annotated[str, typer.Option(help="YYYY-MM-DD: the day as of which the set was made.")],
    out: Annotated[Path | None, typer.Option(help="Write samples here, to run them.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a published set: run each stored statement, compare with its stored rows.

    Example: agent-env tdbench import tdbench_public --now 2025-01-26 --out published.jsonl
    """
    from agent_env.families.tdbench.commands import import_published

    report = import_published(folder, _day(now), out)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        _print_import(report)


@tdbench.command()
def tables(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", metavar="RUN...")],
    layout: Annotated[
        str, typer.Option(help="4, 5, 6, 7, 19, 22, 24, 27 (tables), fig2, fig3, fig5.")
    ] = "5",
    domain: Annotated[str | None, typer.Option(help="Only questions of this domain.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print runs as a table or figure of the paper, in percent.

    Example: agent-env tdbench tables runs/a runs/b --layout 4
    """
    from agent_env.families.tdbench.commands import lay_out

    sheet = lay_out(runs, layout, domain, say)
    if as_json:
        print(json.dumps(sheet.as_json(), ensure_ascii=False))
    else:
        print_table(sheet.table())


def _print_import(report: ImportReport) -> None:
    tables = ", ".join(f"{name} {rows}" for name, rows in report.tables.items()) or "none"
    print(f"tables, with their rows: {tables}")
    print(f"questions: {report.questions}, {report.equal} of them as stored")
    for name, (entries, wrong) in report.by_relation.items():
        print(f"  {name:14} {entries:6} questions {wrong:6} different")
    for d in report.differences[:MAX_LISTED]:
        print(f"{d.file} {d.idx} ({d.relation}): {d.reason}")
        for sign, rows in (("-", d.missing), ("+", d.extra)):
            for row in rows[:3]:
                print(f"    {sign} {row}")
    if len(report.differences) > MAX_LISTED:
        print(f"… and {len(report.differences) - MAX_LISTED} more; --json lists all")
    for text in report.ignored:
        say(f"ignored {text}")
    if report.unworded:
        say(f"{report.unworded} questions have no wording, so no sample was made of them")
    if report.out is not None:
        print(f"{report.samples} samples in {report.out}, {report.blanks} of them gaps to fill")


def _day(text: str) -> date:
    from agent_env.errors import ConfigError

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--now '{text}' is not a date; write YYYY-MM-DD") from None
