"""Stops runs when they know: which episodes the contrasts of a sequential test still need.

The test is computed anew from the traces when it is opened, so that a resumed run goes on with the
same one. A sample counts once all its episodes have ended in every condition of a contrast, and
samples are looked at in the order that the seed fixes, whatever order they end in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.sequential.expected import expected_samples
from agent_env.analysis.sequential.expected import in_words as samples_in_words
from agent_env.analysis.sequential.rule import StoppingRule
from agent_env.analysis.sequential.walk import (
    SequentialResult,
    Walk,
    known_scores,
    order_of,
    stoppable_contrasts,
)
from agent_env.analysis.study import RunData, Study
from agent_env.episodes.run_folder import EpisodeKey
from agent_env.episodes.trace.fold import fold
from agent_env.episodes.trace.lines import read_trace
from agent_env.errors import ConfigError
from agent_env.models.addresses import split_address
from agent_env.records.manifest import StoppingSettings
from agent_env.records.schema import Condition, Sample
from agent_env.runs.run import Run
from agent_env.runs.study import find_runs
from agent_env.scoring.sample_means import SampleMeans


def stopping_of(run: Run, note: Callable[[str], None]) -> Stopping | None:
    """The rule that run.json has, over all the runs that it names; None where it has none."""
    settings = run.manifest.until
    if settings is None:
        return None
    folders = [run.path.parent / name for name in settings.together] or [run.path]
    runs = [run if folder == run.path else Run(folder, run.objects) for folder in folders]
    return Stopping({each.path.name: each for each in runs}, settings, note)


class Stopping:
    """One rule over one or several runs of the same task and samples."""

    def __init__(
        self, runs: Mapping[str, Run], settings: StoppingSettings, note: Callable[[str], None]
    ) -> None:
        """The runs by the names that contrasts have for them; `note` gets a line for each contrast
        that is decided. ConfigError for contrasts of conditions that the runs do not have, and for
        a metric that is no score."""
        self.settings, self._note = settings, note
        self._names = {run.path: name for name, run in runs.items()}
        data = [run.data(note, name) for name, run in runs.items()]
        task = next(iter(runs.values())).task
        study = Study.of(data, task)
        self.metric = study.metrics[0]
        contrasts = stoppable_contrasts(
            settings.contrasts, study.arms, self.metric in study.error_metrics
        )
        order = order_of(study.samples, Comparison(study).cluster_names, settings)
        rule = StoppingRule(settings.alpha, settings.margin, settings.effect)
        known = known_scores(settings, study.arms, study.samples)
        self.walk = Walk(contrasts, order, rule, known)
        self._rows = {sample.id: row for row, sample in enumerate(study.samples)}
        self._labels = {(arm.run, arm.condition.name): arm.label for arm in study.arms}
        self._repeats = {name: run.manifest.repeats for name, run in runs.items()}
        self._scores: dict[tuple[str, str, str], dict[int, float | None]] = {}
        for each in data:
            self._read(each)
        self.walk.advance()
        self.samples = [study.samples[row] for row in order.rows]
        """In the order of asking."""
        if not self._scores:
            for contrast in contrasts:
                alpha = settings.alpha / len(contrasts)
                expected = expected_samples(contrast.name, order, alpha, settings.effect)
                note(samples_in_words(expected))

    def of(self, run: Run) -> RunStopping:
        """The rule as the runner of one of the runs asks it."""
        return RunStopping(self, run, self._names[run.path])

    def is_needed(self, run: str, key: EpisodeKey) -> bool:
        """Whether an undecided contrast needs the episode."""
        row = self._rows.get(key.sample)
        return row is not None and self.walk.is_needed(self._labels[run, key.condition], row)

    def enter(self, run: str, key: EpisodeKey, score: float | None) -> None:
        """Takes the score of an ended episode; None for one that failed."""
        self._enter(run, key, score)
        for contrast in self.walk.advance():
            result = self.walk.results()[contrast]
            self._note(f"{result.name}: {in_words(result)}")

    def results(self) -> tuple[SequentialResult, ...]:
        return self.walk.results()

    def _enter(self, run: str, key: EpisodeKey, score: float | None) -> None:
        scores = self._scores.setdefault((run, key.condition, key.sample), {})
        scores[key.repeat] = score
        if len(scores) == self._repeats[run] and key.sample in self._rows:
            means = SampleMeans()
            for value in scores.values():
                if value is not None:
                    means.add(key.sample, value)
            label, row = self._labels[run, key.condition], self._rows[key.sample]
            self.walk.note(label, row, means.of(key.sample))

    def _read(self, data: RunData) -> None:
        """Failed and unfinished episodes are run again; those whose scorer failed are not."""
        for condition, observations in data.observations.items():
            for each in observations:
                if each.counts or each.outcome == "scorer_failed":
                    key = EpisodeKey(each.sample, condition, each.repeat)
                    score = each.metrics.get(self.metric) if each.counts else None
                    self._enter(data.name, key, score)


@dataclass(frozen=True, slots=True)
class RunStopping:
    """A rule's side for one run."""

    rule: Stopping
    run: Run
    name: str

    @property
    def samples(self) -> Sequence[Sample]:
        """Those that may be looked at, in that order."""
        return self.rule.samples

    def is_needed(self, key: EpisodeKey) -> bool:
        return self.rule.is_needed(self.name, key)

    def note(self, key: EpisodeKey) -> None:
        """Takes the score of an ended episode from its trace."""
        episode = fold(read_trace(self.run.trace(key)))
        score = self.run.task.score(self.run.samples_by_id[key.sample], episode)
        counts = score.outcome in ("read", "unreadable")
        value = score.metrics.get(self.rule.metric) if counts else None
        self.rule.enter(self.name, key, value)


@dataclass(frozen=True, slots=True)
class PriorResults:
    """What earlier runs say of the samples of a new one."""

    scores: dict[str, dict[str, float]]
    """By condition and sample: the mean."""
    sources: tuple[str, ...]
    """Of each run, model and conditions."""


def prior_results(
    paths: Sequence[Path],
    model: str,
    conditions: Sequence[Condition],
    samples: Sequence[Sample],
    note: Callable[[str], None],
) -> PriorResults:
    """ConfigError for a run of the same model and one of the same conditions, as its outcome is
    what is to be found out, and where no run asked any of the samples."""
    asked = {sample.id: sample for sample in samples}
    values: dict[str, dict[str, list[float]]] = {}
    sources = []
    for folder in find_runs(paths, note):
        data = (run := Run(folder)).data(note, folder.name)
        names = [each.name for each in data.manifest.conditions]
        same = sorted({each.name for each in conditions} & set(names))
        if same and _model_name(data.manifest.model) == _model_name(model):
            raise ConfigError(
                f"--prior-results {folder}: has results of {data.manifest.model} under {same[0]}, "
                "which is what this run is to find out; name runs of other models or conditions"
            )
        sources.append(f"{data.manifest.model} under {', '.join(names)}")
        for condition, observations in data.observations.items():
            for each in (o for o in observations if o.counts):
                value = each.metrics.get(run.task.metrics[0])
                if value is not None and data.samples[each.sample] == asked.get(each.sample):
                    scores = values.setdefault(condition, {})
                    scores.setdefault(each.sample, []).append(min(1.0, max(0.0, value)))
    if not values:
        raise ConfigError("--prior-results: these runs asked none of the samples of this one")
    means = {
        condition: {name: sum(each) / len(each) for name, each in scores.items()}
        for condition, scores in values.items()
    }
    return PriorResults(means, tuple(sources))


def _model_name(model: str) -> str:
    """Without the server and the way to it."""
    return split_address(model)[0].partition("/")[2] or model


def in_words(result: SequentialResult) -> str:
    """What the test says of a contrast, for a line of progress."""
    estimate = result.estimate
    figures = (
        f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"
        if estimate.value is not None
        else "no pair"
    )
    return f"{result.decision} after {result.looked} of {result.planned} samples, {figures}"
