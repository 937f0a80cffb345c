"""A study: conditions of runs over the same samples, with notes on all other differences.

An observation is one episode reduced to what comparisons need, without its messages.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from pydantic import BaseModel

from agent_env.analysis.provenance import Provenance, Provenances
from agent_env.analysis.totals import Totals, episode_cost, totals
from agent_env.errors import ConfigError, suggestion
from agent_env.models.addresses import served_name, short_names
from agent_env.models.server_facts import is_listed
from agent_env.records.manifest import Manifest
from agent_env.records.schema import Condition, Episode, ModelFacts, Sample, Score
from agent_env.scoring.calls_in_text import answer_with_call
from agent_env.tasks.conditions import world_of
from agent_env.tasks.shortcut_scores import answered_by
from agent_env.tasks.shortcuts import Shortcut
from agent_env.tasks.task import AnalysisHooks, Task

MARK = " (!)"
"""Behind the name of a condition that cannot mean what its name says."""
ORACLE = "sees gold"
"""The run's name of a shortcut that sees the gold."""
TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
RARE = ("cached_tokens", "reasoning_tokens")
"""Parts of the other tokens, which some servers tell."""
QUANTITIES = (*TOKENS, "cost_usd", "steps", "tool_calls", "duration_s")
"""What an episode used, in the order of the tables; None is unknown."""


@dataclass(frozen=True, slots=True)
class Observation:
    sample: str
    repeat: int
    outcome: str
    """`read`, `unreadable` (scores 0); `failed`, `unfinished`, `scorer_failed` (score nothing)."""
    metrics: Mapping[str, float]
    used: Mapping[str, float | None]
    """By QUANTITIES."""
    episode: Episode | None = None
    """Without messages and pages; None of the log of another tool."""
    call_in_text: str | None = None
    """The form of a tool call in the answer's text that nobody read."""
    provenance: Provenance | None = None
    """Where its answer came from; None for a shortcut, and for the log of another tool."""
    trouble: str | None = None
    """Why the episode, or its scorer, failed."""
    failed_metrics: Mapping[str, str] = field(default_factory=dict)
    """By plugged-in metric, the error that it raised."""

    @property
    def counts(self) -> bool:
        """Whether the episode came to an end without failing, and so enters the means."""
        return self.outcome in ("read", "unreadable")


def observe(episode: Episode, score: Score, facts: ModelFacts | None = None) -> Observation:
    """The observation of one scored episode at these prices; what it does not tell is None."""
    return Observation(
        sample=episode.sample,
        repeat=episode.repeat,
        outcome=score.outcome,
        metrics=score.metrics,
        used={
            **{name: getattr(episode, name) for name in QUANTITIES if name != "cost_usd"},
            "cost_usd": episode_cost(episode, facts),
        },
        episode=episode.model_copy(update={"messages": (), "pages": ()}),
        call_in_text=answer_with_call(episode),
        trouble=score.rule if score.outcome == "scorer_failed" else episode.failure,
        failed_metrics=score.failed_metrics,
    )


@dataclass(frozen=True, slots=True)
class RunData:
    name: str
    manifest: Manifest
    samples: Mapping[str, Sample]
    """By id."""
    observations: Mapping[str, tuple[Observation, ...]]
    """By condition name."""
    broken: int = 0
    """Traces that could not be read."""
    spent: Mapping[str, Totals] = field(default_factory=dict)
    """By condition name: what it used in all."""
    is_log: bool = False
    """Whether it is the log of another tool, which has one condition and is called by its name."""

    @classmethod
    def of(
        cls,
        name: str,
        manifest: Manifest,
        samples: Sequence[Sample],
        scored: Iterable[tuple[Episode, Score]],
        facts: ModelFacts | None,
        task: Task | None = None,
    ) -> Self:
        """A run as a study needs it, with its prices, and provenances by its task."""
        by_id = {sample.id: sample for sample in samples}
        observed: dict[str, list[Observation]] = defaultdict(list)
        has_days = manifest.web in ("live", "record", "frozen")  # the pages that bear dates
        as_of = manifest.web_settings.as_of
        days = {c.name: as_of or (c.today if has_days else None) for c in manifest.conditions}
        records = Provenances(task, manifest.conditions, days=days)
        for episode, score in scored:
            sample = by_id[episode.sample].in_world(world_of(episode.condition))
            observed[episode.condition].append(observe(episode, score, facts))
            records.add(sample, episode, score)
        spending = {
            condition: totals([o.episode for o in observed[condition] if o.episode], facts)
            for condition in dict.fromkeys((*(c.name for c in manifest.conditions), *observed))
        }
        by_key = records.by_episode()
        observations = {
            name: tuple(
                replace(each, provenance=by_key.get((name, each.sample, each.repeat)))
                for each in group
            )
            for name, group in observed.items()
        }
        is_log = manifest.imported is not None
        return cls(name, manifest, by_id, observations, spent=spending, is_log=is_log)


@dataclass(frozen=True, slots=True)
class Arm:
    label: str
    """Unique in its study."""
    run: str
    model: str
    condition: Condition
    observations: tuple[Observation, ...]
    asked: int
    """Episodes that the run asks for over the samples compared, of a run that may stop early those
    that it began; some may have failed."""
    problem: str | None = None
    """Why the condition cannot mean anything; its label bears a mark then."""
    spent: Totals | None = None
    """What the condition used in all, over every sample of the run and failed episodes too."""
    in_text: bool = False
    """Whether its tools were offered by the text protocol."""
    prompt: str = ""
    """The run's."""
    model_label: str = ""
    """The short name of its model, of its run where models do not tell the runs apart; what its
    label begins with where there are several runs."""
    is_script: bool = False
    """Whether a script of ours answered, and no model."""
    note: str = ""
    """Of a shortcut: on how many samples it failed, and why."""

    @property
    def name_in_run(self) -> str:
        """Its condition; of a log, which has one, the log's name."""
        return self.run if self.is_log else self.condition.name

    @property
    def is_log(self) -> bool:
        """Whether it stands for a whole log of another tool."""
        return self.label == self.run

    @property
    def gives_away(self) -> bool:
        """Whether the wording tells part of the answer, or the condition cannot mean anything."""
        return self.condition.wording != "implicit" or self.problem is not None

    @property
    def finished(self) -> list[Observation]:
        return [each for each in self.observations if each.counts]

    @property
    def episodes(self) -> list[Episode]:
        """The finished ones; none of the log of another tool."""
        return [each.episode for each in self.finished if each.episode is not None]

    @property
    def outcomes(self) -> Counter[str]:
        """How many episodes came to each outcome."""
        return Counter(each.outcome for each in self.observations)

    @property
    def missing(self) -> int:
        """Episodes without a trace."""
        return max(0, self.asked - len(self.observations))


Shortcuts = Callable[[Sequence[Sample]], tuple[Arm, ...]]


def no_shortcuts(samples: Sequence[Sample]) -> tuple[Arm, ...]:
    """For a task without shortcuts."""
    return ()


NAMED = 5
"""Samples that a remark names."""


@dataclass(frozen=True, slots=True)
class Study:
    task: str
    metrics: tuple[str, ...]
    """The main one first."""
    arms: tuple[Arm, ...]
    samples: tuple[Sample, ...]
    """Those that every run asked, in the order of the first."""
    notes: tuple[str, ...]
    """What a reader must know: samples left out, runs that differ."""
    error_metrics: frozenset[str] = frozenset()
    """Metrics of which less is better; see tasks.task."""
    hooks: AnalysisHooks = AnalysisHooks()
    """Of the family."""
    shortcuts: Shortcuts = no_shortcuts
    """Makes the arms of the family's shortcuts over samples."""

    @classmethod
    def of(cls, runs: Sequence[RunData], task: Task, strict: bool = False) -> Study:
        """The study of runs of one task."""
        return assemble(
            runs, task.metrics, strict, task.error_metrics, task.analysis, shortcuts_of(task)
        )

    def arm(self, label: str) -> Arm:
        """The arm of this label; ConfigError lists the known ones."""
        for arm in self.arms:
            if arm.label in (label, label + MARK):
                return arm
        hint = suggestion(label, [arm.label for arm in self.arms])
        raise ConfigError(f"no condition '{label}'; {hint}")


def assemble(
    runs: Sequence[RunData],
    metrics: tuple[str, ...],
    strict: bool = False,
    error_metrics: frozenset[str] = frozenset(),
    hooks: AnalysisHooks = AnalysisHooks(),
    shortcuts: Shortcuts = no_shortcuts,
) -> Study:
    """All conditions of all runs over the samples that they share.

    With `strict`, runs over different samples are refused instead of cut to what they share.
    """
    tasks = sorted({run.manifest.task for run in runs})
    if len(tasks) > 1:
        raise ConfigError(f"runs of different tasks cannot be compared: {', '.join(tasks)}")
    common, notes = _common(runs, strict)
    sample_ids = {sample.id for sample in common}
    # by run: the short name of its model where that tells runs apart, else the run's name
    names = [run.name for run in runs]
    if len(set(names)) < len(names):
        raise ConfigError(f"a run is named twice: {', '.join(names)}")
    models = short_names(run.manifest.model for run in runs)
    in_study = any(run.manifest.study is not None for run in runs)  # which names its models
    by_model = len(models) == len(runs) and not (in_study and len(runs) > 1)
    labels = {run.name: models[run.manifest.model] if by_model else run.name for run in runs}
    arms = tuple(
        _arm(run, condition, labels[run.name], len(runs) > 1, sample_ids)
        for run in runs
        for condition in run.manifest.conditions
    )
    remarks = (
        *notes,
        *(f"{a.label}: cannot mean anything: {a.problem}." for a in arms if a.problem is not None),
        *_served(runs), *_differences(runs), *_gaps(arms),
        *(f"{run.name}: {run.broken} traces could not be read and are missing."
          for run in runs if run.broken),
        *(f"{run.name}: {each}" for run in runs for each in left_out(run.manifest)),
    )  # fmt: skip
    if all(run.is_log for run in runs):
        remarks = (*remarks, *_scales(arms, metrics))
    return Study(tasks[0], metrics, arms, common, remarks, error_metrics, hooks, shortcuts)


def shortcuts_of(task: Task) -> Shortcuts:
    """Makes an arm of each of the task's shortcuts; they answer when a table needs them."""

    def arm(shortcut: Shortcut, samples: Sequence[Sample]) -> Arm:
        errors: list[tuple[str, Exception]] = []
        scored = answered_by(
            task, shortcut, samples, lambda sample, exc: errors.append((sample.id, exc))
        )
        note = ""
        if errors:
            name, first = errors[0]
            note = (
                f"failed on {len(errors)} of {len(samples)} samples, which it does not count "
                f"({name}: {type(first).__name__}: {first})"
            )
        return Arm(
            label=f"{Shortcut.ROW}{shortcut.name}",
            run=ORACLE if shortcut.sees_gold else Shortcut.CONDITION,
            model=shortcut.rule,
            condition=Condition(name=Shortcut.CONDITION),
            observations=tuple(observe(episode, score) for _, episode, score in scored),
            asked=len(samples),
            note=note,
        )

    return lambda samples: tuple(arm(shortcut, samples) for shortcut in task.shortcuts)


def _scales(arms: Sequence[Arm], metrics: Sequence[str]) -> Iterator[str]:
    """Where a score of one name may mean different things: logs of other tools do not tell."""
    for metric in metrics:
        scores = {
            arm.label: [o.metrics[metric] for o in arm.observations if metric in o.metrics]
            for arm in arms
        }
        tops = {label: max(map(abs, values)) for label, values in scores.items() if values}
        kinds = {_kind(scores[each]) for each in tops} - {None}
        if (tops and max(tops.values()) > 10 * max(1, min(tops.values()))) or len(kinds) > 1:
            ranges = ", ".join(
                f"{min(scores[each]):g} to {max(scores[each]):g} in {each}" for each in tops
            )
            yield f"{metric} may not mean the same in all logs: {ranges}."


def _kind(values: Sequence[float]) -> str | None:
    if all(value in (0, 1) for value in values):
        return "yes or no"
    return "share" if all(0 < value < 1 for value in values) else None


def _arm(
    run: RunData, condition: Condition, model: str, is_one_of_several: bool, sample_ids: set[str]
) -> Arm:
    """The condition alone is the label of an arm of one run, of a log its name."""
    name = with_mark(condition.name, run.manifest.problems)
    every = run.observations.get(condition.name, ())
    observations = tuple(each for each in every if each.sample in sample_ids)
    return Arm(
        label=run.name if run.is_log else f"{model} {name}" if is_one_of_several else name,
        problem=run.manifest.problems.get(condition.name),
        in_text=run.manifest.is_in_text,
        run=run.name,
        model=run.manifest.model,
        condition=condition,
        observations=observations,
        asked=len(sample_ids) * run.manifest.repeats,
        spent=run.spent.get(condition.name),
        prompt=run.manifest.prompt,
        model_label=model,
        is_script=run.manifest.is_script,
    )


def _common(runs: Sequence[RunData], strict: bool) -> tuple[tuple[Sample, ...], list[str]]:
    """Samples of the same id and content in every run, and what was left out."""
    digests = [{name: _digest(sample) for name, sample in run.samples.items()} for run in runs]
    everywhere = set.intersection(*(set(p) for p in digests))
    changed = {name for name in everywhere if len({p[name] for p in digests}) > 1}
    union = set.union(*(set(p) for p in digests))
    shared = everywhere - changed
    notes = []
    if unshared := union - everywhere:
        sizes = ", ".join(f"{run.name} {len(run.samples)}" for run in runs)
        notes.append(
            f"The runs asked different samples ({sizes}): compared over the {len(shared)} that all "
            f"have, {len(unshared)} left out."
        )
    if changed:
        notes.append(
            f"{len(changed)} samples have the same id but different content in the runs; left out."
        )
    if notes and strict:
        raise ConfigError(" ".join(notes))
    if not shared:
        ids = "; ".join(f"{run.name} has {next(iter(run.samples), 'none')}, …" for run in runs)
        raise ConfigError(f"the runs have no sample in common, so nothing can be paired: {ids}")
    return tuple(s for name, s in runs[0].samples.items() if name in shared), notes


def left_out(manifest: Manifest) -> Iterator[str]:
    """The samples that a run left out, by reason, as a web ablation could not ask them."""
    for reason, number in Counter(manifest.left_out.values()).items():
        names = [name for name, why in manifest.left_out.items() if why == reason]
        yield (
            f"{number} {'sample was' if number == 1 else 'samples were'} left out of all "
            f"conditions, as {reason}: "
            f"{', '.join(names[:NAMED])}{', …' if len(names) > NAMED else ''}."
        )


def _digest(sample: Sample) -> str:
    """Of the sample without what ablations and attacks change, or its `identity`."""
    content = getattr(sample, "identity", None)
    if content is None:
        content = sample.model_dump_json(exclude={"ablation", "attacks"})
    return hashlib.sha256(content.encode()).hexdigest()


_COMPARED = {
    "prompt": "prompts",
    "options": "task options",
    "scorer": "scorers",
    "metrics": "metrics of their own",
    "limits": "limits",
    "web": "webs",
    "web_settings": "web settings",
    "contexts": "cited pages",
    "sandbox": "sandboxes",
    "tokenizer": "tokenizers",
    "model_parameters": "model parameters",
    "repeats": "numbers of repeats",
}


def _differences(runs: Sequence[RunData]) -> Iterable[str]:
    """What of the manifests is not the same in all runs."""
    for name, words in _COMPARED.items():
        texts = _setting_texts(
            {
                run.name: _plain(getattr(run.manifest, name))
                for run in runs
                if getattr(run.manifest, _USED_WITH.get(name, "task")) is not None
            }
        )
        if len(set(texts.values())) > 1:
            yield f"The runs have different {words}: " + _join(texts) + "."
    for package in sorted({name for run in runs for name in run.manifest.versions}):
        texts = {run.name: run.manifest.versions.get(package, "unknown") for run in runs}
        if len(set(texts.values())) > 1:
            yield f"The runs were made with different versions of {package}: {_join(texts)}."
    conditions = {run.name: {c.name for c in run.manifest.conditions} for run in runs}
    every = {c.name: c.disturbance for run in runs for c in run.manifest.conditions}
    for name, names in conditions.items():
        missing = sorted(every.keys() - names)
        if plain := [each for each in missing if every[each] is None]:
            yield f"{name} has no condition {', '.join(plain)}; it is compared without."
        if disturbed := [each for each in missing if every[each] is not None]:
            yield (
                f"{name} has no disturbed condition {', '.join(disturbed)}: it is compared with "
                f"the plain condition of its own run, and that one with the same of {name}."
            )


_USED_WITH = {"web": "web", "web_settings": "web", "sandbox": "sandbox"}
"""A run without a web condition has no other web than the rest, but none."""


def _plain(value: Any) -> Any:
    """A setting as JSON has it; cited pages as their digests by name."""
    if isinstance(value, tuple) and not all(isinstance(each, str) for each in value):
        return {each.name: each.digest[:12] for each in value}
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def _setting_texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Each run's setting in words; of settings with several fields those that differ."""
    if not all(isinstance(value, dict) for value in values.values()):
        return {run: str(value) for run, value in values.items()}
    names = dict.fromkeys(name for value in values.values() for name in value)
    differ = [n for n in names if len({repr(value.get(n)) for value in values.values()}) > 1]
    return {
        run: " ".join(f"{n}={value.get(n)}" for n in differ) or "the same"
        for run, value in values.items()
    }


def _join(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in texts.items())


def _served(runs: Sequence[RunData]) -> Iterable[str]:
    """Where a server names other models than the one asked for, or several, or does not repeat
    its replies."""
    for run in runs:
        every = (o.episode for group in run.observations.values() for o in group)
        names = (episode.served_models for episode in every if episode is not None)
        notice = served_notice(run.manifest, names)
        if notice is not None:
            yield f"{run.name}: {notice}."
        if run.manifest.repeats == 1 and any(
            each.repeats_replies is False for each in run.manifest.preflights
        ):
            yield (
                f"{run.name}: the server gives equal requests unequal replies, and each question "
                "was asked once: a question may change its answer without a change of condition "
                "(--repeats)."
            )


def served_notice(manifest: Manifest, served_models: Iterable[tuple[str, ...]]) -> str | None:
    """What to say where the server's names for the model change, or are not the preflight's;
    `served_models` has those of each episode. None where there is nothing to say."""
    counts = Counter(name for names in served_models for name in names)
    before = [p.served_model for p in manifest.preflights if p.served_model is not None]
    if len(counts) > 1 or (before and counts and not counts.keys() <= set(before)):
        counts_text = ", ".join(f"{name} in {n} episodes" for name, n in counts.most_common())
        first = f"; the preflight saw {before[-1]}" if before else ""
        return f"the server changed its model: answered by {counts_text}{first}"
    expected = served_name(manifest.model)
    if before and not is_listed(expected, before):
        return f"asked for {expected}, answered by {before[-1]}"
    return None


def _gaps(arms: Sequence[Arm]) -> Iterable[str]:
    for arm in arms:
        counts = arm.outcomes
        counts["never begun"] = arm.missing
        kinds = ("failed", "unfinished", "never begun")
        if gaps := [f"{counts[kind]} {kind}" for kind in kinds if counts[kind]]:
            yield f"{arm.label}: of {arm.asked} episodes {', '.join(gaps)}. They are in no mean."
        if unscored := counts["scorer_failed"]:
            yield f"{arm.label}: the scorer failed on {unscored} episodes, which are in no figure."
    yield from metric_failures(arms)


def metric_failures(arms: Sequence[Arm]) -> Iterator[str]:
    """How often a plugged-in metric raised which error."""
    for arm in arms:
        errors = Counter(each for o in arm.observations for each in o.failed_metrics.items())
        for (name, text), n in errors.items():
            yield f"{arm.label}: the metric {name} failed on {n} episodes, in no mean of it: {text}"


def with_mark(name: str, problems: Mapping[str, str]) -> str:
    """The condition's name, with a mark where it cannot mean what it says."""
    return name + MARK if name in problems else name
