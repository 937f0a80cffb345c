"""One episode scored, with where its answer came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_env.analysis.provenance import Provenance, provenance_of
from agent_env.analysis.transcript import record_lines
from agent_env.episodes.trace.fold import fold
from agent_env.errors import AgentEnvError
from agent_env.records.schema import Condition, Episode, Sample, Score
from agent_env.records.trace_events import Event
from agent_env.tasks.conditions import is_twin, sample_under

if TYPE_CHECKING:
    from agent_env.runs.run import Run


@dataclass(frozen=True, slots=True)
class Assessment:
    """Score and provenance of an episode; None if unknown."""

    score: Score | None
    provenance: Provenance | None
    why_not: str | None = None

    @property
    def lines(self) -> list[str]:
        """The provenance in words, without its first line, the verdict."""
        return [] if self.provenance is None else list(record_lines(self.provenance))[1:]


def assess(run: Run, events: list[Event]) -> Assessment:
    """The score by the current scorer, and the provenance by this trace and those of the same
    sample in the other worlds of its condition."""
    try:
        episode = fold(events)
        if (sample := run.sample(episode.sample)) is None:
            return Assessment(None, None, f"samples.jsonl has no sample '{episode.sample}'")
        score = run.task.score(sample, episode)
        conditions = {condition.name: condition for condition in run.manifest.conditions}
        if (condition := conditions.get(episode.condition)) is None:
            return Assessment(score, None, f"run.json has no condition '{episode.condition}'")
        record = _record(run, sample, episode, score, condition)
        worlds = _other_worlds(run, sample, condition, episode.repeat)
        return Assessment(score, record.in_world_of(worlds))
    except (AgentEnvError, ValueError) as exc:
        return Assessment(None, None, str(exc))


def _record(
    run: Run, sample: Sample, episode: Episode, score: Score, condition: Condition
) -> Provenance:
    asked, metric = sample_under(sample, condition), run.task.right_metric
    return provenance_of(asked, episode, score, condition, metric, run.find_faults)


def _other_worlds(
    run: Run, sample: Sample, condition: Condition, repeat: int
) -> Iterator[Provenance]:
    """The sample's episodes under the conditions that differ in their disturbance alone."""
    for other in run.manifest.conditions:
        if other.name == condition.name or not is_twin(condition, other, "disturbance"):
            continue
        trace = run.trace_of(f"{other.name}/{sample.id}.{repeat}")
        if trace is not None and trace.exists() and (events := run.events(trace).events):
            episode = fold(events)
            yield _record(run, sample, episode, run.task.score(sample, episode), other)
