"""A run and its episodes, as `import agent_env` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from agent_env.errors import AgentEnvError, DatasetError
from agent_env.runs.options.keywords import from_arguments, with_keywords
from agent_env.runs.options.run_options import ForkOptions, ReplayOptions, ResumeOptions
from agent_env.runs.run import Run as OpenRun
from agent_env.runs.screen.terminal import say
from agent_env.runs.waiting import wait_for

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.provenance import Provenance
    from agent_env.analysis.result_tables import Tables
    from agent_env.api.comparisons import Comparison
    from agent_env.episodes.rerun.replay import ReplayResult
    from agent_env.records import schema
    from agent_env.records.manifest import Manifest
    from agent_env.records.schema import Message, Sample, Score, Usage
    from agent_env.runs.options.keyword_types import ForkKeywords, ReplayKeywords, ResumeKeywords
    from agent_env.runs.planning.objects import ModelLike
    from agent_env.tasks.task import Task


class Run:
    """Episodes of questions under conditions, in a folder; read as the folder is now. Printed, it
    is what `agent-env show` prints."""

    def __init__(self, run: OpenRun) -> None:
        self._run = run

    @property
    def path(self) -> Path:
        """The folder.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").path.name
            'first'
        """
        return self._run.path

    @property
    def manifest(self) -> Manifest:
        """How it was made: model, conditions, limits, versions, the digests of its questions.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").manifest.model
            'reference'
        """
        return self._run.manifest

    @property
    def task(self) -> Task:
        """Its task, with the metrics and the scorer.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").task.metrics[0]
            'exact_match'
        """
        return self._run.task

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of its conditions.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").conditions
            ('base', 'explicit')
        """
        return self._run.conditions

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Its questions with their gold answers, in order.

        Examples:
            >>> import agent_env as ae
            >>> [sample.id for sample in ae.open("runs/first").samples]
            ['tp-1-00001', 'tp-1-00002']
        """
        return self._run.samples

    @property
    def is_finished(self) -> bool:
        """Whether every episode that was asked for has a trace.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").is_finished
            True
        """
        return sum(1 for _ in self._run.traces()) >= self.manifest.planned_episodes

    def episodes(self, **where: str | float) -> Iterator[Episode]:
        """Its episodes, in the order of conditions and samples; those alone that fit: `condition`,
        `status`, `stop_reason`, `sample` or a metric, each a value or several, `"base,web"`.

        An episode that cannot be read is left out, and said on stderr.

        Examples:
            >>> import agent_env as ae
            >>> [episode.name for episode in ae.open("runs/first").episodes(condition="base")]
            ['base/tp-1-00001.1', 'base/tp-1-00002.1']
        """
        rows, _ = self._run.episode_rows([f"{field}={value}" for field, value in where.items()])
        return self._read_each(str(row.values["episode"]) for row in rows)

    def _read_each(self, names: Iterator[str]) -> Iterator[Episode]:
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
        trace, record, score = self._run.read_episode(name)
        return Episode(name, trace, self._run.asked_sample(record), record, score, self._run)

    def scores(self) -> Tables:
        """The tables of `agent-env show`, first the means of each condition.

        Examples:
            >>> import agent_env as ae
            >>> [row[0] for row in ae.open("runs/first").scores()[0].rows]
            ['base', 'explicit']
        """
        from agent_env.analysis.result_tables import Tables
        from agent_env.runs.scores.score import read_scores

        return Tables(read_scores(self._run, None, say).tables())

    def why(self) -> Tables:
        """What `agent-env show --why` prints: why answers are wrong, and the tables behind it.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").why()[0].name
            'why'
        """
        from agent_env.analysis.result_tables import Tables
        from agent_env.analysis.statistics import statistics_of, tables_of
        from agent_env.analysis.statistics.provenance import WHY

        comparison = self._run.comparison(say)
        wanted = (each for each in statistics_of(comparison) if each.section == WHY)
        return Tables(tables_of(comparison, wanted))

    def compare(self, *others: Run | Path | str, **options: Any) -> Comparison:
        """Its conditions, paired by question, and those of other runs: see `compare`.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").compare().differences.rows[0][0]
            'explicit − base'
        """
        from agent_env.api.comparisons import comparison_of

        runs = (self, *others)
        return comparison_of([r._run if isinstance(r, Run) else r for r in runs], options)

    def save(self, file: Path | str) -> None:
        """Writes its comparison: `.html` a report, `.md`, `.json` or `.tex` the tables, `.csv` a
        folder with a file for each.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").save("first.md")
        """
        self.compare().save(file)

    def frame(self) -> pd.DataFrame:
        """One row for each episode: its outcome, its metrics, what it used. Needs pandas.

        Examples:
            >>> import agent_env as ae
            >>> len(ae.open("runs/first").frame())
            4
        """
        from agent_env.analysis.episode_tables import episodes

        return episodes(self._run.comparison(say))

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
        from agent_env.runs.planning.objects import LocalObjects
        from agent_env.runs.resume import resume
        from agent_env.runs.scores.score import score_folder
        from agent_env.runs.screen.progress import progress_shown

        local = LocalObjects(self._run.objects)
        name = None if model is None else local.model(model)
        run = OpenRun(self.path, local.objects)
        chosen = from_arguments(ResumeOptions, {**options, "model": name}, "resume")
        with progress_shown(progress) as shown:
            await resume(run, chosen, shown.listener)
        score_folder(run, say)
        return Run(run)

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
        return wait_for(replay(self._run, chosen, say))

    def __repr__(self) -> str:
        manifest = self.manifest
        number = sum(1 for _ in self._run.traces())
        counts = f"{number} of {manifest.planned_episodes} episodes"
        return f"Run({str(self.path)!r}: {manifest.task}, {manifest.model}, {counts})"

    def __str__(self) -> str:
        from agent_env.analysis.result_tables import Tables
        from agent_env.runs.scores.score import read_scores

        return str(Tables(read_scores(self._run, None, lambda text: None).screen()))

    def _repr_html_(self) -> str | None:
        """For notebooks: what it is, and its scores unless that takes long."""
        from agent_env.analysis.html import in_notebook

        # episodes of a run whose scores a notebook shows unasked
        is_large = self.manifest.planned_episodes > 2_000
        try:
            tables = [] if is_large else [table.without_empty() for table in self.scores()]
            return in_notebook("titled", repr(self), tables)
        except AgentEnvError:
            return None


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
    def provenance(self) -> Provenance | None:
        """Where its answer came from, by rules; None where that is unknown."""
        from agent_env.runs.scores.assessment import assess

        return assess(self._run, self._run.events(self.trace).events).provenance

    def transcript(self, full: bool = False) -> str:
        """The episode readably, as `agent-env show` prints it; long texts cut unless `full`."""
        from agent_env.runs.scores.score import episode_text

        return "\n\n".join(episode_text(self.trace, full, self._run.objects))

    @with_keywords(ForkOptions)
    async def fork(
        self,
        *,
        model: ModelLike | None = None,
        progress: bool = True,
        **options: Unpack[ForkKeywords],
    ) -> Run:
        """Keeps the episode up to step `at` and lets it continue otherwise; gives back the run of
        the forks, by default in RUN/forks/. `edit={"1": text}` replaces the result of that step's
        first tool call; the other keywords are the options of `agent-env episodes fork`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> forks = asyncio.run(episode.fork(at=0, repeats=2, out="runs/forks"))
            >>> [fork.name for fork in forks.episodes()]
            ['base/tp-1-00001.1', 'base/tp-1-00001.2']
        """
        from agent_env.runs.fork import fork
        from agent_env.runs.planning.objects import LocalObjects
        from agent_env.runs.scores.score import score_folder
        from agent_env.runs.screen.progress import progress_shown

        local = LocalObjects(self._run.objects)
        name = None if model is None else local.model(model)
        chosen = from_arguments(ForkOptions, {**options, "model": name}, "fork")
        with progress_shown(progress) as shown:
            forked = await fork(self.trace, chosen, shown.listener, local.objects)
        score_folder(forked, say)
        return Run(forked)

    def __str__(self) -> str:
        return self.transcript()

    def __repr__(self) -> str:
        end = self.record.stop_reason or self.record.status
        metrics = [f", {name} {value:.4g}" for name, value in self.score.items()][:1]
        return f"Episode({self.name!r}: {end}{''.join(metrics)})"
