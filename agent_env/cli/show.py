"""`show`: what came of a run, why, or how one of its episodes went."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import (
    AsJson,
    Wide,
    for_each_run,
    print_scores,
    print_table,
    say,
)
from agent_env.records.options import Opt


def show(
    target: Annotated[
        Path,
        typer.Argument(
            help="A run, a study or a folder of runs; or an episode: RUN/CONDITION/SAMPLE.1.",
            metavar="TARGET",
        ),
    ],
    why: Annotated[
        bool, Opt("Where answers came from, what failed first, and how far look-ups came.")
    ] = False,
    prices: Annotated[
        Path | None,
        Opt(
            "At other prices than the run's: a table of models (agent-env docs limits shows "
            "the form)."
        ),
    ] = None,
    fail_on_change: Annotated[bool, Opt("Exit 1 where an earlier verdict changed.")] = False,
    full: Annotated[bool, Opt("Of an episode: do not cut long texts.")] = False,
    as_json: AsJson = False,
    wide: Wide = False,
) -> None:
    """Show a run's scores, why answers are wrong, or one of its episodes.

    Scores are made again from the traces alone; earlier verdicts that changed are listed. An
    episode is printed readably: how it was asked, what was said, what is thought of its answer.

    Example: agent-env show runs/first, or agent-env show runs/first --why,
    or agent-env show runs/first/web/tp-1-00001.1
    """
    from agent_env.episodes.run_folder import trace_file
    from agent_env.errors import ConfigError
    from agent_env.runs.run import Run
    from agent_env.runs.score import episode_text

    trace = trace_file(target)
    if trace != target or trace.is_file():
        if prices or fail_on_change:
            raise ConfigError(f"{target} is an episode; --prices and --fail-on-change are for runs")
        if as_json:
            _show_why(trace.parents[2], [f"{trace.parent.name}/{trace.stem}"], as_json, wide)
            return
        for part in episode_text(trace, full):
            print(part, end="\n\n")
        return
    if not target.is_dir():
        raise ConfigError(
            f"{target} is no run, study or folder of runs, and no episode; name one as "
            "RUN/CONDITION/SAMPLE.1"
        )
    if full:
        raise ConfigError(f"{target} is no episode; --full is for one: RUN/CONDITION/SAMPLE.1")
    if why:
        _show_why(target, (), as_json, wide)
        return

    def show_run(path: Path, name: str) -> None:
        rescored = print_scores(Run.open(path), as_json, prices, changes=True, wide=wide)
        if fail_on_change and rescored.changed:
            sys.exit(1)

    for_each_run(target, show_run, as_json)


def _show_why(folder: Path, episodes: Sequence[str], as_json: bool, wide: bool) -> None:
    """Diagnoses of all episodes, or of those that are named."""
    from agent_env.analysis.diagnosis_tables import diagnosis_tables
    from agent_env.runs.compare import diagnose_folders, diagnosis_json

    diagnoses = diagnose_folders([folder], episodes, say)
    if as_json:
        print(json.dumps(diagnosis_json(diagnoses), allow_nan=False))
        return
    for run in diagnoses:
        for table in diagnosis_tables(run):
            print_table(table, wide)
