"""One run for the viewer: its settings, its episodes, one episode in full."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from agent_env.analysis.diagnosis import Diagnosis, diagnose
from agent_env.analysis.result_tables import ResultTable
from agent_env.analysis.treatment import Treatment, bare_of, treatment_table, with_mark
from agent_env.episodes.index import NAME, Index
from agent_env.episodes.index_pages import ConditionSummary, IndexPages
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import TraceError, read_trace
from agent_env.errors import AgentEnvError, DatasetError
from agent_env.records.manifest import Manifest
from agent_env.records.safe_files import check_database, is_safe
from agent_env.records.schema import Sample, Score
from agent_env.records.trace_events import Event
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.run import Run
from agent_env.tasks.conditions import sample_under
from agent_env.tasks.faults import ConstraintRef
from agent_env.tasks.task import FaultFinder, Task

LARGE = 5_000
"""Episodes."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures over all episodes of a run."""

    groups: list[ConditionSummary]
    """By condition, in the manifest's order."""
    stop_reasons: list[str]
    metrics: tuple[str, ...]
    treatment: ResultTable
    """Whether the tools arrived; no rows where none were offered."""


@dataclass(frozen=True, slots=True)
class TraceEvents:
    """The sound events of a trace."""

    events: list[Event]
    problem: str | None
    """The defect of the rest; None for a sound trace."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """Score and diagnosis of an episode; None if unknown."""

    score: Score | None
    diagnosis: Diagnosis | None
    why_not: str | None = None

    @property
    def wrong(self) -> list[tuple[list[str], tuple[ConstraintRef, ...]]]:
        """Wrong dates grouped by the constraints that they violate."""
        groups: dict[tuple[ConstraintRef, ...], list[str]] = {}
        for each in self.diagnosis.faults.wrong if self.diagnosis else ():
            groups.setdefault(each.violates, []).append(each.date)
        return [(dates, constraints) for constraints, dates in groups.items()]

    @property
    def missed(self) -> list[tuple[list[str], ConstraintRef | None, str]]:
        """Missed dates grouped by the constraint most likely misread and the rule that found it."""
        groups: dict[tuple[ConstraintRef | None, str], list[str]] = {}
        for each in self.diagnosis.faults.missed if self.diagnosis else ():
            groups.setdefault((each.misread, each.rule), []).append(each.date)
        return [(dates, *why) for why, dates in groups.items()]


class OpenRun:
    """A run folder that stays open; keeps what it read until the file changes."""

    def __init__(self, key: str, path: Path, spare: Path, objects: Objects = NO_OBJECTS) -> None:
        self.key = key
        self.folder = Run(path, objects)
        self._read_at = self.written_at
        self._spare = spare
        self._index: IndexPages | None = None
        self._inode: int | None = None
        self._opening = Lock()
        self._summary: tuple[tuple[int, int | None, int], Summary] | None = None
        self._finder: list[FaultFinder | None] = []

    @property
    def written_at(self) -> int:
        """Modification time of run.json, in ns; 0 if it is missing."""
        try:
            return (self.folder.path / "run.json").stat().st_mtime_ns
        except OSError:
            return 0

    @property
    def current(self) -> Run:
        """As run.json is now."""
        if (at := self.written_at) != self._read_at:
            self.folder, self._read_at = Run(self.folder.path, self.folder.objects), at
        return self.folder

    @property
    def manifest(self) -> Manifest:
        """What run.json says; raises ConfigError or DatasetError."""
        return self.current.manifest()

    @property
    def task(self) -> Task:
        """The task as it was asked; raises ConfigError or DatasetError."""
        return self.current.task

    @property
    def asked(self) -> int:
        """Episodes that the run is to have."""
        manifest = self.manifest
        return manifest.planned_episodes

    def warm(self) -> None:
        """Loads what its pages need: the task's modules and tables, the counts."""
        with suppress(AgentEnvError, OSError, sqlite3.Error):  # its page will say it
            _ = self._find_faults
            _ = self.summary

    def close(self) -> None:
        """Closes the table."""
        if self._index is not None:
            self._index.close()
            self._index = None

    # The table of episodes -------------------------------------------------------------------

    @property
    def _index_file(self) -> Path:
        """The table's file: in the run's folder, or elsewhere if that is read-only."""
        own = self.folder.path
        is_ours = os.access(own, os.W_OK) and not _is_odd(own, own / NAME)
        return own / NAME if is_ours else self._spare / f"{self.key}.db"

    def update(self) -> None:
        """Updates the table from the traces; takes as long as reading the new ones."""
        file = self._index_file
        index = Index(self.folder, file, check=self._index is None or _inode(file) != self._inode)
        try:
            index.update()
        finally:
            index.close()

    @property
    def index(self) -> IndexPages:
        """The current table."""
        file = self._index_file
        with self._opening:
            if self._index is None or _inode(file) != self._inode:
                Index(self.folder, file).close()  # makes the file; the rows come later
                self._index = IndexPages(file, self.main_metric)  # others may still use the old
                self._inode = _inode(file)
            return self._index

    @property
    def main_metric(self) -> str:
        """Of the task; "" for an unknown task."""
        try:
            return self.task.metrics[0]
        except AgentEnvError:
            return ""

    @property
    def summary(self) -> Summary:
        """Figures over all episodes; computed again after a change."""
        index = self.index
        state = index.changes, self._inode, self.written_at
        if self._summary is None or self._summary[0] != state:
            place = {c.name: i for i, c in enumerate(self.manifest.conditions)}
            groups = sorted(index.groups(), key=lambda g: place.get(g.condition, len(place)))
            table = treatment_table(self._treatments(index))
            summary = Summary(groups, index.stop_reasons(), index.metrics, table)
            self._summary = state, summary
        return self._summary[1]

    def _treatments(self, index: IndexPages) -> list[tuple[str, Treatment]]:
        counts = {each.condition: each for each in index.arrivals()}
        conditions, problems = self.manifest.conditions, self.manifest.problems
        rows = []
        for condition in conditions:
            arrival = counts.get(condition.name)
            if condition.tools and arrival is not None:
                bare = bare_of(condition, conditions)
                added = (
                    (None, 0) if bare is None else index.added_tokens(arrival.condition, bare.name)
                )
                row = Treatment(
                    condition=arrival.condition,
                    first_step=condition.first_step,
                    added_input_tokens=added[0],
                    pairs=added[1],
                    episodes=arrival.episodes,
                    called=arrival.called,
                    required=arrival.required,
                    obeyed=arrival.obeyed,
                    calls_in_text=arrival.calls_in_text,
                    forms=tuple(filter(None, arrival.forms.split(","))),
                    problem=problems.get(condition.name),
                    invented=arrival.invented,
                    in_text=self.manifest.is_in_text,
                )
                rows.append((with_mark(condition.name, problems), row))
        return rows

    @property
    def is_large(self) -> bool:
        """Whether reading all traces takes too long for a page."""
        return self.index.rows > LARGE

    @property
    def stamp(self) -> str:
        """A text that changes with anything that the run's pages show."""
        return f"{self.index.changes}.{self._inode}.{self.written_at}"

    @property
    def is_live(self) -> bool:
        """Whether a process runs it now."""
        return self.folder.is_locked

    # One episode -----------------------------------------------------------------------------

    def trace(self, episode: str) -> Path | None:
        """The trace's file; None where there is no such episode."""
        condition, _, name = episode.partition("/")
        if not _is_name(condition) or not _is_name(name):
            return None
        file = self.folder.path / "episodes" / condition / f"{name}.jsonl"
        return file if is_safe(self.folder.path, file) else None

    def read(self, trace: Path) -> TraceEvents:
        """The trace's events with all texts; of a broken trace, those above the defect."""
        try:
            events = read_trace(trace)
        except TraceError as exc:
            return TraceEvents(exc.sound.events, str(exc))
        return TraceEvents(events, self.folder.misfit(trace, self.folder.identity(), events))

    def sample(self, name: str) -> Sample | None:
        """The sample of this name; parses no other."""
        try:
            data = self.folder.read("samples.jsonl")
        except DatasetError:
            return None
        mark = b'"id":"%b"' % name.encode()
        place = data.find(mark)
        while place >= 0:
            start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
            line = data[start : end if end >= 0 else len(data)]
            try:
                sample = self.task.sample_type.model_validate_json(line)
            except ValueError:
                return None
            if sample.id == name:
                return sample
            place = data.find(mark, place + 1)
        return None

    def judge(self, events: list[Event]) -> Assessment:
        """The score by the current scorer, and the diagnosis by rules."""
        try:
            episode = fold(events)
            task = self.task
            sample = self.sample(episode.sample)
            conditions = {c.name: c for c in self.manifest.conditions}
            if sample is None:
                return Assessment(None, None, f"samples.jsonl has no sample '{episode.sample}'")
            score = task.score(sample, episode)
            condition = conditions.get(episode.condition)
            if condition is None:
                return Assessment(score, None, f"run.json has no condition '{episode.condition}'")
            metric, sample = task.right_metric, sample_under(sample, condition)
            diagnosis = diagnose(sample, episode, score, condition, metric, self._find_faults)
        except (AgentEnvError, ValueError) as exc:
            return Assessment(None, None, str(exc))
        return Assessment(score, diagnosis)

    @property
    def _find_faults(self) -> FaultFinder | None:
        """The family's finder, made once: it loads tables."""
        if not self._finder:
            maker = self.task.analysis.fault_finder
            self._finder.append(maker() if maker is not None else None)
        return self._finder[0]


def _is_odd(folder: Path, file: Path) -> bool:
    """Whether the table is unsafe to open."""
    try:
        check_database(folder, file)
    except OSError:
        return True
    return False


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


def _is_name(text: str) -> bool:
    """Whether the text is a plain file name."""
    return bool(text) and text not in (".", "..") and not any(c in text for c in "/\\\0")
