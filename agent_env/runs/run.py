"""A run as every command over its folder gets it: manifest, task, samples and tables, read once."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from agent_env.episodes.run_folder import RunFolder
from agent_env.tasks.family import by_digest, checked_options
from agent_env.tasks.templates import with_texts
from agent_env.wiring.registry import load_family
from agent_env.wiring.rooms import Parts, Rooms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_env.records.schema import Sample
    from agent_env.tasks.task import Task


class Run(RunFolder):
    """A run folder with its task. A call that makes a run also keeps here what it opened to check
    it, for as long as that is open."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parts = Parts()
        self.rooms: Rooms | None = None

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """The run in this folder; ConfigError or DatasetError where there is none."""
        run = cls(Path(path))
        run.manifest()
        return run

    @cached_property
    def task(self) -> Task:
        """The task as the run was asked it: its prompt, its options, its tables."""
        manifest = self.manifest()
        family = load_family(manifest.task)
        options = checked_options(family, manifest.options)
        task = family.make_task(manifest.prompt, options, by_digest(self.materials()))
        return with_texts(task, manifest.prompt_file, manifest.system_file)

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The samples as asked."""
        return self.samples_as(self.task.sample_type)

    @cached_property
    def samples_by_id(self) -> Mapping[str, Sample]:
        return {sample.id: sample for sample in self.samples}

    def let_go(self) -> None:
        """Forget what was opened to check the run; it is about to be closed."""
        self.parts, self.rooms = Parts(), None
