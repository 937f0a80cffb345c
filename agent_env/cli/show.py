"""`show`: what came of a run, why, or how one of its episodes went."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

if TYPE_CHECKING:
    from agent_env.runs.run import Run


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
            episode = Run.open(trace.parents[2]).episode(f"{trace.parent.name}/{trace.stem}")
            print(episode.provenance.model_dump_json() if episode.provenance else "null")
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

    def show_run(path: Path, name: str) -> None:
        if why:
            _show_why(Run.open(path), as_json, wide)
            return
        rescored = print_scores(Run.open(path), as_json, prices, changes=True, wide=wide)
        if fail_on_change and rescored.changed:
            sys.exit(1)

    for_each_run(target, show_run, as_json)


def _show_why(run: Run, as_json: bool, wide: bool) -> None:
    from agent_env.analysis.result_tables import as_objects
    from agent_env.analysis.statistics import statistics_of, tables_of
    from agent_env.analysis.statistics.provenance import WHY, records_of

    comparison = run.comparison(say)
    tables = tables_of(comparison, (s for s in statistics_of(comparison) if s.section == WHY))
    if not as_json:
        for table in tables:
            print_table(table, wide)
        return
    records = [record for own in records_of(comparison).values() for record in own]
    episodes = [record.model_dump(mode="json") for record in records]
    print(json.dumps({"run": str(run.path), **as_objects(tables), "episodes": episodes}))
