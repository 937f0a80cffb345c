"""What exports are made from: a run's episodes with events and scores, and means by condition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent_env.sdk.errors import DatasetError
from agent_env.sdk.family import Task
from agent_env.sdk.models import served_name
from agent_env.sdk.records import Condition, Episode, Manifest, Sample, Score
from agent_env.sdk.run import Run
from agent_env.sdk.trace import EpisodeStarted, Event, Recording

COMPATIBLE, LOCAL = "compatible/", "local/"
"""How the names of models begin that no provider serves."""


@dataclass(frozen=True, slots=True)
class MeanScore:
    """The mean of a metric over the finished episodes of a condition, as `show` has it."""

    condition: str
    metric: str
    value: float
    low: float | None
    high: float | None
    """The 95 % confidence interval; both None where there is none."""
    method: str
    """How the interval was made, or why there is none."""
    samples: int
    episodes: int
    """Finished ones."""
    is_error: bool
    """Less is better, from 0 without end."""
    is_bounded: bool
    """Whether no episode scored below 0 or above 1."""
    problem: str | None = None
    """Why the condition cannot mean anything."""

    @property
    def interval(self) -> str:
        """For a reader."""
        if self.low is None or self.high is None:
            return f"no interval: {self.method}"
        return f"95 % CI {self.low:.4f} to {self.high:.4f} ({self.method})"


@dataclass(frozen=True, slots=True)
class Results:
    """What a file of results says beside the episodes."""

    means: Sequence[MeanScore] = ()
    notes: Sequence[str] = ()
    """What a reader of the means must know."""
    benchmark: str | None = None
    """The Hub's dataset that was asked: ORG/DATASET."""
    benchmark_task: str = "default"
    """Its task's name in the dataset's eval.yaml."""
    organization: str = "unknown"
    """Who evaluated."""

    def by_condition(self) -> Mapping[str, list[MeanScore]]:
        """Each condition's means, the main metric's first."""
        found: dict[str, list[MeanScore]] = {}
        for mean in self.means:
            found.setdefault(mean.condition, []).append(mean)
        return found


def is_plain(condition: Condition, manifest: Manifest) -> bool:
    """Whether its mean is a result of the dataset: nothing of the answer is told, nothing in its
    world is changed on purpose, and no episode is a fork of another."""
    is_fork = manifest.parent is not None
    return condition.wording == "implicit" and condition.disturbance is None and not is_fork


def hub_model(model: str) -> str:
    """The model as DEVELOPER/NAME; the developer is `unknown` where the name does not say it."""
    if not model.startswith((COMPATIBLE, LOCAL)):
        return model if "/" in model else f"agent-env/{model}"
    name = served_name(model)
    if model.startswith(COMPATIBLE) and name.count("/") == 1 and name.strip("/") == name:
        return name
    return f"unknown/{name.strip('/').rpartition('/')[2] or 'unknown'}"


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
        """All of its own."""
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
    pack: str | None = None
    """The run's pack by name and SHA-256, for results to point to."""


def harness(manifest: Manifest) -> tuple[str, str]:
    """What asked the model, and its version: we, or the tool of an imported log."""
    if manifest.imported is None:
        return "agent-env", manifest.versions.get("agent-env", "unknown")
    name, _, version = manifest.imported.tool.partition(" ")
    return name, version or "unknown"


@dataclass(slots=True)
class Source:
    """A run to be exported; may be gone through more than once."""

    folder: Run
    task: Task
    on_broken: Callable[[str], None]
    """Hears why a trace cannot be read; it is left out."""
    choice: Choice = field(default_factory=Choice)
    results: Results = field(default_factory=Results)
    """For files of results."""
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
