"""A run for all commands over its folder: manifest, task, samples and tables, each read once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_env.episodes.run_folder import RunFolder
from agent_env.errors import ConfigError
from agent_env.permits import Permit
from agent_env.registry import NO_OBJECTS, Objects, Plugins
from agent_env.runs.logs import logs
from agent_env.tasks.conditions import sample_under
from agent_env.tasks.family import by_digest, checked_options
from agent_env.tasks.scorers import with_measures
from agent_env.tasks.templates import with_texts
from agent_env.wiring.registry import load_family
from agent_env.wiring.rooms import Parts, Rooms
from agent_env.wiring.trust import check_reading, known_permit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_env.models.serving.process import ServerProcess
    from agent_env.records.schema import Episode, Sample
    from agent_env.tasks.task import Task


class Run(RunFolder):
    """A run folder with its task, and the objects that were opened to check it, while they are
    open."""

    def __init__(self, path: Path, objects: Objects = NO_OBJECTS) -> None:
        super().__init__(path)
        self.parts = Parts()
        self.rooms: Rooms | None = None
        self.server: ServerProcess | None = None
        self.objects = objects

    @classmethod
    def open(cls, path: Path | str, objects: Objects = NO_OBJECTS) -> Self:
        """The run in this folder; ConfigError or DatasetError if it has none."""
        run = cls(Path(path), objects)
        run.manifest()
        return run

    @cached_property
    def permit(self) -> Permit:  # type: ignore[override]
        """For what this user made here or allowed, until a command asks for more."""
        return known_permit(self)

    @property
    def plugins(self) -> Plugins:
        """What the run uses that is not built in."""
        return Plugins(self.manifest().plugins, self.objects, self.permit)

    @cached_property
    def task(self) -> Task:
        """The task with the run's prompt, options and tables; ConfigError where that takes code
        that is neither built in nor trusted for this folder."""
        manifest = self.manifest()
        if manifest.imported is not None:
            return logs().imported_task(manifest, manifest.imported)
        check_reading(self, manifest)
        family = load_family(manifest.task, self.plugins)
        options = checked_options(family, manifest.options)
        task = family.make_task(manifest.prompt, options, by_digest(self.materials()))
        task = with_texts(task, manifest.prompt_file, manifest.system_file)
        return with_measures(task, manifest.scorer, manifest.metrics, self.plugins)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The run's samples, in order."""
        return self.samples_as(self.task.sample_type)

    @cached_property
    def samples_by_id(self) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self.samples}

    def asked_sample(self, episode: Episode) -> Sample:
        """The episode's sample, as its condition asks it."""
        return sample_under(self.samples_by_id[episode.sample], episode.condition)

    def check_ours(self, what: str) -> None:
        """ConfigError for an imported run, which was never asked here."""
        source = self.manifest().imported
        if source is not None:
            raise ConfigError(
                f"{self.path} was imported from {source.file} ({source.tool}) and cannot be "
                f"{what}: its model and tools were not run here; view, show, score, compare, "
                "diagnose, judge and export take it"
            )

    def let_go(self) -> None:
        """Drops the objects that were opened to check the run, before they are closed."""
        self.parts, self.rooms = Parts(), None
