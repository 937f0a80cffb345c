"""Conditions of one or several runs, compared on the same questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError
from agent_env.extras import FOR_REPORT, missing_of
from agent_env.registry import NO_OBJECTS, Objects
from agent_env.runs.comparing.compare import CompareOptions, TaskComparison
from agent_env.runs.options.keywords import from_arguments
from agent_env.runs.run import Run as OpenRun
from agent_env.runs.screen.terminal import say

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.html import Figures
    from agent_env.analysis.result_tables import ResultTable

WRITTEN = ("by", "tables", "every", "to", "out", "figures", "html")
"""Options of the command that say what is written; here the comparison is asked."""


def comparison_of(runs: Iterable[OpenRun | Path | str], options: Mapping[str, Any]) -> Comparison:
    """As `agent_env.compare`."""
    from agent_env.runs.comparing.compare import compare_tasks

    paths, objects = [], dict[tuple[str, str], object]()
    for run in runs:
        paths.append(run.path if isinstance(run, OpenRun) else Path(run))
        objects |= run.objects if isinstance(run, OpenRun) else {}
    chosen = from_arguments(CompareOptions, {**options, "runs": tuple(paths)}, "compare")
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
