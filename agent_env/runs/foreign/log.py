"""One log of another tool, whatever its format, and how a comparison takes it.

A reader gives what its source knows; what the source lacks is None and is told in `notes`. Nothing
is guessed: an episode without a score counts as failed, never as wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from agent_env.analysis.observations import QUANTITIES, Observation
from agent_env.analysis.study import RunData, Study, assemble
from agent_env.errors import ConfigError
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Sample
from agent_env.runs.foreign.transcript import Transcript
from agent_env.tasks.task import AnalysisHooks

CONDITION = "log"


@dataclass(frozen=True, slots=True)
class ForeignEpisode:
    """One scored attempt at one sample."""

    sample: str
    repeat: int
    """From 1; Inspect's epoch."""
    metrics: Mapping[str, float]
    """By scorer, or by scorer and part; empty where it has no score."""
    failure: str | None = None
    """Why it failed."""
    used: Mapping[str, float] = field(default_factory=dict)
    """By `observations.QUANTITIES`, what is known."""
    stop_reason: str | None = None
    transcript: Transcript | None = None
    """None where the source has none, or where nobody asked for it."""


@dataclass(frozen=True, slots=True)
class ForeignLog:
    """One log: one model at one task."""

    file: Path
    source: str
    """The tool and its version."""
    task: str
    model: str
    episodes: tuple[ForeignEpisode, ...]
    samples: Mapping[str, Mapping[str, str]]
    """Metadata by sample, as texts."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """Digest of what each sample asks, where the source has it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What else it was made with, as texts."""
    name: str = ""
    """In tables; "" where the user gave none."""
    notes: tuple[str, ...] = ()
    """What could not be read, counted, and what the source lacks."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """All of its episodes', in the order in which they come."""
        return tuple(dict.fromkeys(name for each in self.episodes for name in each.metrics))


class ForeignSample(Sample):
    """A sample of another tool."""

    id: str = Field(min_length=1)
    content: str = ""
    """Digest of what it asks; empty where that is unknown."""


def foreign_study(
    logs: Sequence[ForeignLog], cluster: str | None, strict: bool, note: Callable[[str], None]
) -> tuple[Study, dict[str, Manifest]]:
    """The logs as a study, and by name what is known of each. `cluster` is the metadata field whose
    values are drawn together. ConfigError where they have no metric or no sample in common."""
    for log in logs:
        for text in log.notes:
            note(f"{log.file}: {text}")
    tasks = {log.task for log in logs}
    if len(tasks) > 1:
        note(f"the logs are of different tasks ({', '.join(sorted(tasks))}); paired by sample id")
    metrics = [name for name in logs[0].metrics if all(name in log.metrics for log in logs)]
    if not metrics:
        own = "; ".join(f"{log.file}: {', '.join(log.metrics) or 'none'}" for log in logs)
        raise ConfigError(f"the logs have no score in common: {own}")
    fields = {s: values for log in logs for s, values in log.samples.items()}
    if cluster is not None and not any(cluster in values for values in fields.values()):
        known = sorted({name for values in fields.values() for name in values})
        raise ConfigError(f"no sample has the field '{cluster}'; known: {', '.join(known) or '-'}")
    runs = [
        _run_data(log, name, logs[0].task) for log, name in zip(logs, _names(logs), strict=True)
    ]
    study = assemble(runs, tuple(metrics), strict, hooks=_hooks(fields, cluster))
    return study, {run.name: run.manifest for run in runs}


def _names(logs: Sequence[ForeignLog]) -> list[str]:
    """What tells the logs apart: their names, models, folders or files; at last their paths."""
    for names in (
        [log.name for log in logs],
        [log.model for log in logs],
        [log.file.resolve().parent.name for log in logs],
        [log.file.stem for log in logs],
    ):
        if len(set(names)) == len(names) and all(names):
            return names
    return [f"{log.file} {log.name}".strip() for log in logs]


def _hooks(fields: Mapping[str, Mapping[str, str]], cluster: str | None) -> AnalysisHooks:
    def groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
        return {name: (value,) for name, value in fields[sample.id].items()}

    def cluster_of(sample: Sample) -> str:
        return fields[sample.id].get(cluster or "", "")

    return AnalysisHooks(groups=groups, cluster=cluster_of, shared=cluster or "")


def _run_data(log: ForeignLog, name: str, task: str) -> RunData:
    samples = {
        each: ForeignSample(id=each, task=task, gold=(), content=log.contents.get(each, ""))
        for each in log.samples
    }
    repeats = max((episode.repeat for episode in log.episodes), default=1)
    manifest = Manifest(
        task=task,
        model=log.model,
        conditions=(Condition(name=CONDITION),),
        repeats=repeats,
        limits={},
        prompt="",
        seed=None,
        samples=len(samples),
        samples_digest=hashlib.sha256("\n".join(sorted(samples)).encode()).hexdigest(),
        concurrency=1,
        options=dict(log.settings),
        versions={},
        created_at="",
    )
    observations = {CONDITION: tuple(_observation(each, log.model) for each in log.episodes)}
    return RunData(name, manifest, samples, observations, is_log=True)


def _observation(episode: ForeignEpisode, model: str) -> Observation:
    failure = episode.failure
    if failure is None and not episode.metrics:
        failure = "no score"
    return Observation(
        sample=episode.sample,
        repeat=episode.repeat,
        outcome="read" if failure is None else "failed",
        metrics=episode.metrics,
        used={name: episode.used.get(name) for name in QUANTITIES},
        absent=None,
        extra=None,
        stop_reason=episode.stop_reason,
        usage_sources=(),
        model=model,
        trouble=failure,
    )
