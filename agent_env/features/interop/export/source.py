"""What exports are made from: a run's episodes with events and scores."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import Task
from agent_env.sdk.records import Episode, Manifest, Sample, Score
from agent_env.sdk.run import Run
from agent_env.sdk.trace import EpisodeStarted, Event, Recording


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One episode: what happened, what it comes to, how it was scored."""

    name: str
    """CONDITION/SAMPLE.REPEAT"""
    recording: Recording
    """Its steps; verdicts of judges are in `episode`."""
    episode: Episode
    sample: Sample
    score: Score

    @property
    def start(self) -> EpisodeStarted:
        """Its first event."""
        return self.recording.start

    @property
    def events(self) -> tuple[Event, ...]:
        return self.recording.events


@dataclass(frozen=True, slots=True)
class Choice:
    """Which episodes are exported."""

    names: Collection[str] | None = None
    """CONDITION/SAMPLE.REPEAT each; None for all."""
    metric: str | None = None
    """The metric that `min_score` holds for; None for the task's main one."""
    min_score: float | None = None
    """Episodes with less, or without a score, are left out."""


@dataclass(slots=True)
class Source:
    """A run to be exported; may be gone through more than once."""

    folder: Run
    task: Task
    on_broken: Callable[[str], None]
    """Hears why a trace cannot be read; it is left out."""
    choice: Choice = field(default_factory=Choice)
    left_out: int = 0
    """Episodes that were read and not chosen, the last time it was gone through."""

    @property
    def manifest(self) -> Manifest:
        return self.folder.manifest

    @property
    def run(self) -> str:
        """The run's identity; its folder's name where it has none."""
        return self.manifest.id or self.folder.path.name

    def __iter__(self) -> Iterator[EpisodeRecord]:
        """The chosen episodes in the order of their files, one at a time in memory."""
        names, read = self.choice.names, 0
        traces = [self.folder.key_of(file) for file in self.folder.traces()]
        wanted = [name for name in traces if names is None or name in names]
        self.left_out = len(traces) - len(wanted)

        def on_broken(reason: str) -> None:
            nonlocal read
            read += 1
            self.on_broken(reason)

        for name, recording in self.folder.recordings(on_broken, names):
            episode = recording.episode
            if (sample := self.folder.samples_by_id.get(episode.sample)) is None:
                file = self.folder.path / "samples.jsonl"
                on_broken(str(DatasetError(file, None, f"no '{episode.sample}'")))
                continue
            read += 1
            score = self.task.score(sample, episode)
            if self._is_chosen(score):
                asked = self.folder.asked_sample(episode)
                yield EpisodeRecord(name, recording, episode, asked, score)
            else:
                self.left_out += 1
        self.left_out += len(wanted) - read  # of which nothing was written yet

    def _is_chosen(self, score: Score) -> bool:
        if self.choice.min_score is None:
            return True
        value = score.metrics.get(self.choice.metric or self.task.metrics[0])
        return value is not None and value >= self.choice.min_score
