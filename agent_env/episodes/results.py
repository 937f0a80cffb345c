"""From traces to episodes and scores; everything here can be made again at any time."""

from __future__ import annotations

from collections.abc import Iterator

from agent_env.episodes.run_folder import RunFolder
from agent_env.episodes.trace import fold, read_trace
from agent_env.errors import DatasetError
from agent_env.protocols import Task
from agent_env.schema import Episode, Score


def episodes_of(folder: RunFolder) -> Iterator[Episode]:
    """The episodes of a run, in the order of their files."""
    for file in folder.traces():
        events = read_trace(file)
        if events:  # an empty file: killed before the first event
            yield fold(events)


def score_run(folder: RunFolder, task: Task) -> list[tuple[Episode, Score]]:
    """Every episode with its score, from the traces and samples alone; writes scores.jsonl."""
    samples = {sample.id: sample for sample in folder.samples(task.sample_type)}
    scored: list[tuple[Episode, Score]] = []
    for episode in episodes_of(folder):
        sample = samples.get(episode.sample)
        if sample is None:
            raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{episode.sample}'")
        scored.append((episode, task.scorer(sample, episode)))
    folder.write_scores([score for _, score in scored])
    return scored
