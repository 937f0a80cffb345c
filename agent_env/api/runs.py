"""Runs: started, opened, resumed, replayed; their episodes, and forks of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from agent_env.api.objects import Condition, Held, ModelLike, TaskOptions, ToolLike, several
from agent_env.api.objects import task as make_task
from agent_env.api.waiting import wait_for
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.schema import Usage
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.attribute import AttributeOptions
from agent_env.runs.curve import CurveOptions
from agent_env.runs.keywords import from_arguments, with_keywords
from agent_env.runs.opened import OpenRun
from agent_env.runs.options import ForkOptions, ReplayOptions, ResumeOptions, RunOptions
from agent_env.runs.terminal import say

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.attribution import Attribution
    from agent_env.analysis.diagnosis import Diagnosis
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.api.keywords import (
        AttributeKeywords,
        CurveKeywords,
        ForkKeywords,
        ReplayKeywords,
        ResumeKeywords,
        RunKeywords,
    )
    from agent_env.episodes.again.replay import ReplayResult
    from agent_env.records import schema
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Message, Sample, Score
    from agent_env.runs.curve import CurveResult
    from agent_env.runs.opened import OpenRun
    from agent_env.runs.run import Run as RunFolder
    from agent_env.tasks.family import Family
    from agent_env.tasks.task import Task


@dataclass(frozen=True, slots=True, repr=False)
class Episode:
    """One attempt at one sample under one condition."""

    name: str
    """CONDITION/SAMPLE.REPEAT."""
    trace: Path
    """The file with its events."""
    sample: Sample
    """The question with its gold answer."""
    record: schema.Episode
    """All that its trace says: steps, tools, pages, tokens, ends."""
    result: Score
    """What the scorer read and found."""
    _run: OpenRun

    @property
    def answer(self) -> str | None:
        """The text of the answer; None where there is none."""
        return self.record.answer

    @property
    def score(self) -> Mapping[str, float]:
        """By metric; empty where there was nothing to score."""
        return self.result.metrics

    @property
    def usage(self) -> Usage:
        """The tokens of its model calls; None where any of them is unknown."""
        return self.record.usage

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation."""
        return self.record.messages

    @property
    def diagnosis(self) -> Diagnosis | None:
        """Why its answer is wrong, by rules; None where that is unknown."""
        return self._run.judge(self._run.read(self.trace).events).diagnosis

    def transcript(self, full: bool = False) -> str:
        """The episode readably, as `agent-env show` prints it; long texts cut unless `full`."""
        from agent_env.runs.score import episode_text

        return "\n\n".join(episode_text(self.trace, full, self._run.current.objects))

    @with_keywords(ForkOptions)
    async def fork(
        self,
        *,
        model: ModelLike | None = None,
        progress: bool = True,
        **options: Unpack[ForkKeywords],
    ) -> Run:
        """Keeps the episode up to step `at` and lets it go on otherwise; gives back the run of the
        forks, by default in RUN/forks/. `edit={"1": text}` replaces the result of that step's first
        tool call; the other keywords are the options of `agent-env fork`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> forks = asyncio.run(episode.fork(at=0, repeats=2, out="runs/forks"))
            >>> [fork.name for fork in forks.episodes()]
            ['base/tp-1-00001.1', 'base/tp-1-00001.2']
        """
        from agent_env.runs.fork import fork
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.score import score_folder
        from agent_env.runs.terminal import say

        held = Held(self._run.current.objects)
        name = None if model is None else held.model(model)
        chosen = from_arguments(ForkOptions, {**options, "model": name}, "fork")
        with progress_shown(progress) as shown:
            made = await fork(self.trace, chosen, shown.listener, held.objects)
        score_folder(made, say)
        return Run(made.path, held.objects)

    @with_keywords(AttributeOptions)
    async def attribute(
        self, *, progress: bool = True, **options: Unpack[AttributeKeywords]
    ) -> Attribution:
        """Where its outcome turned: forks of each step are asked anew, and the share of right ends
        is compared before and after it. The keywords are the options of `agent-env attribute`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> result = asyncio.run(episode.attribute(forks=3, progress=False))
            >>> [(step.actions, step.forks) for step in result.steps]
            [('answer', 3)]
        """
        from agent_env.runs.attribute import ask_and_read, plan_attribution
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.terminal import say

        chosen = from_arguments(AttributeOptions, options, "attribute")
        plan = plan_attribution(self.trace, chosen, say, self._run.current.objects)
        with progress_shown(progress) as shown:
            return await ask_and_read(plan, shown.listener)

    def __repr__(self) -> str:
        end = self.record.stop_reason or self.record.status
        metrics = [f", {name} {value:.4g}" for name, value in self.score.items()][:1]
        return f"Episode({self.name!r}: {end}{''.join(metrics)})"


def read_episode(run: OpenRun, trace: Path) -> Episode:
    """The episode of a trace; DatasetError where it cannot be read."""
    from agent_env.episodes.trace.fold import fold
    from agent_env.episodes.trace.lines import read_trace

    folder, events = run.current, read_trace(trace)
    problem = folder.misfit(trace, folder.identity(), events) if events else "holds no event"
    if problem is not None:
        raise DatasetError(trace, 1, problem.removeprefix(f"{trace}:1: "))
    record = fold(events)
    if record.sample not in folder.samples_by_id:
        raise DatasetError(folder.path / "samples.jsonl", None, f"no sample '{record.sample}'")
    sample = folder.asked_sample(record)
    score = folder.task.score(folder.samples_by_id[record.sample], record)
    return Episode(folder.key_of(trace), trace, sample, record, score, run)


Preflight = Literal["on", "off", "anyway"]


@with_keywords(RunOptions, without=("task",))
async def run(
    task: TaskOptions | str | Family | Task,
    /,
    *,
    model: ModelLike = "reference",
    conditions: Sequence[str | Condition] | str | Condition = (),
    tools: Sequence[ToolLike] | ToolLike = (),
    preflight: Preflight = "on",
    progress: bool = True,
    **options: Unpack[RunKeywords],
) -> Run:
    """Asks a model the questions of a task under several conditions, and gives back the run.

    A model is named, or is a function of the messages, the tools offered and the options, as many
    as it takes, which gives a Reply or a text. Conditions are named, or are a `Condition`; they may
    name `tools` of one's own: functions, what `tool` makes, MODULE:NAME or file.py:NAME. The other
    keywords are the options of `agent-env run` (docs/options.md). `preflight` tries the model's
    server first; `anyway` runs conditions that it finds meaningless. `progress` goes to stderr, in
    a notebook to one line of the cell.

    Examples:
        >>> import agent_env as ae, asyncio
        >>> task = ae.task("time-puzzles", limit=2)
        >>> run = asyncio.run(ae.run(task, conditions=["base", "explicit"], out="runs/second"))
        >>> run
        Run('runs/second': time-puzzles, reference, 4 of 4 episodes)
    """
    from agent_env.runs.progress import progress_shown
    from agent_env.runs.score import read_scores
    from agent_env.runs.start import start_run

    asked = task if isinstance(task, TaskOptions) else make_task(task)
    held = Held(asked.objects)
    own = {
        "model": held.model(model),
        "conditions": held.conditions(several(conditions), several(tools)),
        "tools": [tool for tool in several(tools) if isinstance(tool, str)],
    }
    chosen = from_arguments(RunOptions, {**asked.keywords, **own, **options}, "run")
    chosen = replace(chosen, preflight=preflight, objects=held.objects)
    with progress_shown(progress) as shown:
        made = await start_run(chosen, shown.listener)
    for line in read_scores(made, None, say).remarks():
        say(line)
    return Run(made.path, held.objects)


@with_keywords(RunOptions, without=("task",))
def run_sync(
    task: TaskOptions | str | Family | Task,
    /,
    *,
    model: ModelLike = "reference",
    conditions: Sequence[str | Condition] | str | Condition = (),
    tools: Sequence[ToolLike] | ToolLike = (),
    preflight: Preflight = "on",
    progress: bool = True,
    **options: Unpack[RunKeywords],
) -> Run:
    """`run` for scripts, without `await`; in a notebook too, where nothing else goes on until it
    ends.

    Examples:
        >>> import agent_env as ae
        >>> run = ae.run_sync("time-puzzles", limit=1, conditions="explicit", progress=False)
        >>> [episode.score["exact_match"] for episode in run.episodes()]
        [1.0]
    """
    own = {"model": model, "conditions": conditions, "tools": tools}
    return wait_for(run(task, preflight=preflight, progress=progress, **own, **options))


def open(
    path: Path | str,
    /,
    *,
    task: Family | Task | None = None,
    model: ModelLike | None = None,
    tools: Sequence[ToolLike] | ToolLike = (),
) -> Run:
    """The run in this folder; ConfigError or DatasetError where there is none. A run that was made
    with objects of another process needs them again.

    Examples:
        >>> import agent_env as ae
        >>> ae.open("runs/none")
        Traceback (most recent call last):
        agent_env.errors.ConfigError: runs/none is no run: it has no run.json
    """
    held = Held()
    if task is not None:
        held.family(task)
    if model is not None:
        held.model(model)
    for tool in several(tools):
        held.tool(tool)
    opened = Run(Path(path), held.objects)
    _ = opened.manifest
    return opened


def import_log(log: Path | str, /, *, out: Path | str, columns: Path | str | None = None) -> Run:
    """A run of another tool's log, in the new folder `out`: conversations as traces, where the log
    has them, and the log's own scores. Such a run can be read, compared and exported, and not asked
    again. `columns` says what the columns of a table are (`agent-env docs analysis`).

    Examples:
        >>> import agent_env as ae
        >>> ae.import_log("none.eval", out="runs/none")
        Traceback (most recent call last):
        agent_env.errors.ConfigError: none.eval: there is no such file
    """
    from agent_env.runs.logs import logs

    table = None if columns is None else Path(columns)
    runs = logs().import_log(Path(log), Path(out), say, table)
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs)
        say(f"{log} holds several logs; {runs[0]} is the first of {names}")
    return Run(runs[0])


class Run:
    """A run folder. What it says is read from the folder each time, so that a run that goes on
    elsewhere is seen as it is."""

    def __init__(self, path: Path, objects: Objects = NO_OBJECTS) -> None:
        self._open = OpenRun("", path, path, objects)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._open.folder.path

    @property
    def manifest(self) -> Manifest:
        """run.json: everything that determined the run."""
        return self._open.manifest

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of its conditions."""
        return tuple(condition.name for condition in self.manifest.conditions)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Its questions with their gold answers."""
        return self._open.current.samples

    def episodes(self, **where: str | float) -> Iterator[Episode]:
        """Its episodes, in the order of conditions and samples; those alone that fit: `condition`,
        `status`, `stop_reason`, `sample` or a metric, each a value or several, `"base,web"`.

        An episode that cannot be read is left out, and said on stderr.

        Examples:
            >>> import agent_env as ae
            >>> [episode.name for episode in ae.open("runs/first").episodes(condition="base")]
            ['base/tp-1-00001.1', 'base/tp-1-00002.1']
        """
        from agent_env.runs.episodes import list_episodes

        filters = [f"{field}={value}" for field, value in where.items()]
        rows, _ = list_episodes(self.folder, filters, None)
        return self._read(row.values["episode"] for row in rows)

    def _read(self, names: Iterable[str]) -> Iterator[Episode]:
        for name in names:
            try:
                yield self.episode(name)
            except DatasetError as exc:
                say(f"left out: {exc}")

    def episode(self, name: str) -> Episode:
        """The episode CONDITION/SAMPLE.REPEAT; ConfigError where there is none.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").episode("explicit/tp-1-00001.1")
            Episode('explicit/tp-1-00001.1': answered, exact_match 1)
        """
        _ = self.manifest
        trace = self._open.trace(name)
        if trace is None:
            raise ConfigError(f"no episode {name}; name it CONDITION/SAMPLE.REPEAT")
        return read_episode(self._open, trace)

    def frame(self) -> pd.DataFrame:
        """One row for each episode: its outcome, its metrics, what it used. Needs pandas."""
        from agent_env.analysis.episode_tables import episodes
        from agent_env.runs.study import comparison_of

        return episodes(comparison_of(self.folder, say))

    def scores(self) -> list[ResultTable]:
        """The tables of `agent-env score`, first the means of each condition."""
        from agent_env.runs.score import read_scores

        return read_scores(self.folder, None, say).tables()

    @with_keywords(ResumeOptions)
    async def resume(
        self,
        *,
        model: ModelLike | None = None,
        progress: bool = True,
        **options: Unpack[ResumeKeywords],
    ) -> Run:
        """Runs the missing episodes, and those cut off or failed from their last event on. The
        keywords are the options of `agent-env resume`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> asyncio.run(ae.open("runs/first").resume())
            Run('runs/first': time-puzzles, reference, 4 of 4 episodes)
        """
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.resume import resume
        from agent_env.runs.score import score_folder

        held = Held(self.folder.objects)
        name = None if model is None else held.model(model)
        run = Run(self.path, held.objects)
        chosen = from_arguments(ResumeOptions, {**options, "model": name}, "resume")
        with progress_shown(progress) as shown:
            await resume(run.folder, chosen, shown.listener)
        score_folder(run.folder, say)
        return run

    @with_keywords(CurveOptions)
    async def curve(
        self, *, progress: bool = True, **options: Unpack[CurveKeywords]
    ) -> CurveResult:
        """Accuracy against model calls, tokens and cost: each episode is forked where its budget
        `at` ends, and must answer there; `tables()` are those of `agent-env curve`, whose options
        the other keywords are. Nothing is asked twice.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> run = ae.run_sync("time-puzzles", limit=1, conditions="web", progress=False)
            >>> result = asyncio.run(run.curve(at=[1, 2], progress=False))
            >>> [(point.budget, point.forced) for point in result.curves.curves[0].points]
            [(1, 1), (2, 1), (None, 0)]
        """
        from agent_env.runs.curve import ask_and_read, plan_curve
        from agent_env.runs.progress import progress_shown

        chosen = from_arguments(CurveOptions, options, "curve")
        with progress_shown(progress) as shown:
            return await ask_and_read(plan_curve(self.folder, chosen, say), shown.listener)

    @with_keywords(ReplayOptions)
    def replay(self, **options: Unpack[ReplayKeywords]) -> list[ReplayResult]:
        """Runs the recorded episodes again, without network or key, and compares them with their
        traces. The keywords are `strict`, `tools_live`, `model_live`, `out` and `trust_run`.

        Examples:
            >>> import agent_env as ae
            >>> [result.verdict for result in ae.open("runs/first").replay()]
            ['same', 'same', 'same', 'same']
        """
        from agent_env.runs.replay import replay

        chosen = from_arguments(ReplayOptions, options, "replay")
        return wait_for(replay(self.folder, chosen, say))

    @property
    def folder(self) -> RunFolder:
        """The files as they are now; ConfigError where run.json is gone."""
        _ = self.manifest
        return self._open.current

    def __repr__(self) -> str:
        manifest = self.manifest
        number = sum(1 for _ in self._open.current.traces())
        counts = f"{number} of {self._open.asked} episodes"
        return f"Run({str(self.path)!r}: {manifest.task}, {manifest.model}, {counts})"
