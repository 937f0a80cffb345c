"""The score of an episode, from what a family measures of its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_env.records.schema import Episode, Sample, Score


def episode_score(
    sample: Sample, episode: Episode, measure: Callable[[str | None], Mapping[str, object]]
) -> Score:
    """`measure` returns outcome, answer, rule and metrics of the answer of a finished episode; any
    other episode has its status as its outcome and no metrics."""
    is_finished = episode.status == "finished"
    fields = measure(episode.answer) if is_finished else {"outcome": episode.status}
    names = {"sample": sample.id, "condition": episode.condition, "repeat": episode.repeat}
    return Score.model_validate({**names, **fields})
