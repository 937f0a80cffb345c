"""The unfinished episodes of a run; does not load the loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from agent_env.episodes.run_folder import EpisodeKey, RunFolder
from agent_env.episodes.trace.lines import is_finished
from agent_env.records.schema import Condition, Sample


class StoppingCondition(Protocol):
    """Says which episodes are still needed, while the run goes on."""

    @property
    def samples(self) -> Sequence[Sample]:
        """Those that may be needed, in the order in which they are run."""

    def is_needed(self, key: EpisodeKey) -> bool:
        """Called before an episode begins."""

    def note(self, key: EpisodeKey) -> None:
        """Called when an episode has ended and its trace is whole."""


Pending = Iterator[tuple[EpisodeKey, Sample, Condition]]


def pending(
    folder: RunFolder,
    samples: Sequence[Sample],
    conditions: Sequence[Condition],
    repeats: int,
    stopping: StoppingCondition | None = None,
) -> Pending:
    """The episodes that are not finished, failed ones too, in the order of repeats and samples.
    Under a stopping condition, those still needed when they are due, sample by sample."""
    if stopping is not None:
        for sample in stopping.samples:
            for item in pending(folder, (sample,), conditions, repeats):
                if stopping.is_needed(item[0]):
                    yield item
        return
    for repeat in range(1, repeats + 1):
        for sample in samples:
            for condition in conditions:
                key = EpisodeKey(sample.id, condition.name, repeat)
                if not is_finished(folder.trace(key)):
                    yield key, sample, condition
