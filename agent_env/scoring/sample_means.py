"""The mean of a run, which is over samples, each by the mean of its finished repeats, so that a
sample weighs the same however many of its episodes failed. Whatever shows a mean of a run, of a
metric or of what episodes used, gets it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_env.records.schema import Episode, Sample, Score


class SampleMeans:
    """The values of one metric or quantity under one condition, added one episode at a time."""

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float | None, int]] = {}

    def add(self, sample: str, value: float | None) -> None:
        """Takes the value of a finished episode; None where it has none, which leaves the sample
        without a mean."""
        total, number = self._sums.get(sample, (0.0, 0))
        self._sums[sample] = (None if total is None or value is None else total + value, number + 1)

    def of(self, sample: str) -> float | None:
        """The sample's mean; None where it has none."""
        total, number = self._sums.get(sample, (None, 0))
        return None if total is None else total / number

    @property
    def by_sample(self) -> dict[str, float]:
        """The mean of each sample that has one."""
        return {
            sample: total / number
            for sample, (total, number) in self._sums.items()
            if total is not None
        }

    @property
    def is_known(self) -> bool:
        """Whether every episode has a value."""
        return all(total is not None for total, _ in self._sums.values())

    @property
    def mean(self) -> float | None:
        """Over the samples that have a mean; None where none has."""
        means = self.by_sample
        return sum(means.values()) / len(means) if means else None


def episode_score(
    sample: Sample, episode: Episode, measure: Callable[[str | None], Mapping[str, object]]
) -> Score:
    """The episode's score. `measure` gives outcome, answer, rule and metrics of a finished
    episode's answer; for any other episode the outcome is its status, without metrics."""
    is_finished = episode.status == "finished"
    fields = measure(episode.answer) if is_finished else {"outcome": episode.status}
    names = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    return Score.model_validate({**names, **fields})
