"""Conditions of one or several runs, compared on the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from agent_env.api.runs import Run
from agent_env.errors import ConfigError
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.compare import CompareOptions, TaskComparison
from agent_env.runs.keywords import from_arguments, with_keywords
from agent_env.runs.terminal import say

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from agent_env.analysis.result_tables import ResultTable
    from agent_env.api.keywords import CompareKeywords

WRITTEN = ("by", "tables", "to", "out", "figures", "html")
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
    from agent_env.runs.compare import compare_tasks

    paths = tuple(run.path if isinstance(run, Run) else Path(run) for run in runs)
    chosen = from_arguments(CompareOptions, {**options, "runs": paths}, "compare")
    opened = [run.folder.objects for run in runs if isinstance(run, Run)]
    objects = {key: thing for each in opened for key, thing in each.items()}
    tasks = compare_tasks(chosen, say, objects)
    if len(tasks) > 1:
        names = ", ".join(task.name for task in tasks)
        raise ConfigError(f"runs of different tasks cannot be compared: {names}; name those of one")
    return Comparison(tasks[0], objects)


class Comparison:
    """Conditions over the same samples. Each statistic is a table and an attribute: `conditions`,
    `differences`, `treatment`, `use`, `outcomes` and those of the task; `dir()` lists them."""

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
        from agent_env.runs.compare import select_tables

        return select_tables(self._comparison, [name], ())[0]

    def by(self, group: str) -> ResultTable:
        """The main metric broken down by what the samples have: `facts`, `calendar`, …"""
        from agent_env.analysis.statistics.results import breakdown

        return breakdown(self._comparison, group)

    def frame(self) -> pd.DataFrame:
        """One row for each episode of each run. Needs pandas."""
        from agent_env.analysis.frames import episodes

        return episodes(self._comparison)

    def figures(self) -> Mapping[str, Figure]:
        """Every figure that the comparison has data for, by name. Needs matplotlib."""
        from agent_env.runs.compare import figures_of

        return figures_of(self._comparison)

    def save(self, file: Path | str) -> None:
        """Writes everything: `.html` a report with figures, `.md`, `.json`, `.tex` the tables,
        `.csv` a folder with a file for each."""
        from agent_env.runs.compare import select_tables, write, write_report

        out = Path(file)
        if out.suffix == ".html":
            write_report([self._task], out, say, self._objects)
        else:
            write(select_tables(self._comparison, ["all"], ()), None, out, say)

    def __getattr__(self, name: str) -> ResultTable:
        if name.startswith("_") or name not in self._tables():
            raise AttributeError(
                f"a comparison has no table '{name}'; known: {', '.join(self._tables())}"
            )
        return self.table(name)

    def __dir__(self) -> list[str]:
        return sorted((*super().__dir__(), *self._tables()))

    def _tables(self) -> list[str]:
        from agent_env.analysis.statistics import statistics_of

        return [statistic.name for statistic in statistics_of(self._comparison)]

    def _repr_markdown_(self) -> str:
        """For notebooks: the conclusions, then the conditions and the differences."""
        names = ("conclusions", "conditions", "differences")
        return "\n".join(str(self.table(name)) for name in names)

    def __repr__(self) -> str:
        study = self._comparison.study
        labels = ", ".join(arm.label for arm in study.arms)
        return f"Comparison({study.task}: {labels}; {len(study.samples)} samples)"
