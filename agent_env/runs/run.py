"""A run: what its folder holds, read when it is asked for; and what can be done with it again.

Every command over a folder works with it; `agent_env.run` and `agent_env.open` return it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, Unpack, get_args

from agent_env.episodes.disturbances import disturbances
from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import AgentEnvError, ConfigError, DatasetError
from agent_env.permits import Permit
from agent_env.records.safe_files import is_safe
from agent_env.records.schema import StopReason, Usage
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.runs.keywords import from_arguments, with_keywords
from agent_env.runs.logs import logs
from agent_env.runs.options import (
    ForkOptions,
    ReplayOptions,
    ResumeOptions,
)
from agent_env.runs.terminal import say
from agent_env.runs.waiting import wait_for
from agent_env.tasks.conditions import sample_under
from agent_env.tasks.family import by_digest
from agent_env.tasks.scorers import with_measures
from agent_env.tasks.templates import with_texts
from agent_env.wiring.components import Parts, RunComponents, contexts_of, strategy_of
from agent_env.wiring.registry import load_family
from agent_env.wiring.trust import check_reading, keep_known, known_permit

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.provenance import Provenance
    from agent_env.analysis.result_tables import Tables
    from agent_env.analysis.study import RunData
    from agent_env.episodes.index import EpisodeRow, Totals
    from agent_env.episodes.rerun.replay import ReplayResult
    from agent_env.episodes.trace.fold import Recording
    from agent_env.models.serving.process import ServerProcess
    from agent_env.records import schema
    from agent_env.records.schema import Message, Sample, Score
    from agent_env.records.trace_events import Event
    from agent_env.runs.assessment import Assessment
    from agent_env.runs.keyword_types import (
        ForkKeywords,
        ReplayKeywords,
        ResumeKeywords,
    )
    from agent_env.runs.objects import ModelLike
    from agent_env.tasks.task import FaultFinder, Task


class Run(RunFolder):
    """A run folder. What it says is read from the folder as it is now, so that a run that goes on
    elsewhere is seen as it is."""

    def __init__(self, path: Path | str, objects: Objects = NO_OBJECTS) -> None:
        super().__init__(Path(path))
        self.objects = objects
        self._given: Permit | None = None
        self.parts = Parts()
        """Objects that were opened to check the run, while they are open."""
        self.components: RunComponents | None = None
        self.server: ServerProcess | None = None

    @classmethod
    def open(cls, path: Path | str, objects: Objects = NO_OBJECTS) -> Self:
        """The run in this folder; ConfigError or DatasetError if it has none."""
        run = cls(path, objects)
        _ = run.manifest
        return run

    def forget(self) -> None:
        """Drops what was read: run.json is another file now."""
        super().forget()
        for name in ("known_permit", "task", "samples_by_id", "find_faults"):
            self.__dict__.pop(name, None)

    def change(self, **update: object) -> None:
        """Replaces fields of run.json; what this user let the run do stays so."""
        keep_known(self, self.manifest.model_copy(update=update))
        super().change(**update)

    def drop_objects(self) -> None:
        """Drops the objects that were opened to check the run, before they are closed."""
        self.parts, self.components = Parts(), None

    @property
    def permit(self) -> Permit:
        """For what this user made here or allowed, until a command asks for more."""
        return self.known_permit if self._given is None else self._given

    @permit.setter
    def permit(self, permit: Permit) -> None:
        self._given = permit

    @cached_property
    def known_permit(self) -> Permit:
        """For what this user made here or allowed."""
        return known_permit(self)

    @property
    def plugins(self) -> Plugins:
        """What the run uses that is not built in."""
        return Plugins(self.manifest.plugins, self.objects, self.permit)

    def check_ours(self, what: str) -> None:
        """ConfigError for an imported run, which was never asked here."""
        source = self.manifest.imported
        if source is not None:
            raise ConfigError(
                f"{self.path} was imported from {source.file} ({source.tool}) and cannot be "
                f"{what}: its model and tools were not run here; view, show, score, compare, "
                "diagnose, judge and export take it"
            )

    # What was asked --------------------------------------------------------------------------

    @cached_property
    def task(self) -> Task:
        """The task with the run's prompt, options and tables; ConfigError where that takes code
        that is neither built in nor trusted for this folder, or the extension for disturbances is
        not installed."""
        manifest = self.manifest
        if manifest.imported is not None:
            return logs().imported_task(manifest, manifest.imported)
        check_reading(self, manifest)
        if any(condition.disturbance is not None for condition in manifest.conditions):
            disturbances()
        family = load_family(manifest.task, self.plugins)
        options = family.checked_options(manifest.options)
        task = family.make_task(manifest.prompt, options, by_digest(self.materials()))
        task = with_texts(task, manifest.prompt_file, manifest.system_file)
        return with_measures(task, manifest.scorer, manifest.metrics, self.plugins)

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of its conditions."""
        return tuple(condition.name for condition in self.manifest.conditions)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """Its questions with their gold answers, in order."""
        _ = self.manifest  # of another file, all is read anew
        return self.samples_as(self.task.sample_type)

    @cached_property
    def samples_by_id(self) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self.samples}

    def sample(self, name: str) -> Sample | None:
        """The sample of this name; parses no other."""
        try:
            data = self.read("samples.jsonl")
        except DatasetError:
            return None
        mark = b'"id":"%b"' % name.encode()
        place = data.find(mark)
        while place >= 0:
            start, end = data.rfind(b"\n", 0, place) + 1, data.find(b"\n", place)
            line = data[start : end if end >= 0 else len(data)]
            try:
                sample = self.task.sample_type.model_validate_json(line)
            except ValueError:
                return None
            if sample.id == name:
                return sample
            place = data.find(mark, place + 1)
        return None

    def questions_again(self, dataset: Path | None) -> dict[str, bytes]:
        """The bytes of its samples and tables, made again; ConfigError where they are others."""
        from agent_env.runs.questions_again import questions_again

        return questions_again(self, dataset)

    def first_messages(self, sample: Sample, condition: schema.Condition) -> tuple[Message, ...]:
        """What the model is sent first of the sample under the condition."""
        contexts = contexts_of(self, self.manifest)
        strategy, _ = strategy_of(self.task, contexts, sample, condition, plugins=self.plugins)
        return strategy.start(sample)

    def asked_sample(self, episode: schema.Episode) -> Sample:
        """The episode's sample, as its condition asks it."""
        return sample_under(self.samples_by_id[episode.sample], episode.condition)

    # What came of it -------------------------------------------------------------------------

    def episodes(self, **where: str | float) -> Iterator[Episode]:
        """Its episodes, in the order of conditions and samples; those alone that fit: `condition`,
        `status`, `stop_reason`, `sample` or a metric, each a value or several, `"base,web"`.

        An episode that cannot be read is left out, and said on stderr.

        Examples:
            >>> import agent_env as ae
            >>> [episode.name for episode in ae.open("runs/first").episodes(condition="base")]
            ['base/tp-1-00001.1', 'base/tp-1-00002.1']
        """
        rows, _ = self.episode_rows([f"{field}={value}" for field, value in where.items()])
        return self._read_each(str(row.values["episode"]) for row in rows)

    def _read_each(self, names: Iterator[str]) -> Iterator[Episode]:
        for name in names:
            try:
                yield self.episode(name)
            except DatasetError as exc:
                say(f"left out: {exc}")

    def episode_rows(
        self, where: Sequence[str], limit: int | None = None
    ) -> tuple[list[EpisodeRow], Totals]:
        """The episodes that satisfy all filters FIELD=A,B as rows, and sums over all of them."""
        from agent_env.episodes.index import Index
        from agent_env.tasks.sample_files import parse_where

        filters = [parse_where(text) for text in where]
        known = {
            "condition": self.conditions,
            "status": ["finished", "failed", "unfinished", "broken"],
            "stop_reason": get_args(StopReason),
            "outcome": ["read", "unreadable", "failed", "unfinished", "scorer_failed"],
        }
        index = Index(self)
        try:
            index.update()
            index.check(filters, known)
            return index.rows(filters, limit), index.totals(filters)
        finally:
            index.close()

    def episode(self, name: str) -> Episode:
        """The episode CONDITION/SAMPLE.REPEAT; ConfigError where there is none.

        Examples:
            >>> import agent_env as ae
            >>> ae.open("runs/first").episode("explicit/tp-1-00001.1")
            Episode('explicit/tp-1-00001.1': answered, exact_match 1)
        """
        from agent_env.episodes.trace.fold import fold
        from agent_env.episodes.trace.lines import read_trace

        _ = self.manifest
        trace = self.trace_of(name)
        if trace is None:
            raise ConfigError(f"no episode {name}; name it CONDITION/SAMPLE.REPEAT")
        events = read_trace(trace)
        problem = self.misfit(trace, self.identity(), events) if events else "holds no event"
        if problem is not None:
            raise DatasetError(trace, 1, problem.removeprefix(f"{trace}:1: "))
        record = fold(events)
        if (sample := self.samples_by_id.get(record.sample)) is None:
            raise DatasetError(self.path / "samples.jsonl", None, f"no sample '{record.sample}'")
        score = self.task.score(sample, record)
        return Episode(name, trace, self.asked_sample(record), record, score, self)

    def recordings(
        self, on_broken: Callable[[str], None], names: Collection[str] | None = None
    ) -> Iterator[tuple[str, Recording]]:
        """What was recorded of these episodes, or all; `on_broken` is told of the others."""
        from agent_env.episodes.results import recordings

        return recordings(self, on_broken, names)

    def scored(self, on_broken: Callable[[str], None]) -> Iterator[tuple[schema.Episode, Score]]:
        """Every episode with its score by the current scorer; writes nothing."""
        from agent_env.episodes.results import scored_episodes

        return scored_episodes(self, self.task, self.samples, on_broken)

    def data(self, note: Callable[[str], None], name: str | None = None) -> RunData:
        """What a study needs of its episodes; `note` is told what was left out."""
        from agent_env.analysis.study import RunData

        manifest, broken = self.manifest, list[str]()
        name = self.path.resolve().name if name is None else name
        scored = self.scored(broken.append)
        data = RunData.of(name, manifest, self.samples, scored, manifest.model_facts, self.task)
        for reason in broken:
            note(f"left out: {reason}")
        return replace(data, broken=len(broken))

    def comparison(self, note: Callable[[str], None]) -> Comparison:
        """Its conditions, scored by the current scorer; writes nothing."""
        from agent_env.analysis.comparison import Comparison
        from agent_env.analysis.study import Study

        return Comparison(Study.of([self.data(note)], self.task))

    def trace_of(self, episode: str) -> Path | None:
        """The trace of CONDITION/SAMPLE.REPEAT; None where there is no such episode."""
        condition, _, name = episode.partition("/")
        if not _is_name(condition) or not _is_name(name):
            return None
        file = self.path / "episodes" / condition / f"{name}.jsonl"
        return file if is_safe(self.path, file) else None

    def events(self, trace: Path) -> TraceEvents:
        """The trace's events with all texts; of a broken trace, those above the defect."""
        from agent_env.episodes.trace.lines import TraceError, read_trace

        try:
            events = read_trace(trace)
        except TraceError as exc:
            return TraceEvents(exc.sound.events, str(exc))
        return TraceEvents(events, self.misfit(trace, self.identity(), events))

    def assess(self, events: list[Event]) -> Assessment:
        """The score by the current scorer, and where the answer came from, by rules."""
        from agent_env.runs.assessment import assess

        return assess(self, events)

    @cached_property
    def find_faults(self) -> FaultFinder | None:
        """The family's finder, made once: it loads tables."""
        maker = self.task.analysis.fault_finder
        return maker() if maker is not None else None

    def frame(self) -> pd.DataFrame:
        """One row for each episode: its outcome, its metrics, what it used. Needs pandas."""
        from agent_env.analysis.episode_tables import episodes

        return episodes(self.comparison(say))

    def scores(self) -> Tables:
        """The tables of `agent-env show`, first the means of each condition."""
        from agent_env.analysis.result_tables import Tables
        from agent_env.runs.score import read_scores

        return Tables(read_scores(self, None, say).tables())

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

    @property
    def folder(self) -> Run:
        """The run itself; ConfigError where run.json is gone."""
        _ = self.manifest
        return self

    def __repr__(self) -> str:
        manifest = self.manifest
        number = sum(1 for _ in self.traces())
        counts = f"{number} of {manifest.planned_episodes} episodes"
        return f"Run({str(self.path)!r}: {manifest.task}, {manifest.model}, {counts})"

    # Again -----------------------------------------------------------------------------------

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
        from agent_env.runs.objects import LocalObjects
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.resume import resume
        from agent_env.runs.score import score_folder

        local = LocalObjects(self.objects)
        name = None if model is None else local.model(model)
        run = Run(self.path, local.objects)
        chosen = from_arguments(ResumeOptions, {**options, "model": name}, "resume")
        with progress_shown(progress) as shown:
            await resume(run, chosen, shown.listener)
        score_folder(run, say)
        return run

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
        return wait_for(replay(self, chosen, say))


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
    _run: Run

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
        return self._run.assess(self._run.events(self.trace).events).provenance

    def transcript(self, full: bool = False) -> str:
        """The episode readably, as `agent-env show` prints it; long texts cut unless `full`."""
        from agent_env.runs.score import episode_text

        return "\n\n".join(episode_text(self.trace, full, self._run.objects))

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
        tool call; the other keywords are the options of `agent-env episodes fork`.

        Examples:
            >>> import agent_env as ae, asyncio
            >>> episode = ae.open("runs/first").episode("base/tp-1-00001.1")
            >>> forks = asyncio.run(episode.fork(at=0, repeats=2, out="runs/forks"))
            >>> [fork.name for fork in forks.episodes()]
            ['base/tp-1-00001.1', 'base/tp-1-00001.2']
        """
        from agent_env.runs.fork import fork
        from agent_env.runs.objects import LocalObjects
        from agent_env.runs.progress import progress_shown
        from agent_env.runs.score import score_folder

        local = LocalObjects(self._run.objects)
        name = None if model is None else local.model(model)
        chosen = from_arguments(ForkOptions, {**options, "model": name}, "fork")
        with progress_shown(progress) as shown:
            forked = await fork(self.trace, chosen, shown.listener, local.objects)
        score_folder(forked, say)
        return forked

    def __repr__(self) -> str:
        end = self.record.stop_reason or self.record.status
        metrics = [f", {name} {value:.4g}" for name, value in self.score.items()][:1]
        return f"Episode({self.name!r}: {end}{''.join(metrics)})"


@dataclass(frozen=True, slots=True)
class TraceEvents:
    events: list[Event]
    problem: str | None
    """The defect of the rest; None for a sound trace."""


def _is_name(text: str) -> bool:
    """Whether the text is a plain file name."""
    return bool(text) and text not in (".", "..") and not any(c in text for c in "/\\\0")
