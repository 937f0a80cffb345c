"""`export`: a run in another tool's format. `import`: another tool's log as a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, RunPath, for_each_run, say, with_options

if TYPE_CHECKING:
    from agent_env.features.interop.run_export import ExportOptions


@with_options("agent_env.features.interop.run_export:ExportOptions")
def export(options: ExportOptions, folder: RunPath, as_json: AsJson = False) -> None:
    """Write a run's episodes as tables, logs, trajectories or training data.

    Example: agent-env episodes export runs/first --to sft --min-score 1 --where condition=web
    """
    from dataclasses import asdict, replace

    from agent_env.features.interop.run_export import export as export_run
    from agent_env.sdk.run import Run

    def write(path: Path, name: str) -> None:
        out = options.out and options.out / name
        own = replace(options, out=out)
        result = export_run(Run(path), own, say)
        if as_json:
            print(json.dumps({"run": str(path), "to": options.to, **asdict(result)}))
            return
        counts = ", ".join(f"{number} {name}" for name, number in result.counts.items())
        skipped = f"; {result.left_out} episodes left out" if result.left_out else ""
        print(f"{result.where}: {counts or 'nothing'}{skipped}")

    for_each_run(folder, write, as_json)


def import_log(
    logs: Annotated[
        list[Path],
        typer.Argument(help="As `agent-env compare` reads them; NAME=LOG too.", metavar="LOG..."),
    ],
    out: Annotated[Path, Opt("The new run's folder; of several logs, a folder of runs.")],
    columns: Annotated[
        Path | None, Opt("A TOML file that says what the columns of a table of results are.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a run of another tool's log, to view, show, compare and export it.

    Conversations become traces, where the format has them. Scores are the log's own; an imported
    run cannot be resumed, replayed or forked.

    Example: agent-env episodes import logs/2026-05-01_gsm8k.eval --out runs/gsm8k
    """
    from agent_env.features.interop.foreign.as_run import import_logs

    runs = import_logs(logs, out, say, columns)
    if as_json:
        print(json.dumps({"runs": [run.as_json() for run in runs]}))
        return
    for run in runs:
        print(
            f"{run.path}: {run.episodes} episodes of {run.log.file.name} ({run.log.source}), "
            f"{run.transcripts} with their conversation; scores: {', '.join(run.log.metrics)}"
        )
