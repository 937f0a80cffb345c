"""The statistics of a study: every `Statistic` that a module of this package defines.

It holds the statistic's name, its place, what it needs, and the table that it makes of a study. All
that shows statistics (`show`, `compare`, the report, JSON, CSV, LaTeX) goes through `tables_of`.
A family brings its own by dotted path, see `AnalysisHooks.statistics`, and a feature by its
`tables`; an installed package by an entry point of the group `agent_env.statistics`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Literal

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import ResultTable
from agent_env.errors import ConfigError, suggestion
from agent_env.registry import Registry
from agent_env.tasks.features import features


@dataclass(frozen=True, slots=True)
class Statistic:
    name: str
    """Of the table: `--table NAME`, the key in JSON, the file in CSV."""
    table: Callable[[Comparison], ResultTable] | None = None
    """Without rows where the study has nothing for it; `of` gives it."""
    order: int = 100
    """Where it is among the tables: the smaller, the earlier."""
    section: str = "Noise, agreement, gain"
    """Its heading in the report."""
    in_score: bool | Literal["alone"] = False
    """Whether `show` shows it, too; `alone`: also of a run with several conditions, whose other
    tables are left to `compare`."""
    without_rows: str = ""
    """Why a table without rows has none, and what would give it some."""

    def of(self, table: Callable[[Comparison], ResultTable]) -> Statistic:
        """As a decorator: the statistic with this table."""
        return replace(self, table=table)

    def __call__(self, comparison: Comparison) -> ResultTable:
        assert self.table is not None
        return self.table(comparison)


STATISTICS = Registry(
    "statistic",
    "statistics",
    "a Statistic",
    lambda thing, name: thing if isinstance(thing, Statistic) else None,
)
"""Those of installed packages."""


def statistics_of(comparison: Comparison) -> list[Statistic]:
    """Every statistic, in reading order; ConfigError where two have one name."""
    modules = (import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__))
    values = (value for module in modules for value in vars(module).values())
    statistics = [value for value in values if isinstance(value, Statistic)]
    statistics += STATISTICS.installed_objects()
    of_features = [path for feature in features() for path in feature.tables]
    for path in (*of_features, *comparison.hooks.statistics):
        module_name, _, name = path.partition(":")
        hook = getattr(import_module(module_name), name)
        statistics += hook if isinstance(hook, tuple) else [hook]
    seen: set[str] = set()
    for name in (statistic.name for statistic in statistics):
        if name in seen or name.startswith("by-"):
            taken = "another statistic's" if name in seen else "a breakdown's, as --by makes it"
            raise ConfigError(f"statistic '{name}': the name is {taken}; give it another one")
        seen.add(name)
    return sorted(statistics, key=lambda statistic: (statistic.order, statistic.name))


def statistics_named(comparison: Comparison, names: Sequence[str]) -> list[Statistic]:
    """Those of these names; ConfigError lists the known ones."""
    by_name = {statistic.name: statistic for statistic in statistics_of(comparison)}
    if unknown := [name for name in names if name not in by_name]:
        raise ConfigError(f"unknown table '{unknown[0]}'; {suggestion(unknown[0], by_name)}")
    return [by_name[name] for name in names]


def tables_of(comparison: Comparison, statistics: Iterable[Statistic]) -> list[ResultTable]:
    return [table for each in statistics if (table := each(comparison)).rows]
