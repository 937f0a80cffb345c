"""One episode scored, with where its answer came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_env.analysis.provenance import Provenance, Provenances
from agent_env.analysis.transcript import record_lines
from agent_env.episodes.trace.fold import fold
from agent_env.errors import AgentEnvError
from agent_env.records.schema import Score
from agent_env.records.trace_events import Event
from agent_env.tasks.modifiers import modifier_of
from agent_env.tasks.sample_texts import gold_text

if TYPE_CHECKING:
    from agent_env.runs.run import Run


@dataclass(frozen=True, slots=True)
class Assessment:
    """Score and provenance of an episode; None if unknown."""

    score: Score | None
    provenance: Provenance | None
    why_not: str | None = None
    gold: str | None = None
    """The right answer for people, as the condition asks it."""

    @property
    def lines(self) -> list[str]:
        """The provenance in words, without its first line, the verdict."""
        return [] if self.provenance is None else list(record_lines(self.provenance))[1:]


def assess(run: Run, events: list[Event]) -> Assessment:
    """Score and provenance, by this trace and those of the sample's other worlds."""
    try:
        episode, task = fold(events), run.task
        if (sample := run.sample(episode.sample)) is None:
            return Assessment(None, None, f"samples.jsonl has no sample '{episode.sample}'")
        score = task.score(sample, episode)
        conditions = {condition.name: condition for condition in run.manifest.conditions}
        if (condition := conditions.get(episode.condition)) is None:
            return Assessment(score, None, f"run.json has no condition '{episode.condition}'")
        records = Provenances(task, run.manifest.conditions, run.find_faults)
        records.add(asked := sample.in_world(condition.world), episode, score)
        for other in conditions.values():
            trace = run.trace_of(f"{other.name}/{sample.id}.{episode.repeat}")
            world = modifier_of("disturbance")
            is_other = other != condition and bool(world and world.is_twin(condition, other))
            if trace and is_other and trace.exists() and (recorded := run.events(trace).events):
                its = fold(recorded)
                records.add(sample.in_world(other.world), its, task.score(sample, its))
        record = records.by_episode()[condition.name, sample.id, episode.repeat]
        return Assessment(score, record, gold=gold_text(asked))
    except (AgentEnvError, ValueError) as exc:
        return Assessment(None, None, str(exc))
