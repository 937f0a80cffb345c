"""Commands on the sealed web: web build."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from agent_env.sdk.commands import AsJson, Opt, with_options
from agent_env.sdk.errors import ConfigError, DatasetError, StorageError
from agent_env.temporal.days import iso_day

if TYPE_CHECKING:
    from agent_env.features.facts.tables.tables import FactTables
    from agent_env.sdk.records import MaterialTable
    from agent_env.sdk.web import Page


@with_options("agent_env.features.facts.web_cli:BuildOptions")
def build(options: BuildOptions, as_json: AsJson = False) -> None:
    """Render a world into pages that can be searched without a network.

    Example: agent-env web build --world fictional --entities 5000 --seed 3 --out pages.db, or
    agent-env web build --table td.materials.jsonl --out tables.db
    """
    result, out = build_web(options, lambda text: print(text, file=sys.stderr)), options.out
    beside = {"facts": result.facts, "intervals": result.intervals}
    if as_json:
        files: dict[str, object] = {
            name: str(file) if file else None for name, file in beside.items()
        }
        files |= {"tables": result.tables, "passed_over": result.passed_over}
        fields = {"pages": result.pages, "digest": result.digest, "out": str(out)}
        print(json.dumps(fields | files))
        return
    print(f"{result.pages} pages in {out}, digest {result.digest[:16]}")
    if result.passed_over:
        notice = f"{result.passed_over} groups of the tables' rows are too large for a page"
        print(f"{notice}; questions about them cannot be answered from it", file=sys.stderr)
    if result.facts is not None:
        print(f"facts in {result.facts}, intervals in {result.intervals}")
        puzzles = f"--option facts_table={result.facts} --out puzzles.jsonl"
        print(f"puzzles of it: agent-env questions generate time-puzzles {puzzles}")
        print(f"ask them:      agent-env run time-puzzles --dataset puzzles.jsonl --pages {out}")


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """What the user asks of a web."""

    out: Annotated[Path, Opt("The page store to write, such as pages.db.")]
    world: Annotated[
        Literal["real", "fictional"] | None,
        Opt("real or fictional; default: real, or none beside --table."),
    ] = None
    entities: Annotated[
        int | None, Opt("People, offices, clubs and events of a fictional world; default 5000.")
    ] = None
    seed: Annotated[
        int | None, Opt("Of a fictional world; the same gives the same pages.", min=0)
    ] = None
    difficulty: Annotated[str, Opt("easy, medium or hard.")] = "medium"
    facts_table: Annotated[
        Path | None, Opt("Your own event table, rendered instead of the shipped one.")
    ] = None
    tables: Annotated[
        tuple[Path, ...],
        Opt(
            "A temporal table (CSV, Parquet, SQLite, DuckDB), or NAME.materials.jsonl of "
            "generated questions. Repeatable.",
            flag="--table",
        ),
    ] = ()
    today: Annotated[
        str | None,
        Opt(
            "YYYY-MM-DD: what the pages said on that day, to look at; runs have their own --today."
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class BuiltWeb:
    """What was written."""

    pages: int
    digest: str
    """Of all that the pages say."""
    facts: Path | None
    """The world's fact table; None for the real world, whose tables are there already, and for a
    web of one day."""
    intervals: Path | None
    tables: int
    """Temporal tables."""
    passed_over: int
    """Groups of their rows that are too large for a page."""


def build_web(options: BuildOptions, note: Callable[[str], None]) -> BuiltWeb:
    """Render a world into a page store with its search, whole or not at all."""
    from agent_env.features.facts.sealed import AgingWorld, SealedWeb, as_page
    from agent_env.features.facts.site.render import render_all
    from agent_env.features.facts.site.sheet import difficulty
    from agent_env.features.facts.site.tables import passed_over
    from agent_env.features.facts.tables.tables import write_intervals, write_world
    from agent_env.sdk.records import new_file

    level, out = difficulty(options.difficulty), options.out
    temporal = [table for file in options.tables for table in _temporal(file, note)]
    tables = _world(options)
    pages: Iterable[Page] = map(as_page, render_all(tables, level, temporal))
    if options.today is not None:
        if (day := iso_day(options.today)) is None:
            raise ConfigError(f"--today '{options.today}' is not a day; write YYYY-MM-DD")
        pages = AgingWorld(tables, level, temporal, note).on(day).pages()
    if out.exists():
        raise ConfigError(f"{out} is there already; remove it or name another --out")
    facts = intervals = None
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with new_file(out) as part:
            with closing(SealedWeb.begun(part)) as web:
                count = web.add(pages)
                digest = web.store.digest()
            if tables.invented and options.today is None:
                facts, intervals = out.with_suffix(".facts.csv"), out.with_suffix(".intervals.csv")
                write_world(tables, facts)
                write_intervals(tables.intervals, intervals)
    except (OSError, StorageError) as exc:
        raise ConfigError(f"cannot write to {out}: {getattr(exc, 'strerror', exc)}") from exc
    SealedWeb.opened(out, note).close()  # makes the larger index now, and not in the first run
    return BuiltWeb(count, digest, facts, intervals, len(temporal), passed_over(temporal))


def _temporal(file: Path, note: Callable[[str], None]) -> Sequence[MaterialTable]:
    """The tables of NAME.materials.jsonl, or the one of a table file."""
    if file.suffix != ".jsonl":
        from agent_env.features.facts.tables.table_records import make_table, read_sheet

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
    from agent_env.features.facts.tables.tables import FactTables, read_world, shipped_tables

    if options.world == "fictional":
        from agent_env.features.facts.fiction.world import make_world

        if options.facts_table is not None:
            raise ConfigError("--facts-table goes with --world real; a fictional one makes its own")
        entities, seed = options.entities or 5000, 1 if options.seed is None else options.seed
        return make_world(entities, seed)
    if options.entities is not None or options.seed is not None:
        raise ConfigError("--entities and --seed go with --world fictional")
    if options.facts_table is not None:
        return read_world(options.facts_table, shipped_tables())
    return FactTables((), (), ()) if options.world is None and options.tables else shipped_tables()
