"""`export`: a run in another tool's format. `import`: another tool's log as a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt, RunPath, for_each_run, say

Endpoint = Annotated[
    str,
    typer.Option(
        help="otel: the collector; its headers come from OTEL_EXPORTER_OTLP_HEADERS.",
        envvar=["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
    ),
]
Benchmark = Annotated[
    str | None,
    Opt(
        "hf, eee: the dataset of the Hugging Face Hub that was asked; TASK as in its "
        "eval.yaml, else default.",
        metavar="ORG/DATASET[:TASK]",
    ),
]


def export(
    folder: RunPath,
    to: Annotated[
        str,
        Opt(
            "jsonl, parquet, inspect, otel, verifiers, sft, atif, eee, hf, or a format that "
            "an installed package brings (`agent-env list exporters`)."
        ),
    ],
    out: Annotated[
        Path | None,
        Opt(
            "A new folder, with one for each of several runs; default: RUN/exports/FORMAT, "
            "made anew."
        ),
    ] = None,
    where: Annotated[
        list[str] | None, Opt("FIELD=A,B as in `agent-env episodes list`. Repeatable.")
    ] = None,
    min_score: Annotated[float | None, Opt("Only episodes with at least this score.")] = None,
    metric: Annotated[str | None, Opt("The score meant; default: the task's main metric.")] = None,
    endpoint: Endpoint = "http://127.0.0.1:4318",
    content: Annotated[bool, Opt("otel: send messages and tool results too.")] = False,
    benchmark: Benchmark = None,
    organization: Annotated[str | None, Opt("eee: who evaluated; default: unknown.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run's episodes as tables, logs, spans, trajectories or training data, or its results
    for Every Eval Ever (eee) or a model repository (hf).

    Example: agent-env episodes export runs/first --to sft --min-score 1 --where condition=web
    """
    from dataclasses import asdict

    from agent_env.extensions.interop.run_export import ExportOptions
    from agent_env.extensions.interop.run_export import export as export_run
    from agent_env.sdk.run import Run

    def write(path: Path, name: str) -> None:
        own = out and out / name
        options = ExportOptions(
            to, own, where or (), metric, min_score, endpoint, content, benchmark, organization
        )
        result = export_run(Run(path), options, say)
        if as_json:
            print(json.dumps({"run": str(path), "to": to, **asdict(result)}))
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
    from agent_env.extensions.interop.foreign.as_run import import_logs

    runs = import_logs(logs, out, say, columns)
    if as_json:
        print(json.dumps({"runs": [run.as_json() for run in runs]}))
        return
    for run in runs:
        print(
            f"{run.path}: {run.episodes} episodes of {run.log.file.name} ({run.log.source}), "
            f"{run.transcripts} with their conversation; scores: {', '.join(run.log.metrics)}"
        )
