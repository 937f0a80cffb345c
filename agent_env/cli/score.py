"""Commands that look at what a run has: its scores, one of its episodes, the viewer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import AsJson, RunPath, Wide, for_each_run, print_scores, print_trails


def score(
    folder: RunPath,
    prices: Annotated[
        Path | None, typer.Option(help="A table of models: agent-env docs limits shows the form.")
    ] = None,
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Failures of retrieval, reading and reasoning instead."),
    ] = False,
    as_json: AsJson = False,
    fail_on_change: Annotated[
        bool, typer.Option("--fail-on-change", help="Exit 1 where an earlier verdict changed.")
    ] = False,
    wide: Wide = False,
) -> None:
    """Score a run from its traces alone, and say which earlier verdicts changed.

    With --prices, at other prices than the run's.

    Example: agent-env score runs/time-puzzles-20260101-120000
    """
    from agent_env.runs.run import Run

    def show(path: Path, name: str) -> None:
        if evidence:
            print_trails(Run.open(path), as_json, wide)
            return
        rescored = print_scores(Run.open(path), as_json, prices, changes=True, wide=wide)
        if fail_on_change and rescored.changed:
            sys.exit(1)

    for_each_run(folder, show, as_json)


def show(
    file: Annotated[Path, typer.Argument(help="A trace, or RUN/CONDITION/SAMPLE.1")],
    full: Annotated[bool, typer.Option("--full", help="Do not cut long texts.")] = False,
) -> None:
    """Print an episode readably: how it was asked, what was said, what is thought of its answer.

    Example: agent-env show runs/first/web/tp-1-00001.1
    """
    from agent_env.episodes.run_folder import trace_file
    from agent_env.runs.score import episode_text

    *parts, verdict = episode_text(trace_file(file), full)
    for part in parts:
        print(part, end="\n\n")
    print(verdict)
