"""Imports TDBench's published set: `questions tdbench import`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agent_env.features.facts.cli import stated_now
from agent_env.sdk.commands import AsJson, Opt, say

if TYPE_CHECKING:
    from agent_env.features.papers.tdbench.importing import ImportReport

MAX_LISTED = 20
"""Differences that are printed without --json."""


def import_command(
    folder: Annotated[Path, typer.Argument(help="Holds CSVs and question files.", metavar="DIR")],
    now: Annotated[str | None, Opt("YYYY-MM-DD: the day of making, where it is known.")] = None,
    out: Annotated[Path | None, Opt("Write samples here, to run them.")] = None,
    differing: Annotated[
        Literal["refuse", "stored", "returned"],
        Opt(
            "Questions whose stored rows do not come out: none, their stored (published) "
            "gold, or the returned (corrected) one."
        ),
    ] = "refuse",
    as_json: AsJson = False,
) -> None:
    """Prove a published set: find the reading of each file that returns its stored rows.

    Example: agent-env questions tdbench import tdbench_public --out published.jsonl
    """
    from agent_env.features.papers.tdbench.importing import import_published

    day = None if now is None else stated_now(now)
    report = import_published(folder, day, out, differing)
    if as_json:
        print(json.dumps(report.summary, ensure_ascii=False))
    else:
        _print_import(report)
    if out is not None and not report.made.samples:
        say("no sample was written")
        sys.exit(1)


def _print_import(report: ImportReport) -> None:
    own = report.summary
    tables = ", ".join(f"{name} {rows}" for name, rows in own["tables"].items()) or "none"
    print(f"tables, with their rows: {tables}")
    print(f"stored results that come out: {own['equal']} of {own['questions']}")
    for proof in report.published.proofs:
        counts = f"{proof.reproduced} of {proof.stored}, {proof.with_rows} of them with rows"
        print(f"  {proof.file} ({proof.group}): {counts}; {proof.reading.words}")
    for name, each in own["by_relation"].items():
        print(f"  {name:14} {each['questions']:6} questions {each['different']:6} different")
    for d in own["differences"][:MAX_LISTED]:
        print(f"{d['file']} {d['idx']} ({d['relation']}): {d['reason']}")
        for sign, rows in (("-", d["missing"]), ("+", d["extra"])):
            for row in rows[:3]:
                print(f"    {sign} {row}")
    if own["different"] > MAX_LISTED:
        print(f"… and {own['different'] - MAX_LISTED} more; --json lists all")
    for text in (*(f"ignored {each}" for each in own["ignored"]), *own["notes"]):
        say(text)
    if own["refused"]:
        say(
            f"{own['refused']} questions are refused, as their stored rows do not come out; "
            "--differing stored or returned takes them"
        )
    if own["unworded"]:
        say(f"{own['unworded']} questions have no wording, so no sample was made of them")
    if own["out"] is not None:
        print(f"{own['samples']} samples in {own['out']}, {own['blanks']} of them gaps to fill")
