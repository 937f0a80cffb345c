"""`curve`: accuracy against a budget of model calls, by forks that must answer at the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError, ReplayError
from agent_env.models.prices import cost_usd
from agent_env.protocols import Limits
from agent_env.records.schema import Usage
from agent_env.runs.fork import (
    ForkForecast,
    ForkPlan,
    ask_forks,
    check_source,
    fork_folder,
    identity,
)
from agent_env.runs.options import CurveOptions, budgets
from agent_env.runs.run import Run
from agent_env.runs.start import Listener

if TYPE_CHECKING:
    from agent_env.analysis.budget_curve import BudgetCurves, LookupCount
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.episodes.rerun.fork import Beginning
    from agent_env.episodes.trace.fold import Recording
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Condition

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
    """The forks of a curve, and what those that are not there will use."""

    options: CurveOptions
    source: Run
    episodes: tuple[RecordedEpisode, ...]
    failed: int
    """Episodes that did not come to their end; they are in no point."""
    forecast: ForkForecast


def plan_curve(source: Run, options: CurveOptions, note: Callable[[str], None]) -> CurvePlan:
    """Reads the run; ConfigError for one that has no curve, and for a budget beyond its limit."""
    manifest, options = check_source(source), replace(options, at=budgets(options.at))
    limit = _steps_limit(manifest)
    if limit is not None and options.at[-1] > limit:
        raise ConfigError(
            f"--at {options.at[-1]}: an episode of {source.path} has at most {limit} steps"
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
    there = fork_folder(source, options.calls.out, FOLDER)
    usages = list(_usages(episodes, options.at, there))
    forecast = ForkForecast.of(usages, manifest.model_facts)
    return CurvePlan(options, source, tuple(episodes), failed, forecast)


def _steps_limit(manifest: Manifest) -> int | None:
    steps = manifest.limits.get("steps", Limits().steps)
    return steps if isinstance(steps, int) else None


def _recorded_episodes(
    source: Run, note: Callable[[str], None]
) -> tuple[list[RecordedEpisode], int]:
    episodes, failed = list[RecordedEpisode](), 0
    for trace, recording in _recordings(source, note):
        from agent_env.records.trace_events import EpisodeFinished

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
    from agent_env.episodes.trace.fold import Recording
    from agent_env.episodes.trace.lines import read_events
    from agent_env.errors import DatasetError

    run = source.identity()
    conditions = {condition.name for condition in source.manifest.conditions}
    for trace in source.traces():
        try:
            events = read_events(trace).events
            recording = Recording.of(events)
            problem = source.misfit(trace, run, events)
            if problem is None and recording.start.condition.name not in conditions:
                problem = f"{trace}: belongs to no condition of the run"
        except (DatasetError, ReplayError) as exc:
            problem = str(exc)
        if problem is None:
            yield trace, recording
        else:
            note(f"left out: {problem}")


def _usages(
    episodes: Sequence[RecordedEpisode], at: Sequence[int], there: Run | None
) -> Iterator[Usage | None]:
    """Of each fork that is not finished: the recorded prompt of the same call, and the mean length
    of the condition's answers."""
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.episodes.trace.lines import is_finished

    answers: dict[str, list[int]] = {}
    for each in episodes:
        if each.output_tokens is not None:
            answers.setdefault(each.condition, []).append(each.output_tokens)
    for each in episodes:
        for budget in at:
            sample, _, repeat = each.trace.stem.rpartition(".")
            key = EpisodeKey(sample, forced_name(each.condition, budget), int(repeat))
            if each.steps <= budget or (there is not None and is_finished(there.trace(key))):
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


async def ask_curve(plan: CurvePlan, listener: Listener) -> Run:
    """The run that holds the curve's episodes, all of them finished."""
    source, options = plan.source, plan.options
    manifest = source.manifest
    forced = [
        condition.model_copy(
            update={
                "name": forced_name(condition.name, budget),
                "first_step": "auto",
                "answer_at": budget,
            }
        )
        for condition in manifest.conditions
        for budget in options.at
    ]
    forks = ForkPlan(
        source=source,
        out=options.calls.out or source.place(FOLDER),
        conditions=(*manifest.conditions, *forced),
        repeats=manifest.repeats,
        samples=source.samples,
        beginnings=lambda: _beginnings(plan, {c.name: c for c in forced}),
        update={"web": None, "sandbox": None, "mcp": ()},
    )
    return await ask_forks(forks, options.calls, listener)


def _beginnings(plan: CurvePlan, forced: dict[str, Condition]) -> Iterator[Beginning]:
    """Of each episode: itself, and for each budget its beginning, or itself if it ended before."""
    from agent_env.episodes.rerun.fork import Beginning
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.episodes.trace.fold import Recording
    from agent_env.episodes.trace.lines import read_trace
    from agent_env.records.trace_events import Parent

    manifest = plan.source.manifest
    own = {condition.name: condition for condition in manifest.conditions}
    run = identity(plan.source)
    for each in plan.episodes:
        recording = Recording.of(read_trace(each.trace))
        start = recording.start
        for budget in (None, *plan.options.at):
            name = each.condition if budget is None else forced_name(each.condition, budget)
            condition = own[name] if budget is None else forced[name]
            is_whole = budget is None or each.steps <= budget
            kept = each.steps if budget is None or is_whole else budget - 1
            yield Beginning(
                key=EpisodeKey(start.sample, name, start.repeat),
                condition=condition,
                recording=recording,
                parent=Parent(run=run, episode=start.episode, step=kept),
                is_whole=is_whole,
            )


async def ask_and_read(plan: CurvePlan, listener: Listener) -> CurveResult:
    """Asks the forks that are not there, and reads the curves."""
    listener.note(str(plan.forecast))
    if plan.failed:
        listener.note(f"{plan.failed} episodes did not come to their end and are in no point")
    return read_curves(plan, await ask_curve(plan, listener), listener.note)


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
        from agent_env.analysis.budget_curve import needless_table

        tables = self.curves.tables()
        return [*tables, needless_table(self.look_ups)] if self.look_ups else tables

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        from agent_env.analysis.result_tables import as_objects

        return {
            "folder": str(self.folder),
            "failed": self.failed,
            **self.curves.as_json(),
            "tables": as_objects(self.tables()),
        }


def read_curves(plan: CurvePlan, run: Run, note: Callable[[str], None]) -> CurveResult:
    """The curves of what `ask_curve` made, at every budget that it holds."""
    from agent_env.analysis.budget_curve import BudgetCurves, LookupCount, needless_calls
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.study import Observation, RunData, observe
    from agent_env.episodes.results import scored_episodes
    from agent_env.runs.study import study_of
    from agent_env.tasks.conditions import sample_under
    from agent_env.tasks.tool_registry import web_tools

    manifest, task = run.manifest, run.task
    conditions = {condition.name: condition for condition in manifest.conditions}
    observed: dict[str, list[Observation]] = {}
    look_ups: list[LookupCount] = []
    determined = task.analysis.determined and task.analysis.determined()
    scored = scored_episodes(run, task, run.samples, lambda reason: note(f"left out: {reason}"))
    for episode, score in scored:
        condition = conditions[episode.condition]
        sample = sample_under(run.samples_by_id[episode.sample], condition)
        seen = observe(sample, episode, score, manifest.model_facts)
        whole = cost_usd(episode.usage, manifest.model_facts)  # the recorded beginning included
        seen = replace(seen, used={**seen.used, "cost_usd": whole})
        observed.setdefault(condition.name, []).append(seen)
        searching = web_tools(condition) if condition.wording == "implicit" else None
        if determined is not None and searching and condition.answer_at is None:
            calls = needless_calls(sample, episode, searching, determined)
            cluster = task.analysis.cluster(sample) or f"/{sample.id}"
            look_ups.append(LookupCount(condition.name, cluster, *calls))
    observations = {name: tuple(own) for name, own in observed.items()}
    data = RunData(run.path.name, manifest, run.samples_by_id, observations)
    curves = BudgetCurves(Comparison(study_of([data], task)))
    return CurveResult(curves, tuple(look_ups), run.path, plan.failed)


def draw_curves(result: CurveResult, html: Path | None, figures: Path | None) -> Iterator[Path]:
    """Writes the report, and the figure into a folder; yields the files."""
    if html is None and figures is None:
        return
    from agent_env.analysis.curve_report import curve_figure, curve_report
    from agent_env.analysis.drawing import save
    from agent_env.episodes.run_folder import write_whole

    if figures is not None:
        yield from save(curve_figure(result.curves), figures, "curve")
    if html is not None:
        manifest = Run(result.folder).manifest
        report = curve_report(result.curves, result.tables(), manifest)
        write_whole(html, report.encode("utf-8", "replace"))
        yield html
