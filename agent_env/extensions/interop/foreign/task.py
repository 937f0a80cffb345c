"""The task of an imported run: its samples, and the scores that its source gave them."""

from __future__ import annotations

from typing import ClassVar

from agent_env.extensions.interop.foreign.log import ForeignFields, hooks_of
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Task
from agent_env.sdk.records import Condition, Episode, ImportSource, Manifest, Message, Sample, Score


class ImportedSample(ForeignFields, Sample):
    """A sample of an imported run; `id` names its trace."""

    source_id: str
    """As its source calls it; `id` is the same where a file can be called so."""
    question: str | None = None
    """None where the log does not tell it."""
    without_gold: ClassVar[str] = "(not known)"
    """What an empty gold means here."""


def imported_task(manifest: Manifest, source: ImportSource) -> Task:
    """The task of this run.json. It asks nothing: `prompt` raises ConfigError."""

    def prompt(sample: Sample, condition: Condition) -> tuple[Message, ...]:
        raise ConfigError(f"a run imported from {source.file} has no prompt to ask again")

    return Task(
        name=manifest.task,
        sample_type=ImportedSample,
        prompt=prompt,
        scorer=_source_score,
        metrics=source.metrics,
        default_conditions=tuple(condition.name for condition in manifest.conditions),
        analysis=hooks_of(()),
    )


def _source_score(sample: Sample, episode: Episode) -> Score:
    """What the source says; nothing is scored here."""
    result, answer, rule = episode.imported, None, "as the imported log has it"
    outcome: str = "read" if episode.status == "finished" else episode.status
    if result is not None and result.answer is not None:
        answer = (result.answer,)
    if outcome == "read" and (result is None or not result.metrics):
        outcome, rule = "scorer_failed", "the imported log has no score of it"
    return Score.model_validate(
        {
            "sample": episode.sample,
            "condition": episode.condition,
            "repeat": episode.repeat,
            "outcome": outcome,
            "answer": answer,
            "rule": rule,
            "metrics": result.metrics if result is not None and outcome == "read" else {},
        }
    )
