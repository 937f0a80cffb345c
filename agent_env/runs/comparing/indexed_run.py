"""The table of a run's episodes that stays open, for the viewer: counts, groups."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from agent_env.analysis.result_tables import ResultTable
from agent_env.episodes.index import NAME, Index
from agent_env.episodes.index_pages import ConditionSummary, IndexPages
from agent_env.errors import AgentEnvError
from agent_env.extras import FOR_FIGURES, missing_of
from agent_env.records.safe_files import check_database
from agent_env.runs.run import Run
from agent_env.tasks.sample_texts import sample_question

if TYPE_CHECKING:
    from agent_env.analysis.first_page import FirstPage

LARGE = 5_000
"""Episodes."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    groups: list[ConditionSummary]
    """By condition, in the manifest's order."""
    stop_reasons: list[str]
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    tables: Sequence[ResultTable]
    """The tools check and the differences; without a first page also what it has."""
    first: FirstPage | None
    """What a report begins with; None without matplotlib."""


class IndexedRun(Run):
    """A run with the table of its episodes, which stays open."""

    def __init__(self, key: str, path: Path, spare: Path) -> None:
        """`key` is a word for it; `spare` a folder for the table, if its own is read-only."""
        super().__init__(path)
        self.key = key
        self._spare = spare
        self._index: IndexPages | None = None
        self._inode: int | None = None
        self._opening = Lock()
        self._summary: tuple[str, RunSummary] | None = None
        self._compared: tuple[object, ComparedRuns] | None = None

    @property
    def written_at(self) -> int:
        """When run.json was written, in ns; 0 if it is missing."""
        return self.state[1]

    def warm(self) -> None:
        """Loads what its pages need: the task's modules and tables, the counts."""
        with suppress(AgentEnvError, OSError, sqlite3.Error):  # its page will say it
            _ = self.find_faults
            _ = self.summary

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None

    @property
    def _file(self) -> Path:
        """The table's file: in the run's folder, or elsewhere if that is read-only."""
        folder = self.path
        if os.access(folder, os.W_OK):
            with suppress(OSError):  # else it is unsafe to open
                check_database(folder, folder / NAME)
                return folder / NAME
        return self._spare / f"{self.key}.db"

    def update(self) -> None:
        """Updates the table from the traces; takes as long as reading the new ones."""
        file = self._file
        index = Index(self, file, check=self._index is None or _inode(file) != self._inode)
        try:
            index.update()
        finally:
            index.close()

    @property
    def index(self) -> IndexPages:
        file = self._file
        with self._opening:
            if self._index is None or _inode(file) != self._inode:
                Index(self, file).close()  # makes the file; the rows come later
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
    def summary(self) -> RunSummary:
        """Figures over all episodes; computed again after a change."""
        index, state = self.index, self.stamp
        if self._summary is None or self._summary[0] != state:
            place = {c.name: i for i, c in enumerate(self.manifest.conditions)}
            groups = sorted(index.groups(), key=lambda g: place.get(g.condition, len(place)))
            self._summary = state, RunSummary(groups, index.stop_reasons(), index.metrics)
        return self._summary[1]

    def question(self, sample: str) -> str:
        """What a sample asks; "" for one that the run does not have."""
        found = self.sample(sample)
        return "" if found is None else sample_question(found)

    def compared(self, runs: Sequence[IndexedRun]) -> ComparedRuns:
        """The comparison of these runs, kept until one of them changes."""
        key = [(run.path, run.stamp) for run in runs]
        if self._compared is None or self._compared[0] != key:
            self._compared = key, self._compare([run.path for run in runs])
        return self._compared[1]

    def _compare(self, paths: Sequence[Path]) -> ComparedRuns:
        from agent_env.runs.comparing.compare import CompareOptions, compare_folders, select_tables

        names = ("conclusions", "tools_check", "conditions", "differences")
        options = CompareOptions(runs=tuple(paths), tables=names)
        comparison = compare_folders(options, lambda text: None, self.objects)
        tables = [
            table.without_empty().without_constant({comparison.metric})
            for table in select_tables(comparison, names, ())
            if table.rows
        ]
        if missing_of(*FOR_FIGURES):
            return ComparedRuns(tables, None)
        from agent_env.analysis.first_page import first_page

        of_first = ("conclusions", "conditions")
        return ComparedRuns(
            [table for table in tables if table.name not in of_first], first_page(comparison)
        )

    @property
    def is_large(self) -> bool:
        """Whether reading all traces takes too long for a page."""
        return self.index.rows > LARGE

    @property
    def stamp(self) -> str:
        """A text that changes with anything that the run's pages show."""
        return f"{self.index.changes}.{self._inode}.{self.written_at}"


def _inode(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None
