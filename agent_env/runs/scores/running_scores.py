"""Score and spending of a run while it continues, from the traces of its ended episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.episodes.calls.options import run_limits
from agent_env.episodes.trace.fold import charges
from agent_env.episodes.trace.lines import read_events
from agent_env.errors import AgentEnvError
from agent_env.models.usage import is_priced
from agent_env.records.schema import Episode, Usage
from agent_env.records.trace_events import EpisodeFailed, EpisodeFinished, Event, Judged
from agent_env.scoring.sample_means import SampleMeans

if TYPE_CHECKING:
    from agent_env.analysis.intervals import Estimate
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.records.schema import ModelFacts
    from agent_env.runs.run import Run


@dataclass(frozen=True, slots=True)
class Spending:
    tokens: int = 0
    """Input and output, as the run's limits count them."""
    cost_usd: float | None = 0.0
    """None where a price is unknown."""
    is_estimate: bool = False
    """Whether tokens of a call were estimated, as the server did not tell them."""


class RunningMean:
    """A mean over samples, to which episodes are added one at a time."""

    def __init__(self, can_be_share: bool) -> None:
        self._is_share = can_be_share
        self._samples = SampleMeans()
        self._clusters: dict[str, str] = {}

    def add(self, cluster: str, sample: str, value: float) -> None:
        self._is_share = self._is_share and value in (0.0, 1.0)
        self._samples.add(sample, value)
        self._clusters[sample] = cluster

    @property
    def estimate(self) -> Estimate:
        """A rate with its interval; another mean has one when the run is scored."""
        from agent_env.analysis.intervals import Estimate

        values = [(self._clusters[name], mean) for name, mean in self._samples.by_sample.items()]
        if self._is_share:
            return Estimate.of_mean(values, share=True)
        return Estimate(self._samples.mean, method="not scored yet", samples=len(values))


class SoFar:
    """Score and spending of a run, from the traces that are there and those that end."""

    def __init__(self, run: Run) -> None:
        manifest, self._run, self._task = run.manifest, run, run.task
        self.metric = self._task.metrics[0]
        can_be_share = self.metric not in self._task.error_metrics
        self.scores = {each.name: RunningMean(can_be_share) for each in manifest.conditions}
        """By condition."""
        self.limits = run_limits(manifest)
        self._samples = run.samples_by_id
        self._facts = manifest.model_facts
        probes = [probe for each in manifest.preflights for probe in each.probes]
        self._spent: dict[str, Spending] = {}
        self._tokens, self._cost_usd = 0, 0.0
        self._unpriced, self._estimated = 0, 0  # episodes
        self._book("", spending([p.charged or p.usage for p in probes], self._facts))

    @property
    def estimates(self) -> dict[str, Estimate]:
        """Of the conditions that have a score."""
        scored = {name: score.estimate for name, score in self.scores.items()}
        return {name: each for name, each in scored.items() if each.value is not None}

    def read(self) -> list[tuple[str, str]]:
        """Takes in every trace; condition and end of each episode, "" where it was cut off."""
        return [(trace.parent.name, self._read(trace)) for trace in self._run.traces()]

    def add(self, key: EpisodeKey) -> None:
        self._read(self._run.trace(key))

    @property
    def spent(self) -> Spending:
        """By all attempts of these episodes, and by the preflights."""
        cost = None if self._unpriced else self._cost_usd
        return Spending(self._tokens, cost, self._estimated > 0)

    def _read(self, trace: Path) -> str:
        """The episode's end, see `read`."""
        name = self._run.key_of(trace)
        events = _events(trace)
        used, reserves = charges(events)
        self._book(name, spending([*used, *reserves], self._facts))
        last = next((e for e in reversed(events) if not isinstance(e, Judged)), None)
        if not isinstance(last, EpisodeFinished):
            return "failed" if isinstance(last, EpisodeFailed) else ""
        self._score(trace, last)
        return last.stop_reason

    def _book(self, name: str, now: Spending) -> None:
        """Replaces what is known of an episode's spending."""
        before = self._spent.get(name, Spending())
        self._spent[name] = now
        self._tokens += now.tokens - before.tokens
        self._cost_usd += (now.cost_usd or 0.0) - (before.cost_usd or 0.0)
        self._unpriced += (now.cost_usd is None) - (before.cost_usd is None)
        self._estimated += now.is_estimate - before.is_estimate

    def _score(self, trace: Path, end: EpisodeFinished) -> None:
        name, _, repeat = trace.stem.rpartition(".")
        if (sample := self._samples.get(name)) is None:
            return
        episode = Episode(
            sample=name, condition=trace.parent.name, repeat=int(repeat), model="",
            status="finished", answer=end.answer, stop_reason=end.stop_reason,
            citations=end.citations,
        )  # fmt: skip
        value = self._task.score(sample, episode).metrics.get(self.metric)
        if value is not None:
            cluster = self._task.analysis.cluster(sample) or f"/{name}"
            if (score := self.scores.get(trace.parent.name)) is not None:
                score.add(cluster, name, value)


def spending(usages: Sequence[Usage], facts: ModelFacts | None) -> Spending:
    costs = [usage.cost_usd(facts) for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return Spending(
        tokens=sum((u.input_tokens or 0) + (u.output_tokens or 0) for u in usages),
        cost_usd=sum(known) if is_priced(facts) and len(known) == len(costs) else None,
        is_estimate=any(usage.source in ("estimate", None) for usage in usages),
    )


def _events(trace: Path) -> list[Event]:
    """Empty for a broken trace: scoring reports it."""
    try:
        return read_events(trace).events
    except AgentEnvError:
        return []
