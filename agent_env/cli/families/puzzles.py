"""What is offered for Time Puzzles alone: audit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.run import AsJson, say

if TYPE_CHECKING:
    from agent_env.families.time_puzzles.audit import AuditReport


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
    from agent_env.families.time_puzzles.audit import audit_file

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
    figures = report.as_json()
    print(f"{'puzzles':24} {figures['puzzles']}\n{'judged':24} {figures['judged']}")
    if not report.judged:
        return
    for name in (
        "wrong_gold", "open_universe", "event_unnecessary", "any_unnecessary",
        "convention_dependent",
    ):  # fmt: skip
        print(f"{name.replace('_', ' '):24} {figures[name]}")
    for title in ("wrong_gold_by_cause", "guess_rates"):
        values = figures[title]
        if values is None:
            print("  guess rates: unknown")
            continue
        assert isinstance(values, dict)
        for name, value in values.items():
            text = f"{value:.3f}" if isinstance(value, float) else value
            print(f"  {title.replace('_', ' ')}: {name.replace('_', ' ')} {text}")
    for finding in report.findings:
        if finding.causes:
            print(f"{finding.identifier}: {', '.join(finding.causes)}")
