"""Logs of other tools, as far as runs know them; a feature reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent_env.errors import ConfigError
from agent_env.registry import hook

if TYPE_CHECKING:
    from agent_env.analysis.study import RunData, Study
    from agent_env.records.imported import ImportSource
    from agent_env.records.manifest import Manifest
    from agent_env.tasks.task import Task

Note = Callable[[str], None]


class Logs(Protocol):
    @staticmethod
    def is_log(path: Path) -> bool:
        """Whether the file, folder or NAME=FILE is another tool's."""

    @staticmethod
    def study_of_logs(
        paths: Sequence[Path], columns: Path | None, cluster: str | None, strict: bool, note: Note
    ) -> tuple[Study, dict[str, Manifest]]:
        """The logs as a study, and by name what is known of each."""

    @staticmethod
    def study_of_imported(
        runs: Sequence[RunData],
        metrics: Mapping[str, tuple[str, ...]],
        cluster: str | None,
        strict: bool,
        note: Note,
    ) -> Study:
        """The same of runs that were made of logs, with the metrics of each by its name."""

    @staticmethod
    def imported_task(manifest: Manifest, source: ImportSource) -> Task:
        """The task of a run that was made of a log."""

    @staticmethod
    def import_log(log: Path, out: Path, note: Note, columns: Path | None = None) -> list[Path]:
        """Makes a run of the log, or several; their folders."""


def is_log(path: Path) -> bool:
    """Whether it is another tool's; a folder is none where nothing reads such logs."""
    try:
        return logs().is_log(path)
    except ConfigError:
        if path.is_dir():
            return False
        raise


def logs() -> Logs:
    """The reader; ConfigError where it is not installed."""
    reader: Logs = hook("logs")
    return reader
