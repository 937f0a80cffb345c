"""Commands that look at finished runs: compare and diagnose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.options import with_options
from agent_env.cli.run import say
from agent_env.cli.tables import Wide, print_table

if TYPE_CHECKING:
    from agent_env.runs.compare import CompareOptions

Runs = Annotated[
    list[Path], typer.Argument(help="Folders of runs, or of several runs.", metavar="RUN...")
]


@with_options("agent_env.runs.compare:CompareOptions")
def compare(
    options: CompareOptions,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: --to json --table all.")
    ] = False,
    wide: Wide = False,
) -> None:
    """Compare conditions and runs, paired by sample.

    Example: agent-env compare runs/a runs/b --to md --out compared.md --figures figures
    """
    from agent_env.analysis.extra import FOR_FIGURES, FOR_REPORT, need_extra
    from agent_env.analysis.totals import spent_table
    from agent_env.runs.compare import (
        compare_folders,
        comparison_json,
        draw,
        select_tables,
        write,
        write_report,
    )

    if options.figures or options.html:
        need_extra(*(FOR_REPORT if options.html else FOR_FIGURES))
    comparison = compare_folders(options, say)
    is_all = options.to or options.out or as_json
    tables = select_tables(comparison, options.tables or (["all"] if is_all else []), options.by)
    if as_json:
        print(json.dumps(comparison_json(comparison, tables), allow_nan=False))
        return
    if options.to or options.out:
        write(tables, options.to, options.out, say)
    else:
        for each in tables:
            print_table(each, wide)
        if not options.tables:
            spent = [(a.label, a.spent) for a in comparison.study.arms if a.spent]
            print_table(spent_table(spent), wide)
    if options.figures is not None:
        for file in draw(comparison, options.figures):
            say(f"drew {file}")
    if options.html is not None:
        write_report(comparison, options.runs, options.html, say)
        say(f"wrote {options.html}")


def diagnose(
    runs: Runs,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: the sums, and every episode.")
    ] = False,
    episode: Annotated[
        list[str] | None,
        typer.Option(help="Tell of one: CONDITION/SAMPLE.REPEAT. Repeatable."),
    ] = None,
    wide: Wide = False,
) -> None:
    """Say why answers are wrong: which constraints, and at which step, by rules.

    Example: agent-env diagnose runs/a
    """
    from agent_env.analysis.diagnosis_tables import diagnosis_tables, in_lines
    from agent_env.runs.compare import diagnose_folders, diagnosis_json

    diagnoses = diagnose_folders(runs, episode or (), say)
    if as_json:
        print(json.dumps(diagnosis_json(diagnoses), allow_nan=False))
        return
    if episode:
        for diagnosis in (each for run in diagnoses for each in run.diagnoses):
            print("\n".join(in_lines(diagnosis)), end="\n\n")
        return
    for run in diagnoses:
        for table in diagnosis_tables(run):
            print_table(table, wide)
