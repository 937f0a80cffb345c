"""From traces to episodes and scores; everything here can be made again at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.reader import read_trace
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import DatasetError
from agent_env.records.schema import Episode, Score
from agent_env.tasks.task import Task


def episodes_of(folder: RunFolder, on_broken: Callable[[str], None]) -> Iterator[Episode]:
    """The episodes of a run, in the order of their files; `on_broken` hears why a trace cannot be
    read, and it is passed over."""
    texts, run = Texts(folder.texts), folder.identity()
    try:
        for file in folder.traces():
            try:
                events = read_trace(file, texts)
                problem = folder.misfit(file, run, events)
            except DatasetError as exc:
                problem = str(exc)
            if problem is not None:
                on_broken(problem)
            elif events:  # an empty file: killed before the first event
                yield fold(events)
    finally:
        texts.close()


def score_run(
    folder: RunFolder, task: Task, on_broken: Callable[[str], None]
) -> list[tuple[Episode, Score]]:
    """Every episode with its score, from the traces and samples alone; writes nothing."""
    samples = {sample.id: sample for sample in folder.samples_as(task.sample_type)}
    scored: list[tuple[Episode, Score]] = []
    for episode in episodes_of(folder, on_broken):
        sample = samples.get(episode.sample)
        if sample is None:
            raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{episode.sample}'")
        scored.append((episode, task.score(sample, episode)))
    return scored
