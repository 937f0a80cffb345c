"""What runs ask of logs: `agent_env.runs.logs.Logs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent_env.extensions.interop.foreign import log, read
from agent_env.extensions.interop.foreign.task import imported_task
from agent_env.sdk.records import Manifest
from agent_env.sdk.results import RunData, Study, assemble
from agent_env.sdk.run import Note, Run

__all__ = ["import_log", "imported_task", "is_log", "study_of_imported", "study_of_logs"]


def is_log(path: Path) -> bool:
    """Whether the file, folder or NAME=FILE is another tool's."""
    return read.is_log(read.split_name(path)[1])


def study_of_logs(
    paths: Sequence[Path], columns: Path | None, cluster: str | None, strict: bool, note: Note
) -> tuple[Study, dict[str, Manifest]]:
    """The logs as a study, and by name what is known of each."""
    return log.foreign_study(read.read_logs(paths, columns), cluster, strict, note)


def study_of_imported(
    runs: Sequence[tuple[Run, RunData]], cluster: str | None, strict: bool, note: Note
) -> Study:
    """As of the logs that the runs were made of."""
    log.note_tasks([data.manifest.task for _, data in runs], note)
    same = {"task": runs[0][1].manifest.task}
    return assemble(
        [replace(data, manifest=data.manifest.model_copy(update=same)) for _, data in runs],
        log.common_metrics({str(run.path): run.task.metrics for run, _ in runs}),
        strict,
        hooks=log.hooks_of([each for _, data in runs for each in data.samples.values()], cluster),
    )


def import_log(log: Path, out: Path, note: Note, columns: Path | None = None) -> list[Path]:
    """Makes a run of the log, or several; their folders."""
    from agent_env.extensions.interop.foreign.as_run import import_logs

    return [run.path for run in import_logs([log], out, note, columns)]
