"""The command `questions audit`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_env.features.audit.audit import AuditReport
    from agent_env.features.audit.gold_readings import ReadingScore, RunReadingScore

SHOWN = 5
"""Unread texts listed of each wording."""


def audit(
    file: Annotated[Path, typer.Argument(help="Puzzles, in either format.")],
    facts_file: Annotated[
        Path | None,
        Opt(
            "EVENTS.csv: event,start,end,multi_year_spans; the table that generate had.",
            flag="--facts-table",
        ),
    ] = None,
    fix: Annotated[Path | None, Opt("Write the corrected set here.")] = None,
    run: Annotated[
        list[Path] | None, Opt("A run of these puzzles: its scores under each reading of the gold.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check any puzzle file: golds of both wordings, conventions, texts, closure, necessity,
    guessability; exit 1 where nothing could be judged.

    Each finding is an error, the file's own rule, or debatable; --fix mends errors only.

    Example: agent-env questions audit puzzles.json --facts-table EVENTS.csv --fix corrected.json
    """
    from agent_env.features.audit.audit import audit_file
    from agent_env.features.audit.gold_readings import scores_of_runs

    puzzles, report = audit_file(file, facts_file, fix)
    scores = scores_of_runs(run or [], puzzles, report, say) if report.judged else []
    if report.without_event:
        say(
            f"{report.without_event} of {len(report.findings)} puzzles name events that "
            f"{facts_file or 'the shipped table'} lacks, so guess rates are unknown; "
            "name the puzzles' own table by --facts-table EVENTS.csv"
        )
    if as_json:
        rows = [row.as_json() for row in scores]
        print(json.dumps(report.as_json() | ({"scores": rows} if run else {})))
    else:
        _print_report(report)
        _print_scores(scores)
    if not report.judged:
        say(
            f"nothing was judged: of no puzzle in {file} are all facts known; puzzles need "
            "structured facts (constraints_meta, or facts in a samples.jsonl) or texts that can be "
            "read, and their events a table (--facts-table EVENTS.csv)"
        )
        sys.exit(1)


def _print_report(report: AuditReport) -> None:
    figures = report.as_json()
    print(f"judged {report.judged} of {len(report.findings)} puzzles")
    for wording, coverage in report.texts.items():
        print(f"judged {coverage.judged} of {coverage.texts} {wording} constraints")
        for title, texts in (("unread", coverage.unread), ("name", coverage.unknown_names)):
            for text, count in texts.most_common(SHOWN):
                print(f"  {title if title == 'unread' else 'unknown name'}: {count} × {text}")
            if len(texts) > SHOWN:
                print(f"  and {len(texts) - SHOWN} more; --json lists all")
    if not report.judged:
        return
    shares = (f"{name.replace('_', ' ')} {count}" for name, count in figures["gold"].items())
    print(f"golds: {', '.join(shares)}")
    print(
        f"explicit golds: {figures['wrong_explicit_gold']} of {figures['explicit_judged']} wrong; "
        f"{figures['golds_differ']} puzzles have another right answer in each wording"
    )
    for cause, row in figures["ledger"].items():
        kind, name = row["class"].replace("_", " "), cause.replace("_", " ")
        print(f"  {kind:10} {name:24} {row['puzzles']}")
    if needless := figures["event_unnecessary"]:
        without = figures["event_unnecessary_without_solution"]
        print(f"event unnecessary: {needless}, of which {without} have no solution")
    rates = (figures["guess_rates"] or {}).items()
    listed = [f"{name.replace('_', ' ')} {rate:.3f}" for name, rate in rates]
    print(f"guess rates: {', '.join(listed) or 'unknown'}")
    for finding in report.findings:
        if finding.causes:
            print(f"{finding.identifier}: {', '.join(finding.causes)}")


def _print_scores(scores: Sequence[RunReadingScore]) -> None:
    """One block a condition; readings with the same figures share a line."""
    arms: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in scores:
        lines = arms.setdefault((row.run, row.condition), {})
        lines.setdefault(_score_line(row.score), []).append(row.score.reading)
    for (run, condition), lines in arms.items():
        print(f"{run}, {condition}:")
        for line, readings in lines.items():
            print(f"  {', '.join(readings)}: {line}")


def _score_line(score: ReadingScore) -> str:
    ends = "" if score.low is None else f" [{score.low:.3f}, {score.high:.3f}]"
    changed = "" if score.changed is None else f", {score.changed} golds not the published"
    return (
        f"exact match {score.exact_match:.3f}{ends}, F1 {score.f1:.3f}, "
        f"Jaccard {score.jaccard:.3f}, n {score.puzzles}{changed}"
    )
