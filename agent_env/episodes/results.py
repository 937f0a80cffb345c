"""Episodes and scores from traces; both can be computed again at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.episodes.trace.texts import Texts
from agent_env.errors import DatasetError
from agent_env.records.schema import Episode, Sample, Score
from agent_env.tasks.task import Task


def episodes_of(folder: RunFolder, on_broken: Callable[[str], None]) -> Iterator[Episode]:
    """The episodes of a run, in the order of their files; skips unreadable traces and calls
    `on_broken` with the reason."""
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


def scored_episodes(
    folder: RunFolder, task: Task, samples: Sequence[Sample], on_broken: Callable[[str], None]
) -> Iterator[tuple[Episode, Score]]:
    """Every episode with its score, from the traces and samples alone; writes nothing."""
    by_id = {sample.id: sample for sample in samples}
    for episode in episodes_of(folder, on_broken):
        sample = by_id.get(episode.sample)
        if sample is None:
            raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{episode.sample}'")
        yield episode, task.score(sample, episode)


def score_run(
    folder: RunFolder, task: Task, on_broken: Callable[[str], None]
) -> list[tuple[Episode, Score]]:
    """The same, read whole."""
    return list(scored_episodes(folder, task, folder.samples_as(task.sample_type), on_broken))
