"""Commands that look at finished runs: compare and diagnose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import say
from agent_env.cli.tables import print_table

Runs = Annotated[
    list[Path], typer.Argument(help="Folders of runs, or of several runs.", metavar="RUN...")
]


def compare(
    runs: Runs,
    metric: Annotated[str | None, typer.Option(help="Default: the task's main one.")] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            help="Compare all with this condition. Default: in each run with its first, and "
            "between runs with the same condition of the first run."
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Break down by: solutions, facts, 'fact type', calendar, … Repeatable."),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            help="Which tables: conditions, differences, treatment, use, outcomes, noise, "
            "reliability, correlations, rankings, gap, tools, table1, table3, figure4, or all. "
            "Repeatable."
        ),
    ] = None,
    to: Annotated[str | None, typer.Option(help="md, csv, json or latex.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write there; for csv a folder, one file per table.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Draw the figures into this folder, SVG and PNG.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write tables, figures and method as one HTML file.")
    ] = None,
    wanted: Annotated[
        float, typer.Option(min=0.001, max=1, help="Difference to tell the samples needed for.")
    ] = 0.05,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse runs over different samples.")
    ] = False,
    resamples: Annotated[
        int, typer.Option(min=1000, max=1_000_000, help="Of the bootstrap and the tests.")
    ] = 10_000,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object: --to json --table all.")
    ] = False,
) -> None:
    """Compare conditions and runs, paired by sample.

    Example: agent-env compare runs/a runs/b --to md --out compared.md --figures figures
    """
    from agent_env.analysis.totals import spent_table
    from agent_env.runs.compare import (
        compare_folders,
        comparison_json,
        draw,
        select_tables,
        write,
        write_report,
    )

    found = compare_folders(
        runs, metric=metric, baseline=baseline, wanted=wanted, strict=strict,
        resamples=resamples, note=say,
    )  # fmt: skip
    names = list(table or (["all"] if to or out or as_json else []))
    tables = select_tables(found, names, list(by or ()))
    if as_json:
        print(json.dumps(comparison_json(found, tables), allow_nan=False))
        return
    if to or out:
        write(tables, to, out, say)
    else:
        for each in tables:
            print_table(each)
        if not table:
            print_table(spent_table([(a.label, a.spent) for a in found.study.arms if a.spent]))
    if figures is not None:
        for file in draw(found, figures):
            say(f"drew {file}")
    if html is not None:
        write_report(found, runs, html, say)
        say(f"wrote {html}")


def diagnose(
    runs: Runs,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: the sums, and every episode.")
    ] = False,
    episode: Annotated[
        list[str] | None,
        typer.Option(help="Tell of one: CONDITION/SAMPLE.REPEAT. Repeatable."),
    ] = None,
) -> None:
    """Say why answers are wrong: which constraints, and at which step, by rules.

    Example: agent-env diagnose runs/a
    """
    from agent_env.analysis.diagnosis_tables import diagnosis_tables, in_lines
    from agent_env.runs.compare import diagnose_folders, diagnosis_json

    found = diagnose_folders(runs, episode or (), say)
    if as_json:
        print(json.dumps(diagnosis_json(found), allow_nan=False))
        return
    if episode:
        for diagnosis in (each for run in found for each in run.diagnoses):
            print("\n".join(in_lines(diagnosis)), end="\n\n")
        return
    for run in found:
        for table in diagnosis_tables(run):
            print_table(table)
