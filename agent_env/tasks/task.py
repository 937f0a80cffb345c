"""A task as data: prompt, scorer, metrics, strategies, and hooks for the analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from random import Random
from typing import Protocol

from agent_env.errors import ConfigError, error_text
from agent_env.protocols import Limits, Scorer, Strategy
from agent_env.records.disturbance import ChangedPage, ShiftedWorld
from agent_env.records.schema import Condition, Episode, Message, Sample, Score
from agent_env.tasks.answer_forms import AnswerForm, FormOf
from agent_env.tasks.conditions import world_of
from agent_env.tasks.faults import Faults
from agent_env.tasks.features import features
from agent_env.tasks.moving import CannotShift as CannotShift
from agent_env.tasks.moving import OnDay, with_today
from agent_env.tasks.shortcuts import Shortcut

ORIGINAL = "original"
"""Metric of episodes in a shifted world: whether the answer is right in the plain one."""
UNSURE = "unsure"
"""Metric of tasks whose answers may say that the model does not know: 1 where one does."""


class FaultFinder(Protocol):
    """Finds the constraints that an answer violates."""

    def __call__(self, sample: Sample, answer: tuple[str, ...]) -> Faults: ...


def _no_groups(sample: Sample) -> Mapping[str, tuple[str, ...]]:
    return {}


def _no_chance(sample: Sample) -> float | None:
    return None


def _event_date(sample: Sample) -> str | None:
    date = getattr(sample, "end", None) or getattr(sample, "start", None)
    return date if isinstance(date, str) and date else None


def _no_cluster(sample: Sample) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class AnalysisHooks:
    """What the analysis needs from a family; the defaults fit any."""

    groups: Callable[[Sample], Mapping[str, tuple[str, ...]]] = _no_groups
    """Groups for breakdowns, by name; a sample may have several values of one name."""
    cluster: Callable[[Sample], str] = _no_cluster
    """The cluster of a sample, resampled as a whole; "" for none."""
    shared: str = ""
    """What the samples of a cluster share, as a noun."""
    fault_finder: Callable[[], FaultFinder] | None = None
    """Makes the finder, which may load tables; None for a family without one."""
    statistics: tuple[str, ...] = ()
    """The family's own: MODULE:NAME each of an `analysis.statistics.Statistic` or several."""
    chance: Callable[[Sample], float | None] = _no_chance
    """How often a guess among the possible values answers a sample right; None where unknown."""
    event_date: Callable[[Sample], str | None] = _event_date
    """YYYY, YYYY-MM or YYYY-MM-DD: when what a sample asks about ended or began; None where that is
    unknown."""
    states_evidence: Callable[[Sample, Condition], bool | None] | None = None
    """Whether the prompt itself holds all that answers the sample; None: that is not known."""
    proving_texts: Callable[[Sample], tuple[str, ...] | None] | None = None
    """What of the sample's tables proves the gold: names, dates and clock times that a tool must
    show, () where an empty result does; None without tables."""


@dataclass(frozen=True, slots=True)
class Example:
    """A worked example before the sample's question."""

    fields: Mapping[str, str]
    """The placeholders' texts."""
    answer: str
    """The assistant's answer."""


Prompt = Callable[[Sample, Condition], tuple[Message, ...]]
"""The first messages for a sample under a condition."""


@dataclass(frozen=True, slots=True)
class StrategyParts:
    """What a StrategyMaker gets."""

    prompt: Prompt
    condition: Condition
    examples: Prompt | None = None
    """Worked examples as turns of user and assistant; None for a family without any."""


TextAt = Callable[[str], str | None]
"""The text that the run's web has at an address; None without a page."""
Shift = Callable[[Sample, Random, TextAt], ShiftedWorld]
"""The sample's shifted world, drawn at random; raises CannotShift."""
Retell = Callable[[Sample, int, TextAt, Callable[[str], str]], tuple[ChangedPage, ...]]
"""The web's pages where what this constraint rests on is changed by a function, of ISO dates where
the answers are dates, else of answers; raises CannotShift where they are of no such tables."""


StrategyMaker = Callable[[StrategyParts], Strategy | None]
"""None for a strategy that changes the prompt only: the tool loop runs it. Raises ConfigError for
parts that the strategy cannot use."""


@dataclass(frozen=True, slots=True)
class PublishedScorer:
    """A scorer by the rules that a paper's authors published."""

    scorer: Scorer
    metrics: tuple[str, ...]
    """Names of its metrics, the main one first; those of the task's own have the same names."""


@dataclass(frozen=True, slots=True)
class Task:
    """Prompt, scorer and limits of a question family."""

    name: str
    sample_type: type[Sample]
    prompt: Prompt
    scorer: Scorer
    metrics: tuple[str, ...]
    """Names of the scorer's metrics, the main one first."""
    default_conditions: tuple[str, ...]
    authors_scorer: Callable[[], PublishedScorer] | None = None
    """Gives the scorer that the paper's authors published; None where none is known."""
    ceiling_metric: str | None = None
    """The metric that is 1 for a perfect answer, if the main one may be lower."""
    error_metrics: frozenset[str] = frozenset()
    """Those of `metrics` that measure an error: lower is better, unbounded, absent from a score
    where undefined."""
    limits: Limits = Limits()  # noqa: RUF009, frozen
    placeholders: Mapping[str, bool] = field(default_factory=dict)
    """Placeholders of a user's own prompt, and whether each is required."""
    fields: Callable[[Sample, Condition], Mapping[str, str]] | None = None
    """The placeholders' texts; None for a family without user prompts."""
    wording: Callable[[Mapping[str, str]], str] | None = None
    """The question from the placeholders' texts."""
    examples: Callable[[Sample, Condition], tuple[Example, ...]] | None = None
    """Worked examples for few-shot prompts, worded like the question."""
    form: FormOf | None = None
    """The form that a server can hold an answer to; None for a family whose answers have none."""
    setup: Callable[[Sample, Condition], str] | None = None
    """Code that opens the sample's Python session; None for none."""
    shift: Shift | None = None
    """None for a family whose worlds cannot be shifted."""
    retell: Retell | None = None
    """None for a family whose pages are changed as texts."""
    on_day: OnDay | None = None
    """None for a family without questions about the present."""
    needs_day: Callable[[Sample], bool] | None = None
    """Whether a question asks about the present, so that a run has to name its day; None: none
    does. One that states the day itself needs none."""
    off_web: Callable[[Sample], str] = lambda sample: "the answers to these questions"
    """What no page of the shipped web states, of a question that names none; "" where one may."""
    names: Callable[[Sample], Mapping[int, tuple[str, ...]]] = lambda sample: {}
    """What the facts of a sample's proofs are about is called, by constraint: titles of pages that
    may state them."""
    changes: Callable[[Sample], Iterable[date]] | None = None
    """The days on which the answer to such a question may have changed; None: not known."""
    strategies: Mapping[str, StrategyMaker] = field(default_factory=dict)
    """Strategies of this task alone, beside those of every task."""
    shortcuts: tuple[Shortcut, ...] = ()
    """Baselines that are beside every score; see `tasks.shortcuts`."""
    is_judged: bool = False
    """Whether a model's verdicts give the scores, once the run is over."""
    hidden: Mapping[str, object] = field(default_factory=lambda: {"gold": ()})
    """Fields of a sample that give its answer away, and what shortcuts see instead."""
    analysis: AnalysisHooks = AnalysisHooks()
    """Breakdowns, resampling and diagnosis of the results."""

    def score(self, sample: Sample, episode: Episode) -> Score:
        """The episode's score. `sample` is the plain one: that of the episode's
        condition is made here. An error of the scorer becomes a score with the outcome
        `scorer_failed`; only ConfigError is raised, such as for a missing extra."""
        try:
            score = self.scorer(sample.in_world(world_of(episode.condition)), episode)
            if not isinstance(score, Score):  # of a scorer of the user's own
                raise TypeError(f"it gave {type(score).__name__}, not a Score")
            for feature in features():
                if feature.score is not None:
                    score = feature.score(self, sample, episode, score)
            return score
        except ConfigError:
            raise
        except Exception as exc:  # a model's text may cause any error
            return Score(
                sample=episode.sample,
                condition=episode.condition,
                repeat=episode.repeat,
                outcome="scorer_failed",
                rule=f"the scorer raised {error_text(exc)}",
            )

    def prompt_under(self, sample: Sample, condition: Condition) -> tuple[Message, ...]:
        """The first messages for the sample in the condition's world."""
        return with_today(self.prompt(sample.in_world(condition.world), condition), condition)

    def form_under(self, condition: Condition, sample: Sample) -> AnswerForm | None:
        """The form that the server holds the answer to; None where it is free. ConfigError where
        the answer has none."""
        if condition.answer_format == "free":
            return None
        form = None if self.form is None else self.form(sample)
        if form is None:
            raise ConfigError(
                f"condition '{condition.name}': the answer to sample '{sample.id}' of {self.name} "
                "has no form that a server could hold it to; leave --answer-format out"
            )
        return form

    def by_authors(self) -> Task:
        """The same under the rules that the paper's authors published, where these are known."""
        if self.authors_scorer is None:
            return self
        published = self.authors_scorer()
        errors = self.error_metrics & set(published.metrics)
        return replace(
            self, scorer=published.scorer, metrics=published.metrics, error_metrics=errors,
            ceiling_metric=None,
        )  # fmt: skip

    @property
    def right_metric(self) -> str:
        """The metric that is 1 for a right answer."""
        return self.ceiling_metric or self.metrics[0]
