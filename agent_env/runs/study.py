"""Reads run folders into a study, for `compare` and notebooks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.calls.retries import silent
from agent_env.errors import ConfigError
from agent_env.records.safe_files import is_safe
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.logs import logs
from agent_env.runs.run import Run

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.study import Arm, Observation, RunData, Study
    from agent_env.records.manifest import Manifest
    from agent_env.records.model_server import ModelFacts
    from agent_env.records.schema import Episode, Sample, Score
    from agent_env.tasks.task import Task


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
    from agent_env.analysis.study import assemble

    folders = find_runs(paths, note)
    names = _names(folders)
    opened = [Run.open(folder, objects) for folder in folders]
    runs = [read_run(run, names[run.path], note) for run in opened]
    if all(run.is_log for run in runs):
        return logs().study_of_imported(list(zip(opened, runs, strict=True)), cluster, strict, note)
    if cluster is not None:
        raise ConfigError(f"--cluster {cluster}: it is of logs; a run's task has its own clusters")
    task = opened[0].task
    return assemble(
        runs, task.metrics, strict, task.error_metrics, task.analysis, shortcuts_of(task)
    )


def read_manifests(paths: Sequence[Path | str]) -> dict[str, Manifest]:
    """The manifests of the runs of these folders, by their names in a study."""
    folders = find_runs(paths)
    names = _names(folders)
    return {names[folder]: Run.open(folder).manifest for folder in folders}


LEVELS = 3
"""How deep runs are looked for: those of a study lie at STUDY/TASK/MODEL."""


def find_runs(paths: Sequence[Path | str], note: Callable[[str], None] = silent) -> list[Path]:
    """Each path that is a run, else the runs below it, such as those of a study; sorted, without
    duplicates. `note` reports skipped folders, whose run.json is no plain file."""
    folders: dict[Path, Path] = {}
    for path in map(Path, paths):
        below = list(runs_below(path, note))
        if path.suffix and not path.exists():
            raise ConfigError(f"{path}: there is no such file or folder")
        if not below:
            raise ConfigError(f"{path} is no run and holds none: there is no run.json")
        for folder in below:
            folders.setdefault(folder.resolve(), folder)
    return list(folders.values())


def runs_below(
    path: Path, note: Callable[[str], None] = silent, levels: int = LEVELS
) -> Iterator[Path]:
    """The folder itself where it is a run, else the runs at most so many levels below it; what lies
    within a run belongs to it."""
    file = path / "run.json"
    if file.exists() or file.is_symlink():
        if levels == LEVELS or is_safe(path, file):  # a path that was named says itself what it is
            yield path
        else:
            note(f"passed over: {file} is no plain file in its folder")
        return
    for folder in sorted(path.iterdir()) if levels and path.is_dir() else ():
        if folder.is_dir():
            with suppress(PermissionError):
                yield from runs_below(folder, note, levels - 1)


def read_run(run: Run, name: str, note: Callable[[str], None]) -> RunData:
    """One run; keeps of its episodes only what a study needs."""
    from agent_env.episodes.results import scored_episodes

    manifest, broken = run.manifest, list[str]()
    scored = scored_episodes(run, run.task, run.samples, broken.append)
    data = run_data(name, manifest, run.samples, scored, manifest.model_facts)
    for reason in broken:
        note(f"left out: {reason}")
    return replace(data, broken=len(broken))


def run_data(
    name: str,
    manifest: Manifest,
    samples: Sequence[Sample],
    scored: Iterable[tuple[Episode, Score]],
    facts: ModelFacts | None,
) -> RunData:
    """A run's scored episodes as a study needs them, at the prices of `facts`."""
    from agent_env.analysis.study import RunData, observe
    from agent_env.analysis.totals import totals
    from agent_env.tasks.conditions import sample_under

    by_id = {sample.id: sample for sample in samples}
    observed: dict[str, list[Observation]] = defaultdict(list)
    episodes: dict[str, list[Episode]] = {c.name: [] for c in manifest.conditions}
    for episode, score in scored:
        sample = sample_under(by_id[episode.sample], episode.condition)
        observed[episode.condition].append(observe(sample, episode, score, facts))
        episodes.setdefault(episode.condition, []).append(
            episode.model_copy(update={"messages": (), "pages": ()})
        )
    spending = {condition: totals(group, facts) for condition, group in episodes.items()}
    observations = {condition: tuple(group) for condition, group in observed.items()}
    is_log = manifest.imported is not None
    return RunData(name, manifest, by_id, observations, spent=spending, is_log=is_log)


def comparison_of(run: Run, note: Callable[[str], None]) -> Comparison:
    """The conditions of one run, scored by the current scorer; writes nothing."""
    from agent_env.analysis.comparison import Comparison

    return Comparison(study_of_one(read_run(run, run.path.resolve().name, note), run.task))


def study_of_one(data: RunData, task: Task) -> Study:
    """The study of one run, for `score`."""
    return study_of([data], task)


def study_of(runs: Sequence[RunData], task: Task) -> Study:
    """The study of runs of one task."""
    from agent_env.analysis.study import assemble

    return assemble(
        runs, task.metrics, error_metrics=task.error_metrics, hooks=task.analysis,
        shortcuts=shortcuts_of(task),
    )  # fmt: skip


def shortcuts_of(task: Task) -> Callable[[Sequence[Sample]], tuple[Arm, ...]]:
    """Makes an arm of each of the task's shortcuts; they answer when a table needs them."""
    from agent_env.analysis.statistics.results import ORACLE
    from agent_env.analysis.study import Arm, observe
    from agent_env.records.schema import Condition
    from agent_env.tasks.shortcuts import Shortcut

    def arm(shortcut: Shortcut, samples: Sequence[Sample]) -> Arm:
        errors: list[tuple[str, Exception]] = []
        scored = task.answered_by(
            shortcut, samples, lambda sample, exc: errors.append((sample.id, exc))
        )
        return Arm(
            label=f"{Shortcut.ROW}{shortcut.name}",
            run=ORACLE if shortcut.sees_gold else Shortcut.CONDITION,
            model=shortcut.rule,
            condition=Condition(name=Shortcut.CONDITION),
            observations=tuple(observe(*each) for each in scored),
            asked=len(samples),
            note=_failures(errors, len(samples)),
        )

    return lambda samples: tuple(arm(shortcut, samples) for shortcut in task.shortcuts)


def _failures(errors: Sequence[tuple[str, Exception]], samples: int) -> str:
    """How many samples a shortcut has no answer to, and the first error; "" without one."""
    if not errors:
        return ""
    sample, first = errors[0]
    return (
        f"failed on {len(errors)} of {samples} samples, which it does not count "
        f"({sample}: {type(first).__name__}: {first})"
    )


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    """The folders' names; their paths if the names are not distinct."""
    short = [folder.resolve().name for folder in folders]
    unique = len(set(short)) == len(short)
    return {f: f.resolve().name if unique else str(f) for f in folders}
