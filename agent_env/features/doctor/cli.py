"""Questions from temporal tables: published files, tables of your own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, print_table, say


def doctor(
    files: Annotated[
        list[Path],
        typer.Argument(help="A table file; two or three that hops join.", metavar="FILE..."),
    ],
    option: Annotated[
        list[str] | None,
        Opt("An option of the task: KEY=VALUE, such as repair=standard. Repeatable."),
    ] = None,
    out: Annotated[Path | None, Opt("Write the repaired rows here, as CSV.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how a table is read, what keeps questions from it, and how many questions come out.

    Exit code 1 where a problem is left. Example:
    agent-env questions tdbench doctor leaders.csv --option repair=standard
    """
    from agent_env.features.doctor.examine import examine

    report = examine(files, option or (), out)
    if as_json:
        print(json.dumps(report.as_json(), ensure_ascii=False))
    else:
        for table in report.tables:
            print_table(table.table(report.policies))
        if report.kinds:
            print_table(report.kinds_table())
        if report.out is not None:
            lines = {entry.line for table in report.tables for entry in table.log}
            say(f"{len(lines)} rows repaired; {report.out}, each in {report.log_file}")
        if not report.command:
            say("no question can be made without --option question=COLUMNS --option answer=COLUMNS")
        elif report.is_blocked:
            say(f"no question can be made as it stands: {report.advice}")
        else:
            print(f"to make questions, with all that was found out:\n  {report.command}")
    sys.exit(int(report.is_blocked))
