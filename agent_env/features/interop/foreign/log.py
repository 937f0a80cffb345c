"""One log of another tool, whatever its format, its conversations in our records, and how a
comparison takes it.

A reader gives what its source knows; what the source lacks is None and is told in `notes`. Nothing
is guessed: an episode without a score counts as failed, never as wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field, JsonValue

from agent_env.sdk.errors import AgentEnvError, ConfigError, DatasetError
from agent_env.sdk.family import AnalysisHooks
from agent_env.sdk.records import (
    Condition,
    ImportSource,
    Manifest,
    Message,
    Sample,
    ToolSpec,
    Usage,
)
from agent_env.sdk.results import QUANTITIES, Observation, RunData, Study, assemble
from agent_env.sdk.run import Registry


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was sent to the model and what it wrote, as a run's trace holds it."""

    messages: tuple[Message, ...]
    """System and user texts, the model's messages with their tool calls, the tools' results."""
    tools: tuple[ToolSpec, ...] = ()
    """Offered to the model; () where the source does not tell them."""
    usages: tuple[Usage | None, ...] = ()
    """One for each assistant message after the prompt, None where it is unknown; () where all
    are."""
    question: str | None = None
    """What was asked, without the prompt around it where the source tells them apart."""
    gold: str | tuple[str, ...] | None = None
    """Several: each of them is right."""
    answer: str | None = None
    """As it was scored; None where there is none."""
    output: str | None = None
    """What was given out in the end, where the source says it beside the messages."""
    model: str | None = None
    """As the server named itself."""
    prompt: int | None = None
    """How many of the messages come before the model's first call; None: all before the first
    assistant message."""
    latencies_s: tuple[float | None, ...] = ()
    """Of the model calls, like `usages`."""
    durations_s: Mapping[str, float] = field(default_factory=dict)
    """Of the tool calls whose time is known, by call id."""
    tool_errors: Mapping[str, str] = field(default_factory=dict)
    """Why tool calls failed, by call id."""
    began_at: datetime | None = None


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
    """By `analysis.study.QUANTITIES`, what is known."""
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
    status: str | None = None
    """How it ended, in the source's words; None where it does not say."""
    results: Sequence[dict[str, JsonValue]] = ()
    """Its own figures over all episodes."""
    stream: Callable[[Callable[[str], None]], Iterator[ForeignEpisode]] | None = None
    """Its episodes with their transcripts, one at a time in memory; told what cannot be read. None
    where `episodes` have them."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """All of its episodes', in the order in which they come; of a log without any, `score`, for
        which no episode has a value."""
        names = dict.fromkeys(name for each in self.episodes for name in each.metrics)
        return tuple(names) or ("score",)

    @property
    def origin(self) -> ImportSource:
        """What the run.json of a run of it says of it."""
        return ImportSource(
            tool=self.source,
            file=self.file.name,
            status=self.status,
            results=tuple(self.results),
            metrics=self.metrics,
            notes=self.notes,
        )


@dataclass(frozen=True, slots=True)
class LogReader:
    """A format of logs that an installed package reads: an entry point of `agent_env.log_readers`,
    whose object is a LogReader. It is asked before our own readers, and runs in the confined
    worker: it may read the log alone, and takes no more memory and time than that has."""

    takes: Callable[[Path], bool]
    """Whether a file or folder is of the format, by its name and its first bytes."""
    read: Callable[[Path, bool], Sequence[ForeignLog]]
    """Its logs; the flag says whether conversations are wanted. DatasetError names file, line and
    reason."""


LOG_READERS = Registry(
    "log reader",
    "log_readers",
    "a LogReader",
    lambda thing, name: thing if isinstance(thing, LogReader) else None,
)


@contextmanager
def odd_values(file: Path) -> Iterator[None]:
    """DatasetError where a value of the log is of a kind that its tool does not write."""
    try:
        yield
    except (AgentEnvError, OSError):
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError,
            RecursionError) as exc:  # fmt: skip
        reason = " ".join(f"{type(exc).__name__}: {exc}".split())[:200]
        raise DatasetError(
            file, None, f"holds a value that its tool does not write ({reason})"
        ) from exc


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Those that are plain, as texts."""
    return {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, str | bool | int | float)
    }


class ForeignSample(Sample):
    """A sample of another tool."""

    id: str = Field(min_length=1)
    metadata: dict[str, str] = Field(default_factory=dict)
    content: str = ""
    """Digest of what it asks; empty where that is unknown."""

    @property
    def identity(self) -> str:
        """What tells whether two logs ask the same under one id."""
        return self.content


def foreign_study(
    logs: Sequence[ForeignLog], cluster: str | None, strict: bool, note: Callable[[str], None]
) -> tuple[Study, dict[str, Manifest]]:
    """The logs as a study, and by name what is known of each. `cluster` is the metadata field whose
    values are drawn together. ConfigError where they have no metric or no sample in common."""
    for text in dict.fromkeys(f"{log.file}: {text}" for log in logs for text in log.notes):
        note(text)
    runs = []
    for log, name in zip(logs, names_of(logs), strict=True):
        with odd_values(log.file):
            runs.append(_run_data(log, name, logs[0].task))
    metrics = common_metrics({f"{log.file} {log.name}".strip(): log.metrics for log in logs})
    note_tasks([log.task for log in logs], note)
    hooks = hooks_of([sample for run in runs for sample in run.samples.values()], cluster)
    study = assemble(runs, metrics, strict, hooks=hooks)
    return study, {run.name: run.manifest for run in runs}


def common_metrics(metrics: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Those that all logs have, in the order of the first; ConfigError where there are none."""
    first = next(iter(metrics.values()))
    common = tuple(name for name in first if all(name in own for own in metrics.values()))
    if not common:
        own = "; ".join(f"{log}: {', '.join(names) or 'none'}" for log, names in metrics.items())
        raise ConfigError(f"the logs have no score in common: {own}")
    return common


def note_tasks(tasks: Sequence[str], note: Callable[[str], None]) -> None:
    """Says where logs are of different tasks."""
    if len(names := sorted(set(tasks))) > 1:
        note(f"the logs are of different tasks ({', '.join(names)}); paired by sample id")


def names_of(logs: Sequence[ForeignLog]) -> list[str]:
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


def hooks_of(samples: Sequence[Sample], cluster: str | None = None) -> AnalysisHooks:
    """Groups by metadata, and clusters of one field; ConfigError where no sample has it."""
    known = {name for sample in samples for name in _metadata(sample)}
    if cluster is not None and cluster not in known:
        raise ConfigError(
            f"no sample has the field '{cluster}'; known: {', '.join(sorted(known)) or '-'}"
        )
    return AnalysisHooks(
        groups=lambda sample: {k: (value,) for k, value in _metadata(sample).items() if value},
        cluster=lambda sample: _metadata(sample).get(cluster or "", ""),
        shared=cluster or "",
    )


def _metadata(sample: Sample) -> Mapping[str, str]:
    assert isinstance(sample, ForeignSample)
    return sample.metadata


def _run_data(log: ForeignLog, name: str, task: str) -> RunData:
    samples = {
        each: ForeignSample(
            id=each, task=task, gold=(), metadata=dict(own), content=log.contents.get(each, "")
        )
        for each, own in log.samples.items()
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
        imported=log.origin,
    )
    observations = {CONDITION: tuple(map(_observation, log.episodes))}
    return RunData(name, manifest, samples, observations, is_log=True)


def _observation(episode: ForeignEpisode) -> Observation:
    failure = episode.failure
    if failure is None and not episode.metrics:
        failure = "no score"
    return Observation(
        sample=episode.sample,
        repeat=episode.repeat,
        outcome="read" if failure is None else "failed",
        metrics=episode.metrics,
        used={name: episode.used.get(name) for name in QUANTITIES},
        trouble=failure,
    )


class ImportedSample(ForeignSample):
    """A sample of an imported run; `id` names its trace."""

    source_id: str
    """As its source calls it; `id` is the same where a file can be called so."""
    question: str | None = None
    """None where the log does not tell it."""
    without_gold: ClassVar[str] = "(not known)"
    """What an empty gold means here."""
