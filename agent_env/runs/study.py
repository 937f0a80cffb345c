"""Reads run folders into a study, for `compare` and notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.calls.retries import silent
from agent_env.episodes.run_folder import trace_file
from agent_env.errors import ConfigError
from agent_env.records.safe_files import is_safe
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.logs import logs
from agent_env.runs.run import Run

if TYPE_CHECKING:
    from agent_env.analysis.study import Study
    from agent_env.records.manifest import Manifest


def read_study(
    paths: Sequence[Path | str],
    strict: bool = False,
    note: Callable[[str], None] = silent,
    objects: Objects = NO_OBJECTS,
    cluster: str | None = None,
) -> Study:
    """The runs of these folders, scored by the current scorer, over their common samples; a folder
    of runs counts as all of them. `note` reports unreadable traces; `cluster` is a field of the
    metadata of imported runs."""
    from agent_env.analysis.study import Study

    folders = find_runs(paths, note)
    names = _names(folders)
    opened = [Run.open(folder, objects) for folder in folders]
    runs = [run.data(note, names[run.path]) for run in opened]
    if all(run.is_log for run in runs):
        metrics = {str(run.path): run.task.metrics for run in opened}
        return logs().study_of_imported(runs, metrics, cluster, strict, note)
    if cluster is not None:
        raise ConfigError(f"--cluster {cluster}: it is of logs; a run's task has its own clusters")
    return Study.of(runs, opened[0].task, strict)


def read_manifests(paths: Sequence[Path | str]) -> dict[str, Manifest]:
    """The manifests of the runs of these folders, by their names in a study."""
    folders = find_runs(paths)
    names = _names(folders)
    return {names[folder]: Run.open(folder).manifest for folder in folders}


LEVELS = 3
"""How deep runs are looked for: those of a study lie at STUDY/TASK/MODEL."""


def find_runs(paths: Sequence[Path | str], note: Callable[[str], None] = silent) -> list[Path]:
    """Each path that is a run, else the runs below it, such as those of a study; sorted, without
    duplicates. `note` reports skipped folders, whose run.json is not a plain file."""
    folders: dict[Path, Path] = {}
    for path in map(Path, paths):
        below = list(runs_below(path, note))
        if (trace := trace_file(path)) != path and trace.is_file():
            raise ConfigError(f"{path} is an episode; name its run, {trace.parents[2]}")
        if path.suffix and not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder")
        if not below:
            raise ConfigError(f"{path} is not a run and holds none: there is no run.json")
        for folder in below:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def runs_below(
    path: Path, note: Callable[[str], None] = silent, levels: int = LEVELS
) -> Iterator[Path]:
    """The folder itself where it is a run, else the runs so many levels below it."""
    file = path / "run.json"
    if file.exists() or file.is_symlink():
        if levels == LEVELS or is_safe(path, file):  # a path that was named says itself what it is
            yield path
        else:
            note(f"skipped: {file} is not a plain file in its folder")
        return
    for folder in sorted(path.iterdir()) if levels and path.is_dir() else ():
        if folder.is_dir():
            with suppress(PermissionError):
                yield from runs_below(folder, note, levels - 1)


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    """The folders' names; their paths if the names are not distinct."""
    short = [folder.resolve().name for folder in folders]
    unique = len(set(short)) == len(short)
    return {f: f.resolve().name if unique else str(f) for f in folders}
