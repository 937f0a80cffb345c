"""What the commands on the sealed web do: build one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.extensions.facts.tables.tables import FactTables, shipped_tables
from agent_env.sdk.errors import ConfigError, DatasetError, StorageError
from agent_env.sdk.records import MaterialTable, new_file

if TYPE_CHECKING:
    from agent_env.extensions.facts.site.sheet import Difficulty

WORLDS = ("real", "fictional")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What the user asks of a web."""

    out: Path
    world: str | None
    """None is the real one, or none where tables are given."""
    entities: int | None
    seed: int | None
    difficulty: str
    facts_table: Path | None
    """Events to render instead of the shipped ones; of the real world only."""
    tables: tuple[Path, ...] = ()
    """Temporal tables, or the materials of generated questions."""


@dataclass(frozen=True, slots=True)
class BuiltWeb:
    """What was written."""

    pages: int
    digest: str
    """Of all that the pages say."""
    facts: Path | None
    """The world's fact table; None for the real world, whose tables are there already."""
    intervals: Path | None
    tables: int
    """Temporal tables."""
    passed_over: int
    """Groups of their rows that are too large for a page."""


def build_web(options: BuildOptions, note: Callable[[str], None]) -> BuiltWeb:
    """Render a world into a page store with its search, whole or not at all."""
    from agent_env.extensions.facts.site.sheet import difficulty
    from agent_env.extensions.facts.site.tables import passed_over

    level = difficulty(options.difficulty)
    temporal = [table for file in options.tables for table in _temporal(file, note)]
    tables = _world(options)
    if options.out.exists():
        raise ConfigError(f"{options.out} is there already; remove it or name another --out")
    try:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        with new_file(options.out) as part:
            pages, digest = _render(part, tables, level, temporal)
            facts, intervals = _write_tables(options.out, tables)
    except (OSError, StorageError) as exc:
        raise ConfigError(f"cannot write to {options.out}: {exc}") from exc
    _index(options.out, note)
    return BuiltWeb(pages, digest, facts, intervals, len(temporal), passed_over(temporal))


def _temporal(file: Path, note: Callable[[str], None]) -> Sequence[MaterialTable]:
    """The tables of NAME.materials.jsonl, or the one of a table file."""

    if file.suffix != ".jsonl":
        from agent_env.extensions.facts.tables.table_records import make_table, read_sheet

        sheet = read_sheet(file)
        for text in sheet.notes:
            note(f"{file.name}: {text}")
        return [make_table(file, file.stem, sheet).material()]
    from agent_env.sdk.trace import read_materials

    found = [table for table in read_materials(file) if table.is_temporal]
    if not found:
        raise DatasetError(file, None, "holds no table with the columns start and end")
    return found


def _world(options: BuildOptions) -> FactTables:
    if options.world is None and options.tables and options.facts_table is None:
        if options.entities is not None or options.seed is not None:
            raise ConfigError("--entities and --seed go with --world fictional")
        return FactTables((), (), ())
    if options.world not in (None, *WORLDS):
        raise ConfigError(f"unknown world '{options.world}'; known: {', '.join(WORLDS)}")
    if options.world == "fictional":
        from agent_env.extensions.facts.fiction.world import make_world

        if options.facts_table is not None:
            raise ConfigError("--facts-table goes with --world real; a fictional one makes its own")
        entities, seed = options.entities or 5000, 1 if options.seed is None else options.seed
        return make_world(entities, seed)
    if options.entities is not None or options.seed is not None:
        raise ConfigError("--entities and --seed go with --world fictional")
    if options.facts_table is None:
        return shipped_tables()
    from agent_env.extensions.facts.tables.tables import read_world

    return read_world(options.facts_table, shipped_tables())


def _render(
    part: Path, tables: FactTables, level: Difficulty, temporal: Sequence[MaterialTable]
) -> tuple[int, str]:
    from agent_env.extensions.facts.sealed import fill
    from agent_env.extensions.facts.site.render import render_all
    from agent_env.sdk.web import FullText, SqlitePages

    store = SqlitePages(part)
    try:
        sheets = render_all(tables, level, temporal)
        pages = fill(store, FullText(store.connection), sheets)
        digest = store.digest()
    finally:
        store.close()
    return pages, digest


def _write_tables(out: Path, tables: FactTables) -> tuple[Path | None, Path | None]:
    """The fact tables of an invented world, beside its pages."""
    if not tables.invented:
        return None, None
    from agent_env.extensions.facts.tables.tables import write_intervals, write_world

    facts, intervals = out.with_suffix(".facts.csv"), out.with_suffix(".intervals.csv")
    write_world(tables, facts)
    write_intervals(tables.intervals, intervals)
    return facts, intervals


def _index(out: Path, note: Callable[[str], None]) -> None:
    """Make the larger index now, if there will be one, and not in the first run."""
    from agent_env.extensions.facts.sealed import SealedWeb

    SealedWeb.opened(out, note).close()
