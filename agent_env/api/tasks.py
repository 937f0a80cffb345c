"""What is asked: a task with its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agent_env.api.objects import Held
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.keywords import from_arguments
from agent_env.runs.options import RunOptions
from agent_env.wiring.trust import own_plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_env.records.schema import Sample
    from agent_env.tasks.family import Family
    from agent_env.tasks.task import Task

OF_THE_RUN = ("limit", "seed", "dataset", "where", "prompt")
"""Options of a run that belong to what is asked; all others are the task's own."""


@dataclass(frozen=True, slots=True)
class TaskOptions:
    """A task and which of its questions are asked; made by `task`."""

    name: str
    keywords: Mapping[str, Any]
    """Those of `run` that it stands for."""
    objects: Objects = field(default_factory=lambda: NO_OBJECTS)
    """The task itself, where no name finds it."""

    def samples(self) -> tuple[Sample, ...]:
        """The questions with their gold answers, as a run would ask them.

        Examples:
            >>> import agent_env as ae
            >>> [sample.id for sample in ae.task("time-puzzles", limit=2).samples()]
            ['tp-1-00001', 'tp-1-00002']
        """
        from agent_env.runs.prepare import samples_of

        options = from_arguments(RunOptions, self.keywords, "task")
        return samples_of(replace(options, objects=self.objects)).samples

    def __repr__(self) -> str:
        own = [f"{k}={v!r}" for k, v in self.keywords.items() if k not in ("task", "options")]
        return f"task({', '.join([repr(self.name), *own, *self.keywords['options']])})"


def task(
    name: str | Family | Task, /, *, samples: Sequence[Sample] = (), **options: Any
) -> TaskOptions:
    """The task of this name, to be run by `run`: a built-in or installed one, MODULE:NAME,
    file.py:NAME, a Family, or a Task with its `samples`.

    `limit`, `seed`, `dataset`, `where` and `prompt` say which questions and in which words; all
    others are options of the task, which `agent-env run TASK --help` lists.

    Examples:
        >>> import agent_env as ae
        >>> ae.task("time-puzzles", limit=50, facts="5-6")
        task('time-puzzles', limit=50, facts=5-6)
        >>> ae.task("time-puzzles", limit=0)
        Traceback (most recent call last):
        agent_env.errors.ConfigError: limit=0: must be greater than or equal to 1
    """
    from agent_env.tasks.family import option_texts, read_options
    from agent_env.wiring.registry import load_family

    of_run = {key: value for key, value in options.items() if key in OF_THE_RUN}
    own = {key: value for key, value in options.items() if key not in OF_THE_RUN}
    texts = option_texts(own)
    held = Held()
    if samples:
        of_run.setdefault("limit", len(samples))
    text = name if isinstance(name, str) else held.family(name, samples)
    read_options(load_family(text, own_plugins(held.objects)), texts)
    keywords = {"task": text, **of_run, "options": texts}
    from_arguments(RunOptions, keywords, "task")
    return TaskOptions(text, keywords, held.objects)
