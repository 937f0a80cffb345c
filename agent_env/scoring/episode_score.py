"""The score of an episode from the measures of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_env.records.schema import Episode, Sample, Score


def episode_score(
    sample: Sample, episode: Episode, measure: Callable[[str | None], Mapping[str, object]]
) -> Score:
    """The episode's score. `measure` gives outcome, answer, rule and metrics of a finished
    episode's answer; for any other episode the outcome is its status, without metrics."""
    is_finished = episode.status == "finished"
    fields = measure(episode.answer) if is_finished else {"outcome": episode.status}
    names = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    return Score.model_validate({**names, **fields})
