"""Scores of a run from its traces, with costs and lookups."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import AgentEnvError, DatasetError, StorageError
from agent_env.models.addresses import short_name
from agent_env.records.trace_events import EpisodeStarted, Event
from agent_env.registry import NO_OBJECTS, Objects

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.analysis.summary import AfterCutoff
    from agent_env.episodes.results import Rescoring
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Episode, ModelFacts, Sample, Score
    from agent_env.runs.run import Run
    from agent_env.runs.scores.assessment import Assessment


def score_folder(run: Run, note: Callable[[str], None]) -> list[tuple[Episode, Score]]:
    """Scores a run from its traces alone and keeps it; `note` reports what cannot be."""
    from agent_env.episodes.results import keep_version, score_run, version_of

    scored = score_run(run, run.task, lambda reason: note(f"left out: {reason}"))
    try:
        run.write_scores([score for _, score in scored])
        keep_version(run, version_of(run.task.scorer))
    except StorageError as exc:
        note(f"{exc}; the traces are safe, agent-env show {run.path} makes it again")
    return scored


def facts_of(
    manifest: Manifest, prices: Path | None, note: Callable[[str], None]
) -> ModelFacts | None:
    """The facts of the run's model, from the table, else from the run."""
    from agent_env.episodes.calls.options import model_facts

    return manifest.model_facts if prices is None else model_facts(prices, manifest.model, note)


SENTENCES = 4
"""Conclusions that are before the tables."""


@dataclass(frozen=True, slots=True)
class RunScores:
    """The result of `show`: a study of one run."""

    folder: Run
    manifest: Manifest
    comparison: Comparison
    digest: str
    """Of what was said and done; see `digest_of`."""
    rescored: Rescoring
    late: AfterCutoff | None
    facts: ModelFacts | None
    has_recorded_scores: bool = False
    """Whether they are those that the run kept, as its scorer is gone."""

    @property
    def has_no_result(self) -> bool:
        """Whether a condition has episodes, but none that is finished and scored, or that waits
        for a judge."""
        kinds = {"read", "unreadable", *(["scorer_failed"] if self.folder.task.is_judged else [])}
        arms = self.comparison.study.arms
        return any(arm.observations and not kinds & arm.outcomes.keys() for arm in arms)

    @property
    def title(self) -> str:
        manifest = self.manifest
        level = "" if manifest.tier is None else f" ({manifest.tier.name})"
        who = f"{short_name(manifest.model)}{' (a script)' * manifest.is_script}"
        return f"{manifest.task}{level} · {who} · {self.folder.path}"

    @property
    def _path(self) -> str:
        return shlex.quote(str(self.folder.path))

    def sentences(self) -> ResultTable:
        """The first conclusions, and how many there are further; no rows where there is nothing to
        conclude."""
        from agent_env.analysis.statistics.conclusions import in_words

        words = in_words(self.comparison)
        more = len(words.rows) - SENTENCES
        noun = "conclusion" if more == 1 else "conclusions"
        notes = (f"{more} more {noun}: agent-env compare {self._path}",) if more > 0 else ()
        return replace(words, title=self.title, rows=words.rows[:SENTENCES], notes=notes)

    def next_steps(self) -> list[str]:
        """Commands that say more; one that goes on first, where episodes are missing or failed."""
        path = self._path
        arms = self.comparison.study.arms
        is_done = not never_began(self.folder, self.manifest) and all(
            each.counts for arm in arms for each in arm.observations
        )
        steps = [] if is_done or self.manifest.imported else [f"resume {path}"]
        steps += [f"compare {path} (--all: every test)"] * (len(arms) > 1)
        return [*steps, f"show {path} --why"]

    def tables(self) -> list[ResultTable]:
        from agent_env.analysis.statistics.results import conditions_table

        notes = [f"{name}: up to {most} tries at a sample, where the run asks {asked}"
                 for name, (most, asked) in tries(self.folder, self.manifest).items()]  # fmt: skip
        return [conditions_table(self.comparison, self.title, notes), *self._statistics()]

    def screen(self) -> list[ResultTable]:
        """What is printed: the first conclusions, the scores, and what `compare` has not; of a
        single condition all tables."""
        words, (summary, *others) = self.sentences(), self.tables()
        if len(self.comparison.study.arms) > 1:
            others = self._statistics("alone")
        if not words.rows:
            return [summary, *others]
        return [words, replace(summary, title="Scores by condition"), *others]

    def _statistics(self, kind: bool | str = True) -> list[ResultTable]:
        from agent_env.analysis.statistics import statistics_of, tables_of

        shown = [s for s in statistics_of(self.comparison) if s.in_score in (kind, "alone")]
        return tables_of(self.comparison, shown)

    def as_json(self, with_changes: bool) -> dict[str, object]:
        from agent_env.analysis.result_tables import as_objects
        from agent_env.analysis.summary import summarise
        from agent_env.analysis.tools_check import tools_checks
        from agent_env.analysis.totals import sum_known

        missing = never_began(self.folder, self.manifest)
        usages = [probe.usage for each in self.manifest.preflights for probe in each.probes]
        fields: dict[str, object] = {
            "run": str(self.folder.path),
            "digest": self.digest,
            "conditions": summarise(self.comparison),
            "never_began": {name: number for name, (number, _) in missing.items()},
            "tries": {name: most for name, (most, _) in tries(self.folder, self.manifest).items()},
            "after_cutoff": asdict(self.late) | {"count": len(self.late.samples)}
            if self.late
            else None,
            "tools_check": {
                row.condition: asdict(row) for _, row in tools_checks(self.comparison.study.arms)
            },
            "preflight": {
                "calls": len(usages),
                "input_tokens": sum_known([usage.input_tokens for usage in usages]),
                "output_tokens": sum_known([usage.output_tokens for usage in usages]),
                "cost_usd": sum_known([usage.cost_usd(self.facts) for usage in usages]),
            },
            "served_models": self._served(),
            "tables": as_objects(self._statistics()),
        }
        return fields | {"rescored": self.rescored.as_json()} if with_changes else fields

    def remarks(self) -> Iterator[str]:
        """Notes beside the tables: reasons of failures, another model, samples after the cutoff."""
        from agent_env.analysis.study import metric_failures

        observations = [o for arm in self.comparison.study.arms for o in arm.observations]
        unscored = Counter(o.trouble for o in observations if o.outcome == "scorer_failed")
        reasons = Counter(
            o.trouble for o in observations if o.trouble and o.outcome != "scorer_failed"
        )
        for reason, number in reasons.most_common(3):
            yield f"failed {number} times: {' '.join((reason or '').split())}"
        if (source := self.manifest.imported) is not None:
            yield f"scores are those of {source.file} ({source.tool}); nothing was scored here"
        elif reasons:
            yield "agent-env resume runs the failed episodes again."
        for rule, number in unscored.most_common(3):
            yield f"not scored {number} times, in no mean: {rule}"
        yield from metric_failures(self.comparison.study.arms)
        if self.has_recorded_scores:
            yield (
                f"the function {self.manifest.scorer} is not here, so these are the scores that "
                "the run kept; agent_env.open(PATH, scorer=…) scores anew"
            )
        if (served := self._served()) is not None:
            yield served
        if self.late is not None and self.late.samples:
            yield (
                f"{len(self.late.samples)} of {self.late.asked} samples ask for an event after the "
                f"model's knowledge cutoff, {self.late.knowledge_cutoff}; agent-env show --json "
                "lists them"
            )

    def _served(self) -> str | None:
        from agent_env.analysis.study import served_notice

        every = (o.episode for arm in self.comparison.study.arms for o in arm.observations)
        return served_notice(self.manifest, (each.served_models for each in every if each))


OF_CIRCUMSTANCES = {
    "duration_s", "failed_calls", "uncounted_calls", "cache_hits", "cached_tokens", "paid",
    "charged", "served_models", "judged",
}  # fmt: skip
"""What an episode tells of clocks, machines and money; and verdicts, which may come later."""


def digest_of(manifest: Manifest, episodes: Iterable[Episode]) -> str:
    """SHA-256 of a run's samples, conditions and these episodes, whatever their order: all that
    was said and done, without times, run ids, retries and money. A run that was resumed has the
    digest of one in a single piece, if the model says the same."""
    from agent_env.episodes.run_folder import digest

    rows = [manifest.samples_digest, *(each.model_dump_json() for each in manifest.conditions)]
    rows += sorted(each.model_dump_json(exclude=OF_CIRCUMSTANCES) for each in episodes)
    return digest("\n".join(rows).encode("utf-8", "surrogatepass"))


def read_scores(
    run: Run, prices: Path | None, note: Callable[[str], None], keep: bool = True
) -> RunScores:
    """Scores a run from its traces alone, at its prices or these; writes them to be kept."""
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.study import RunData, Study
    from agent_env.analysis.summary import after_cutoff
    from agent_env.episodes.contexts import describe_use
    from agent_env.episodes.results import against, earlier_scores

    earlier = earlier_scores(run)
    task, manifest = run.task, run.manifest
    keep = keep and not run.has_recorded_scores
    scored = score_folder(run, note) if keep else list(run.scored(note))
    facts = facts_of(manifest, prices, note)
    for use in manifest.contexts:
        note(describe_use(use))
    data = RunData.of(run.path.name, manifest, run.samples, scored, facts, task)
    return RunScores(
        folder=run,
        manifest=manifest,
        comparison=Comparison(Study.of([data], task)),
        digest=digest_of(manifest, (episode for episode, _ in scored)),
        rescored=against(earlier, [score for _, score in scored], task.scorer),
        late=after_cutoff(run.samples, task.analysis.event_date, facts),
        facts=facts,
        has_recorded_scores=run.has_recorded_scores,
    )


def episode_text(trace: Path, full: bool = False, objects: Objects = NO_OBJECTS) -> Iterator[str]:
    """An episode readably, in parts; long texts cut unless `full`."""
    from agent_env.analysis.transcript import transcript, verdict_lines
    from agent_env.episodes.trace.lines import read_trace

    events = read_trace(trace)
    if not events:
        raise DatasetError(trace, None, "holds no event")
    manifest, sample, verdict = _context_of(trace, events, objects)
    facts = manifest.model_facts if manifest else None
    parameters = manifest.model_parameters if manifest else None
    yield from transcript(events, full, facts, parameters)
    yield "\n".join(verdict_lines(sample, verdict.score, verdict.provenance, verdict.why_not))


def _context_of(
    trace: Path, events: list[Event], objects: Objects
) -> tuple[Manifest | None, Sample | None, Assessment]:
    """The manifest, sample and assessment of a trace; the last names what is missing."""
    from agent_env.runs.run import Run
    from agent_env.runs.scores.assessment import Assessment, assess

    path = trace.absolute().parent.parent.parent
    if not (path / "run.json").exists():
        why = f"run.json is not beside: {path} is not a run's folder"
        return None, None, Assessment(None, None, why)
    run = Run(path, objects)
    try:
        manifest = run.manifest
    except AgentEnvError as exc:
        return None, None, Assessment(None, None, str(exc))
    if not isinstance(events[0], EpisodeStarted):
        return manifest, None, Assessment(None, None, "the trace has no beginning")
    verdict = assess(run, events)
    sample = run.sample(events[0].sample) if verdict.score else None
    asked = sample and sample.in_world(events[0].condition.world)
    return manifest, asked, verdict


def never_began(folder: RunFolder, manifest: Manifest) -> dict[str, tuple[int, int]]:
    """Numbers of missing and of planned episodes, by condition with missing ones."""
    planned = manifest.samples * manifest.repeats
    started = Counter(trace.parent.name for trace in folder.traces())
    lacking = {c.name: planned - started[c.name] for c in manifest.conditions}
    return {name: (number, planned) for name, number in lacking.items() if number > 0}


def tries(folder: RunFolder, manifest: Manifest) -> dict[str, tuple[int, int]]:
    """The most episodes of one sample, and what the run asks, where agents began more."""
    begun = Counter((trace.parent.name, trace.stem.rpartition(".")[0]) for trace in folder.traces())
    most: dict[str, tuple[int, int]] = {}
    for (condition, _), number in begun.items():
        if number > max(manifest.repeats, most.get(condition, (0, 0))[0]):
            most[condition] = number, manifest.repeats
    return most
