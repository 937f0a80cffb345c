"""A study in Python: what `agent-env study` does, and its runs and comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import agent_env
from agent_env.features.studies.folder import StudyFolder
from agent_env.sdk.commands import say
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import Preflight, as_bool, preflight_wish
from agent_env.sdk.run import wait_for

if TYPE_CHECKING:
    from agent_env import Comparison, Run
    from agent_env.sdk.inside import CompareKeywords
    from agent_env.sdk.results import ResultTable


class Study:
    """A study's folder, with its study.toml; ConfigError or DatasetErrors with all mistakes where
    the file is none.

    Examples:
        >>> import agent_env as ae
        >>> study = ae.Study.new(
        ...     "studies/words",
        ...     tasks={"few": {"task": "time-puzzles", "limit": 2}},
        ...     models={"a": {"model": "reference"}, "b": {"model": "reference-static"}},
        ...     conditions=["base", "explicit"],
        ...     contrasts=["explicit:base"],
        ... )
        >>> study.run_sync(progress=False)
        {}
        >>> sorted(study.runs)
        ['few/a', 'few/b']
        >>> study.compare("few").differences.rows[0][0]
        'a explicit − a base'
    """

    def __init__(self, path: Path | str, /) -> None:
        self._folder = StudyFolder(path)
        if not self._folder.is_foreign:
            self._folder.allow(say)
        _ = self._folder.plan

    @classmethod
    def new(cls, path: Path | str, /, **plan: Any) -> Self:
        """Writes study.toml with these entries into a new folder: `tasks` and `models` by name,
        `contrasts`, `budget`, and options of `run`. ConfigError where a study is there."""
        from agent_env.features.studies.example import write_study
        from agent_env.sdk.inside import toml_text

        write_study(Path(path), toml_text(plan))
        return cls(path)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._folder.path

    @property
    def runs(self) -> Mapping[str, Run]:
        """The runs that were begun, by TASK/MODEL."""
        begun = (place for place in self._folder.places() if place.is_begun)
        return {place.name: agent_env.open(place.path) for place in begun}

    async def run(
        self,
        *,
        preflight: Preflight = "on",
        accept_changes: bool = False,
        trust_run: bool = False,
        progress: bool = True,
    ) -> dict[str, str]:
        """Begins the study, or runs whatever is missing of it; gives by TASK/MODEL why a run did
        not come to its end."""
        from agent_env.sdk.inside import ManyOptions, ResumeOptions, progress_shown

        preflight = preflight_wish(preflight)
        folder = StudyFolder(self.path)  # the file as it is now
        options = ResumeOptions(
            accept_changes=accept_changes, anyway=preflight == "anyway", trust_run=trust_run
        )
        how, limits = ManyOptions(options, preflight), folder.plan.budget.as_limits()
        go = folder.start if folder.record is None else folder.resume
        with progress_shown(
            as_bool("progress", progress), f"agent-env resume {self.path}", limits
        ) as shown:
            return await go(shown.listener_for, say, how)

    def run_sync(
        self,
        *,
        preflight: Preflight = "on",
        accept_changes: bool = False,
        trust_run: bool = False,
        progress: bool = True,
    ) -> dict[str, str]:
        """`run` for scripts, without `await`."""
        return wait_for(
            self.run(
                preflight=preflight,
                accept_changes=accept_changes,
                trust_run=trust_run,
                progress=progress,
            )
        )

    def status(self) -> ResultTable:
        """A row for each run: episodes finished and failed, the score so far, tokens, money."""
        from agent_env.features.studies.status import status_of, status_table

        return status_table(self.path, status_of(self._folder))

    def compare(self, task: str, /, **options: Unpack[CompareKeywords]) -> Comparison:
        """The conditions of all models on one of the tasks; the planned contrasts unless others are
        named. The keywords are those of `agent_env.compare`."""
        if task not in self._folder.plan.tasks:
            known = ", ".join(self._folder.plan.tasks)
            raise ConfigError(f"the study has no task '{task}'; known: {known}")
        return agent_env.compare(self.path / task, **options)

    def report(self, file: Path | str, /) -> None:
        """Writes one HTML page over all tasks and models."""
        from agent_env.sdk.inside import CompareOptions, compare_tasks, write_report

        tasks = compare_tasks(CompareOptions((self.path,)), say)
        write_report(tasks, Path(file), say, title=f"study {self._folder.name}")

    def __repr__(self) -> str:
        plan = self._folder.plan
        return f"Study({str(self.path)!r}: {', '.join(plan.tasks)}; {', '.join(plan.models)})"
