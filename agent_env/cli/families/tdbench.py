"""Commands on TDBench: import, tables."""

from __future__ import annotations

import json
import sys
from datetime import date
from enum import StrEnum
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


class DifferingChoice(StrEnum):
    """`--differing`."""

    REFUSE = "refuse"
    STORED = "stored"
    RETURNED = "returned"


@tdbench.command("import")
def import_command(
    folder: Annotated[Path, typer.Argument(help="Holds CSVs and question files.", metavar="DIR")],
    now: Annotated[
        str | None, typer.Option(help="YYYY-MM-DD: the day of making, where it is known.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write samples here, to run them.")] = None,
    differing: Annotated[
        DifferingChoice,
        typer.Option(
            help="Questions whose stored rows do not come out: none, their stored (published) "
            "gold, or the returned (corrected) one."
        ),
    ] = DifferingChoice.REFUSE,
    as_json: AsJson = False,
) -> None:
    """Prove a published set: find the reading of each file that returns its stored rows.

    Example: agent-env tdbench import tdbench_public --out published.jsonl
    """
    from agent_env.families.tdbench.commands import import_published

    day = None if now is None else _day(now)
    report = import_published(folder, day, out, differing.value)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        _print_import(report)
    if out is not None and not report.samples:
        say("no sample was written")
        sys.exit(1)


@tdbench.command()
def doctor(
    file: Annotated[Path, typer.Argument(help="CSV, Parquet, SQLite or DuckDB.", metavar="FILE")],
    table: Annotated[str | None, typer.Option(help="Of a database: which table.")] = None,
    question: Annotated[
        str, typer.Option(help="Columns that a question states, by commas; finds conflicts, gaps.")
    ] = "",
    answer: Annotated[str, typer.Option(help="Columns that it asks for, by commas.")] = "",
    repair: Annotated[
        list[str] | None,
        typer.Option(help="PROBLEM=POLICY, such as zero-length=drop; or standard. Repeatable."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the repaired rows here, as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Name what keeps questions from a table, and repair it; exit code 1 where something is left.

    Example: agent-env tdbench doctor leaders.csv --question country,role --answer name
    """
    from agent_env.families.tdbench.commands import examine
    from agent_env.temporal.facts.table_doctor import Question

    columns = Question(_columns(question), _columns(answer))
    report = examine(file, table, columns, repair or (), out)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        print_table(report.table())
        if not report.before:
            print("no problem")
        if report.out is not None:
            say(f"{len(report.log)} rows repaired; {report.out}, each in {report.log_file}")
        elif report.is_blocked:
            say("no question can be made as it stands; --repair standard --out FILE.csv repairs")
    sys.exit(int(report.is_blocked))


def _columns(text: str) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


@tdbench.command()
def tables(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs.", metavar="RUN...")],
    layout: Annotated[
        str,
        typer.Option(
            help="4, 5, 6, 7, 8, 19, 22, 23, 24, 25, 26, 27 (tables), fig2, fig3, fig5, classes."
        ),
    ] = "5",
    domain: Annotated[str | None, typer.Option(help="Only questions of this domain.")] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="A sheet that a person filled in, for 8, 19, 23. Repeatable."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Draw fig2, fig3 or fig5 into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print runs as a table or figure of the paper: figures with n, 95 % intervals and shortcuts.

    Example: agent-env tdbench tables runs/a runs/b --layout 4
    """
    from agent_env.families.tdbench.commands import draw, lay_out

    sheet = lay_out(runs, layout, domain, labels or (), say)
    if as_json:
        print(json.dumps(sheet.as_json(), ensure_ascii=False))
    else:
        print_table(sheet.table())
    if figures is not None:
        for file in draw(sheet, figures):
            say(f"drew {file}")


def _print_import(report: ImportReport) -> None:
    tables = ", ".join(f"{name} {rows}" for name, rows in report.tables.items()) or "none"
    print(f"tables, with their rows: {tables}")
    print(f"stored results that come out: {report.equal} of {report.questions}")
    for proof in report.proofs:
        counts = f"{proof.reproduced} of {proof.stored}, {proof.with_rows} of them with rows"
        print(f"  {proof.file} ({proof.group}): {counts}; {proof.reading.words}")
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
    if report.refused:
        say(
            f"{report.refused} questions are refused, as their stored rows do not come out; "
            "--differing stored or returned takes them"
        )
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
