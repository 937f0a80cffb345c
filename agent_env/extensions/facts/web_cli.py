"""Commands on the sealed web: web build."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from agent_env.sdk.commands import AsJson

SECTION = "Make questions, facts and pages"

web = typer.Typer(help="The sealed web: build one of your own.", no_args_is_help=True)


@web.callback()
def _group() -> None:
    """The sealed web: build one of your own."""


@web.command()
def build(
    out: Annotated[Path, typer.Option(help="The page store to write, such as pages.db.")],
    world: Annotated[
        str | None,
        typer.Option(help="real or fictional; default: real, or none beside --table."),
    ] = None,
    entities: Annotated[
        int | None,
        typer.Option(help="People, offices, clubs and events of a fictional world; default 5000."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of a fictional world; the same gives the same pages.")
    ] = None,
    difficulty: Annotated[str, typer.Option(help="easy, medium or hard.")] = "medium",
    facts_table: Annotated[
        Path | None, typer.Option(help="Your own event table, rendered instead of the shipped one.")
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(
            help="A temporal table (CSV, Parquet, SQLite, DuckDB), or NAME.materials.jsonl of "
            "generated questions. Repeatable."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Render a world into pages that can be searched without a network.

    Example: agent-env web build --world fictional --entities 5000 --seed 3 --out pages.db, or
    agent-env web build --table td.materials.jsonl --out tables.db
    """
    from agent_env.extensions.facts.web_folder import BuildOptions, build_web

    options = BuildOptions(out, world, entities, seed, difficulty, facts_table, tuple(table or ()))
    result = build_web(options, lambda text: print(text, file=sys.stderr))
    beside = {"facts": result.facts, "intervals": result.intervals}
    if as_json:
        files: dict[str, object] = {
            name: str(file) if file else None for name, file in beside.items()
        }
        files |= {"tables": result.tables, "passed_over": result.passed_over}
        print(
            json.dumps({"pages": result.pages, "digest": result.digest, "out": str(out), **files})
        )
        return
    print(f"{result.pages} pages in {out}, digest {result.digest[:16]}")
    if result.passed_over:
        notice = f"{result.passed_over} groups of the tables' rows are too large for a page"
        print(f"{notice}; questions about them cannot be answered from it", file=sys.stderr)
    if result.facts is not None:
        print(f"facts in {result.facts}, intervals in {result.intervals}")
        puzzles = f"--option facts_table={result.facts} --out puzzles.jsonl"
        print(f"puzzles of it: agent-env generate time-puzzles {puzzles}")
        print(f"ask them:      agent-env run time-puzzles --dataset puzzles.jsonl --pages {out}")
