"""The unfinished episodes of a run; does not load the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.trace.lines import is_finished
from agent_env.records.schema import Condition, Sample

Pending = Iterator[tuple[EpisodeKey, Sample, Condition]]


def pending(
    folder: RunFolder,
    samples: Sequence[Sample],
    conditions: Sequence[Condition],
    repeats: int,
) -> Pending:
    """The episodes that are not finished, failed ones too, in the order of repeats and samples."""
    for repeat in range(1, repeats + 1):
        for sample in samples:
            for condition in conditions:
                key = EpisodeKey(sample.id, condition.name, repeat)
                if not is_finished(folder.trace(key)):
                    yield key, sample, condition
