"""What runs ask of logs (`agent_env.runs.logs.Logs`), and the task of an imported run: its samples,
and the scores that its source gave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from agent_env.features.interop.foreign import log, read
from agent_env.features.interop.foreign.log import ImportedSample, hooks_of
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Task
from agent_env.sdk.records import Condition, Episode, ImportSource, Manifest, Message, Sample, Score
from agent_env.sdk.results import RunData, Study, assemble


def imported_task(manifest: Manifest, source: ImportSource) -> Task:
    """The task of this run.json. It asks nothing: `prompt` raises ConfigError."""

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        raise ConfigError(f"a run imported from {source.file} has no prompt to ask again")

    return Task(
        name=manifest.task,
        sample_type=ImportedSample,
        prompt=prompt,
        scorer=_source_score,
        metrics=source.metrics,
        default_conditions=tuple(condition.name for condition in manifest.conditions),
        analysis=hooks_of(()),
    )


def _source_score(sample: Sample, episode: Episode) -> Score:
    """What the source says; nothing is scored here."""
    result, answer, rule = episode.imported, None, "as the imported log has it"
    outcome: str = "read" if episode.status == "finished" else episode.status
    if result is not None and result.answer is not None:
        answer = (result.answer,)
    if outcome == "read" and (result is None or not result.metrics):
        outcome, rule = "scorer_failed", "the imported log has no score of it"
    return Score.model_validate(
        {
            "sample": episode.sample,
            "condition": episode.condition,
            "repeat": episode.repeat,
            "outcome": outcome,
            "answer": answer,
            "rule": rule,
            "metrics": result.metrics if result is not None and outcome == "read" else {},
        }
    )


__all__ = ["import_log", "imported_task", "is_log", "study_of_imported", "study_of_logs"]


def is_log(path: Path) -> bool:
    """Whether the file, folder or NAME=FILE is another tool's."""
    return read.is_log(read.split_name(path)[1])


def study_of_logs(
    paths: Sequence[Path],
    columns: Path | None,
    cluster: str | None,
    strict: bool,
    note: Callable[[str], None],
) -> tuple[Study, dict[str, Manifest]]:
    return log.foreign_study(read.read_logs(paths, columns), cluster, strict, note)


def study_of_imported(
    runs: Sequence[RunData],
    metrics: Mapping[str, tuple[str, ...]],
    cluster: str | None,
    strict: bool,
    note: Callable[[str], None],
) -> Study:
    """As of the logs that the runs were made of."""
    log.note_tasks([data.manifest.task for data in runs], note)
    same = {"task": runs[0].manifest.task}
    return assemble(
        [replace(data, manifest=data.manifest.model_copy(update=same)) for data in runs],
        log.common_metrics(metrics),
        strict,
        hooks=log.hooks_of([each for data in runs for each in data.samples.values()], cluster),
    )


def import_log(
    log: Path, out: Path, note: Callable[[str], None], columns: Path | None = None
) -> list[Path]:
    """Makes a run of the log, or several; their folders."""
    from agent_env.features.interop.foreign.as_run import import_logs

    return [run.path for run in import_logs([log], out, note, columns)]
