"""Conditions of one or several runs, compared on the same questions; and studies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from agent_env.api.run import Run
from agent_env.api.runs import Preflight, as_bool, preflight_wish
from agent_env.errors import ConfigError
from agent_env.extras import FOR_REPORT, missing_of
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.comparing.compare import CompareOptions, TaskComparison
from agent_env.runs.options.keywords import from_arguments, with_keywords
from agent_env.runs.run import Run as OpenRun
from agent_env.runs.screen.terminal import say
from agent_env.runs.studies.folder import StudyFolder
from agent_env.runs.waiting import wait_for

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.html import Figures
    from agent_env.analysis.result_tables import ResultTable
    from agent_env.runs.options.keyword_types import CompareKeywords

WRITTEN = ("by", "tables", "every", "to", "out", "figures", "html")
"""Options of the command that say what is written; here the comparison is asked."""


@with_keywords(CompareOptions, without=("runs", *WRITTEN))
def compare(*runs: Run | Path | str, **options: Unpack[CompareKeywords]) -> Comparison:
    """The conditions of all runs, paired by sample. A run is an opened one, a folder, a folder of
    runs of one task, or the log of another tool (`agent-env docs analysis`). The keywords are the
    options of `agent-env compare` that say what is estimated.

    Examples:
        >>> import agent_env as ae
        >>> comparison = ae.compare("runs/first")
        >>> comparison.differences.rows[0][0]
        'explicit − base'
    """
    from agent_env.runs.comparing.compare import compare_tasks

    paths = tuple(run.path if isinstance(run, Run) else Path(run) for run in runs)
    chosen = from_arguments(CompareOptions, {**options, "runs": paths}, "compare")
    opened = [run._run.objects for run in runs if isinstance(run, Run)]
    objects = {key: thing for each in opened for key, thing in each.items()}
    tasks = compare_tasks(chosen, say, objects)
    if len(tasks) > 1:
        names = ", ".join(task.name for task in tasks)
        raise ConfigError(f"runs of different tasks cannot be compared: {names}; name those of one")
    return Comparison(tasks[0], objects)


class Comparison:
    """Conditions over the same samples. Each statistic is a table and an attribute: `conditions`,
    `differences`, `tools_check`, `use` and those of the task; `dir()` lists them."""

    def __init__(self, task: TaskComparison, objects: Objects = NO_OBJECTS) -> None:
        self._task, self._comparison, self._objects = task, task.comparison, objects

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be read beside the figures: how the runs differ, what is missing."""
        return self._comparison.remarks

    def table(self, name: str) -> ResultTable:
        """The statistic of this name; ConfigError lists those that there are.

        Examples:
            >>> import agent_env as ae
            >>> [row[0] for row in ae.compare("runs/first").table("conditions").rows]
            ['base', 'explicit']
        """
        from agent_env.runs.comparing.compare import select_tables

        return select_tables(self._comparison, [name], ())[0]

    def by(self, group: str) -> ResultTable:
        """The main metric broken down by what the samples have: `facts`, `calendar`, …"""
        from agent_env.analysis.statistics.results import breakdown

        return breakdown(self._comparison, group)

    def frame(self) -> pd.DataFrame:
        """One row for each episode of each run. Needs pandas."""
        from agent_env.analysis.episode_tables import episodes

        return episodes(self._comparison)

    def figures(self) -> Figures:
        """Every figure that the comparison has data for, by name. Needs matplotlib."""
        from agent_env.analysis.html import Figures
        from agent_env.runs.comparing.compare import figures_of

        return Figures(figures_of(self._comparison))

    def save(self, file: Path | str) -> None:
        """Writes everything: `.html` a report with figures, `.md`, `.json`, `.tex` the tables,
        `.csv` a folder with a file for each."""
        from agent_env.runs.comparing.compare import select_tables, write, write_report

        out = Path(file)
        if out.suffix == ".html":
            write_report([self._task], out, say, self._objects)
        else:
            write(select_tables(self._comparison, None, ()), None, out, say)

    def __getattr__(self, name: str) -> ResultTable:
        if name.startswith("_") or name not in self._tables():
            raise AttributeError(
                f"a comparison has no table '{name}'; known: {', '.join(self._tables())}"
            )
        return self.table(name)

    def __dir__(self) -> list[str]:
        return sorted((*super().__dir__(), *filter(str.isidentifier, self._tables())))

    def _tables(self) -> list[str]:
        from agent_env.analysis.statistics import statistics_of

        return [statistic.name for statistic in statistics_of(self._comparison)]

    def _repr_html_(self) -> str | None:
        """For notebooks: the first page of its report, then the conditions and the differences."""
        if missing_of(*FOR_REPORT):
            return None
        from agent_env.analysis.first_page import first_page
        from agent_env.analysis.html import in_notebook

        tables = [self.table(name).without_empty() for name in ("conditions", "differences")]
        return in_notebook("whole", first_page(self._comparison), tables)

    def __str__(self) -> str:
        from agent_env.analysis.result_tables import Tables
        from agent_env.runs.comparing.compare import FIRST, select_tables

        return str(Tables(select_tables(self._comparison, FIRST, ())))

    def __repr__(self) -> str:
        study = self._comparison.study
        labels = ", ".join(arm.label for arm in study.arms)
        return f"Comparison({study.task}: {labels}; {len(study.samples)} samples)"


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
        from agent_env.runs.studies.example import write_study
        from agent_env.runs.studies.toml_lines import toml_text

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
        return {place.name: Run(OpenRun(place.path)) for place in begun}

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
        from agent_env.runs.many import ManyOptions
        from agent_env.runs.options.run_options import ResumeOptions
        from agent_env.runs.screen.progress import progress_shown

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
        from agent_env.runs.studies.status import status_of, status_table

        return status_table(self.path, status_of(self._folder))

    def compare(self, task: str, /, **options: Unpack[CompareKeywords]) -> Comparison:
        """The conditions of all models on one of the tasks; the planned contrasts unless others are
        named. The keywords are those of `agent_env.compare`."""
        if task not in self._folder.plan.tasks:
            known = ", ".join(self._folder.plan.tasks)
            raise ConfigError(f"the study has no task '{task}'; known: {known}")
        return compare(self.path / task, **options)

    def report(self, file: Path | str, /) -> None:
        """Writes one HTML page over all tasks and models."""
        from agent_env.runs.comparing.compare import CompareOptions, compare_tasks, write_report

        tasks = compare_tasks(CompareOptions((self.path,)), say)
        write_report(tasks, Path(file), say, title=f"study {self._folder.name}")

    def __repr__(self) -> str:
        plan = self._folder.plan
        return f"Study({str(self.path)!r}: {', '.join(plan.tasks)}; {', '.join(plan.models)})"
