"""A run: what its folder holds, read when it is asked for; and what can be done with it again.

Every command over a folder works with it; `agent_env.run` and `agent_env.open` return it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, get_args

from agent_env.episodes.disturbances import disturbances
from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError, DatasetError
from agent_env.permits import Permit
from agent_env.records.safe_files import is_safe
from agent_env.records.schema import StopReason
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.runs.logs import logs
from agent_env.tasks.conditions import world_of
from agent_env.tasks.family import by_digest
from agent_env.tasks.scorers import (
    AUTHORS_SCORER,
    SCORERS,
    RecordedScorer,
    with_measures,
    with_recorded_scores,
)
from agent_env.tasks.templates import with_texts
from agent_env.wiring.components import Parts, RunComponents, contexts_of, strategy_of
from agent_env.wiring.registry import load_family
from agent_env.wiring.trust import check_reading, keep_known, known_permit

if TYPE_CHECKING:
    from agent_env.analysis.comparison import Comparison
    from agent_env.analysis.study import RunData
    from agent_env.episodes.index import EpisodeRow, Totals
    from agent_env.episodes.trace.fold import Recording
    from agent_env.records import schema
    from agent_env.records.schema import Message, Sample, Score
    from agent_env.records.trace_events import Event
    from agent_env.tasks.features import StartedServer
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
        self.server: StartedServer | None = None

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
        that is neither built in nor trusted for this folder, or the feature for disturbances is
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
        if manifest.scorer is not None and self._is_scorer_gone(manifest.scorer):
            return with_recorded_scores(task, self.read("scores.jsonl"))
        return with_measures(task, manifest.scorer, manifest.metrics, self.plugins)

    @property
    def has_recorded_scores(self) -> bool:
        """Whether its scores are those that it kept, as the function that gave them is gone."""
        return isinstance(self.task.scorer, RecordedScorer)

    def check_scorer(self) -> None:
        """ConfigError where the function that scored it is gone: new episodes would have no
        score."""
        if self.has_recorded_scores:
            raise ConfigError(
                f"the function {self.manifest.scorer}, which scores {self.path}, is not here; give "
                "it: agent_env.open(PATH, scorer=…), or put it into a file"
            )

    def _is_scorer_gone(self, name: str) -> bool:
        """Whether it was a function of the process that made the run, which kept its scores."""
        is_named = ":" in name or name == AUTHORS_SCORER or name in SCORERS.names()
        is_there = is_named or self.plugins.has(SCORERS, name)
        return not is_there and (self.path / "scores.jsonl").is_file()

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

    def first_messages(self, sample: Sample, condition: schema.Condition) -> tuple[Message, ...]:
        """What the model is sent first of the sample under the condition."""
        contexts = contexts_of(self, self.manifest)
        strategy, _ = strategy_of(self.task, contexts, sample, condition, plugins=self.plugins)
        return strategy.start(sample)

    def asked_sample(self, episode: schema.Episode) -> Sample:
        """The episode's sample, as its condition asks it."""
        return self.samples_by_id[episode.sample].in_world(world_of(episode.condition))

    # What came of it -------------------------------------------------------------------------

    def episode_rows(
        self,
        where: Sequence[str],
        limit: int | None = None,
        score: Callable[[], object] = lambda: None,
    ) -> tuple[list[EpisodeRow], Totals]:
        """The episodes that satisfy all filters FIELD=A,B as rows, and sums over all of them;
        `score` writes the scores where the run was stopped before it had them."""
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
            if index.lacks_scores():
                score()
                index.update()
            index.check(filters, known)
            return index.rows(filters, limit), index.totals(filters)
        finally:
            index.close()

    def read_episode(self, name: str) -> tuple[Path, schema.Episode, Score]:
        """The trace, the record and the score of CONDITION/SAMPLE.REPEAT; ConfigError where there
        is no such episode, DatasetError for a trace that is not sound."""
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
        return trace, record, self.task.score(sample, record)

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

    @cached_property
    def find_faults(self) -> FaultFinder | None:
        """The family's finder, made once: it loads tables."""
        maker = self.task.analysis.fault_finder
        return maker() if maker is not None else None


@dataclass(frozen=True, slots=True)
class TraceEvents:
    events: list[Event]
    problem: str | None
    """The defect of the rest; None for a sound trace."""


def _is_name(text: str) -> bool:
    """Whether the text is a plain file name."""
    return bool(text) and text not in (".", "..") and not any(c in text for c in "/\\\0")
