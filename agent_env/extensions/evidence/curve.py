"""`curve`: accuracy against a budget of model calls, by forks that must answer at the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.sdk.errors import ConfigError, EpisodeError
from agent_env.sdk.models import Limits
from agent_env.sdk.records import Usage
from agent_env.sdk.run import ForkPlan, Run

if TYPE_CHECKING:
    from agent_env.extensions.evidence.budget_curve import BudgetCurves, LookupCount
    from agent_env.sdk.records import Condition, Episode, Manifest, Score
    from agent_env.sdk.results import ResultTable
    from agent_env.sdk.run import Beginning, CurveOptions, Listener
    from agent_env.sdk.trace import Recording

FOLDER = "curve"
"""In the run's folder."""


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """What a curve needs to know of an episode before it is forked."""

    trace: Path
    condition: str
    steps: int
    input_tokens: tuple[int | None, ...]
    """Of each call."""
    output_tokens: int | None
    """Of the last call."""


@dataclass(frozen=True, slots=True)
class CurvePlan:
    """The forks of a curve."""

    options: CurveOptions
    failed: int
    """Episodes that did not come to their end; they are in no point."""
    forks: ForkPlan


def plan_curve(source: Run, options: CurveOptions, note: Callable[[str], None]) -> CurvePlan:
    """Reads the run; ConfigError for one that has no curve, and for a budget beyond its limit."""
    manifest, at = source.manifest, tuple(sorted(set(options.budgets)))
    out = options.calls.out or source.place(FOLDER)
    there, limit = source.forks_in(out), _steps_limit(manifest)
    if limit is not None and at[-1] > limit:
        raise ConfigError(
            f"--budgets {at[-1]}: an episode of {source.path} has at most {limit} steps"
        )
    if not any(condition.tools for condition in manifest.conditions):
        raise ConfigError(
            f"{source.path} has no condition with tools: its episodes answer at the first step, "
            "so there is no curve"
        )
    episodes, failed = _recorded_episodes(source, note)
    if not episodes:
        raise ConfigError(
            f"{source.path} has no finished episode; agent-env resume goes on with it"
        )
    forced = {
        (condition.name, budget): condition.model_copy(
            update={
                "name": forced_name(condition.name, budget),
                "first_step": "auto",
                "answer_at": budget,
            }
        )
        for condition in manifest.conditions
        for budget in at
    }
    forks = ForkPlan(
        source=source,
        out=out,
        conditions=(*manifest.conditions, *forced.values()),
        repeats=manifest.repeats,
        beginnings=lambda: _beginnings(source, episodes, at, forced),
        update={"web": None, "sandbox": None, "mcp": ()},
        usages=tuple(_usages(episodes, at, there)),
    )
    return CurvePlan(options, failed, forks)


def _steps_limit(manifest: Manifest) -> int | None:
    steps = manifest.limits.get("steps", Limits().steps)
    return steps if isinstance(steps, int) else None


def _recorded_episodes(
    source: Run, note: Callable[[str], None]
) -> tuple[list[RecordedEpisode], int]:
    from agent_env.sdk.trace import EpisodeFinished

    episodes, failed = list[RecordedEpisode](), 0
    for trace, recording in _recordings(source, note):
        if not isinstance(recording.end, EpisodeFinished):
            failed += 1
            continue
        usages = [step.reply.usage for step in recording.steps]
        episodes.append(
            RecordedEpisode(
                trace=trace,
                condition=recording.start.condition.name,
                steps=len(usages),
                input_tokens=tuple(usage.input_tokens for usage in usages),
                output_tokens=usages[-1].output_tokens if usages else None,
            )
        )
    return episodes, failed


def _recordings(source: Run, note: Callable[[str], None]) -> Iterator[tuple[Path, Recording]]:
    from agent_env.sdk.trace import Recording

    conditions = {condition.name for condition in source.manifest.conditions}
    for trace in source.traces():
        its = source.events(trace)
        problem = its.problem
        try:
            recording = Recording.of(its.events)
            if problem is None and recording.start.condition.name not in conditions:
                problem = f"{trace}: belongs to no condition of the run"
        except EpisodeError as exc:
            problem = problem or str(exc)
        if problem is None:
            yield trace, recording
        else:
            note(f"left out: {problem}")


def _usages(
    episodes: Sequence[RecordedEpisode], at: Sequence[int], there: Run | None
) -> Iterator[Usage | None]:
    """Of each fork that is not finished: the recorded prompt of the same call, and the mean length
    of the condition's answers."""
    from agent_env.sdk.trace import EpisodeKey

    answers: dict[str, list[int]] = {}
    for each in episodes:
        if each.output_tokens is not None:
            answers.setdefault(each.condition, []).append(each.output_tokens)
    for each in episodes:
        for budget in at:
            sample, _, repeat = each.trace.stem.rpartition(".")
            key = EpisodeKey(sample, forced_name(each.condition, budget), int(repeat))
            if each.steps <= budget or (there is not None and there.is_finished(key)):
                continue
            sent, lengths = each.input_tokens[budget - 1], answers.get(each.condition)
            if sent is None or not lengths:
                yield None
            else:
                length = round(sum(lengths) / len(lengths))
                yield Usage(input_tokens=sent, output_tokens=length)


def forced_name(condition: str, budget: int) -> str:
    """The name of the condition whose answer is forced at this reply."""
    return f"{condition}~at{budget}"


def _beginnings(
    source: Run,
    episodes: Sequence[RecordedEpisode],
    at: Sequence[int],
    forced: dict[tuple[str, int], Condition],
) -> Iterator[Beginning]:
    """Of each episode: itself, and for each budget its beginning, or itself if it ended before."""
    from agent_env.sdk.run import Beginning
    from agent_env.sdk.trace import Recording

    own, run = {each.name: each for each in source.manifest.conditions}, source.origin_name
    for each in episodes:
        recording = Recording.read(each.trace)
        repeat = recording.start.repeat
        whole = Beginning.of(run, recording, each.steps, own[each.condition], repeat)
        yield replace(whole, is_whole=True)
        for budget in at:
            is_whole = each.steps <= budget
            kept = each.steps if is_whole else budget - 1
            fork = Beginning.of(run, recording, kept, forced[each.condition, budget], repeat)
            yield replace(fork, is_whole=is_whole)


async def curve(source: Run, options: CurveOptions, listener: Listener) -> CurveResult:
    """Accuracy against budgets of model calls: what is not there is asked."""
    return await ask_and_read(plan_curve(source, options, listener.note), listener)


async def ask_and_read(plan: CurvePlan, listener: Listener) -> CurveResult:
    """Asks the forks that are not there, and reads the curves."""
    listener.note(f"{plan.forks.forecast}; --run-tokens and --run-cost-usd limit it")
    if plan.failed:
        listener.note(f"{plan.failed} episodes did not come to their end and are in no point")
    run = await plan.forks.ask(plan.options.calls, listener)
    return read_curves(run, plan.failed, listener.note)


@dataclass(frozen=True, slots=True)
class CurveResult:
    """The curves of a run, and the look-ups that its episodes did not need."""

    curves: BudgetCurves
    look_ups: tuple[LookupCount, ...]
    """Of the recorded episodes; none where the family has no solver for it."""
    folder: Path
    failed: int
    """Episodes of the run that did not come to their end."""

    def tables(self) -> list[ResultTable]:
        """Points, areas, differences, look-ups."""
        from agent_env.extensions.evidence.budget_curve import needless_table

        tables = self.curves.tables()
        return [*tables, needless_table(self.look_ups)] if self.look_ups else tables

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return {
            "folder": str(self.folder),
            "failed": self.failed,
            **self.curves.as_json(),
            "tables": {table.name: table.as_json() for table in self.tables()},
        }


def read_curves(run: Run, failed: int, note: Callable[[str], None]) -> CurveResult:
    """The curves of the run of the forks, at every budget that it holds."""
    from agent_env.extensions.evidence.budget_curve import (
        BudgetCurves,
        LookupCount,
        needless_calls,
    )
    from agent_env.sdk.family import sample_under, web_tools
    from agent_env.sdk.results import Comparison, RunData, Study

    manifest, task = run.manifest, run.task
    conditions = {condition.name: condition for condition in manifest.conditions}
    costs: dict[str, list[float | None]] = {}
    look_ups: list[LookupCount] = []
    determined = task.analysis.determined and task.analysis.determined()

    def scored() -> Iterator[tuple[Episode, Score]]:
        def left_out(reason: str) -> None:
            note(f"left out: {reason}")

        for episode, score in run.scored(left_out):
            condition = conditions[episode.condition]
            # the recorded beginning included
            cost = episode.usage.cost_usd(manifest.model_facts)
            costs.setdefault(condition.name, []).append(cost)
            searching = web_tools(condition) if condition.wording == "implicit" else None
            if determined is not None and searching and condition.answer_at is None:
                sample = sample_under(run.samples_by_id[episode.sample], condition)
                calls = needless_calls(sample, episode, searching, determined)
                cluster = task.analysis.cluster(sample) or f"/{sample.id}"
                look_ups.append(LookupCount(condition.name, cluster, *calls))
            yield episode, score

    data = RunData.of(run.path.name, manifest, run.samples, scored(), manifest.model_facts)
    observations = {
        name: tuple(
            replace(each, used={**each.used, "cost_usd": cost})
            for each, cost in zip(own, costs[name], strict=True)
        )
        for name, own in data.observations.items()
    }
    study = Study.of([replace(data, observations=observations)], task)
    return CurveResult(BudgetCurves(Comparison(study)), tuple(look_ups), run.path, failed)


def draw_curves(result: CurveResult, html: Path | None, figures: Path | None) -> Iterator[Path]:
    """Writes the report, and the figure into a folder; yields the files."""
    if html is None and figures is None:
        return
    from agent_env.extensions.evidence.curve_report import curve_figure, curve_report
    from agent_env.sdk.results import save
    from agent_env.sdk.trace import write_whole

    if figures is not None:
        yield from save(curve_figure(result.curves), figures, "curve")
    if html is not None:
        manifest = Run(result.folder).manifest
        report = curve_report(result.curves, result.tables(), manifest)
        write_whole(html, report.encode("utf-8", "replace"))
        yield html
