"""What plugs in: `list` names it, `new` writes a package of one's own, `trust` shows what a folder
of somebody else's would do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import AsJson, print_table, say
from agent_env.records.options import Opt


def list_registry(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="families, tools, models, search-providers, page-fetchers, sandboxes, "
            "strategies, scorers or metrics."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what can be named: families, tools, models and the like, ours and those of installed
    packages.

    Example: agent-env list tools
    """
    from agent_env.analysis.result_tables import Column, ResultTable
    from agent_env.wiring.listing import listing
    from agent_env.wiring.registry import registries

    if kind is None:
        print("\n".join(registries()))
        return
    rows = listing(kind)
    if as_json:
        print(json.dumps([row.as_json() for row in rows]))
    else:
        columns = (Column("name"), Column("origin"), Column("what it is"))
        cells = tuple((row.name, row.origin, row.summary) for row in rows)
        print_table(ResultTable(kind, kind, columns, cells))


def new(
    kind: Annotated[str, typer.Argument(help="family, tool, scorer, metric, model or exporter.")],
    name: Annotated[str, typer.Argument(help="Of the package, such as leap-days.")],
    out: Annotated[Path | None, Opt("The folder; default: NAME.")] = None,
) -> None:
    """Write a package with something of your own. It works as it is, and its test checks it.

    Example: agent-env new family leap-days
    """
    from agent_env.runs.skeletons.skeleton import write_skeleton

    skeleton = write_skeleton(kind, name, out)
    for file in skeleton.files:
        print(file)
    say(f"install it: pip install -e {skeleton.folder}")
    say(f"check it:   python -m pytest {skeleton.folder}")
    say(f"use it:     {skeleton.command}")


def trust(
    folder: Annotated[
        Path, typer.Argument(help="A run, a study, or a folder of runs.", metavar="DIR")
    ],
    as_json: AsJson = False,
) -> None:
    """Show what a run or study asks for outside its folder, and what of it you allowed; nothing is
    done. --trust-run allows it.

    Example: agent-env episodes trust runs/from-a-colleague
    """
    import json
    from dataclasses import asdict

    from agent_env.runs.studies import asks_of

    asks = asks_of(folder)
    if as_json:
        print(json.dumps([asdict(each) for each in asks]))
        return
    for each in asks:
        print(each)
    if not asks:
        say(f"{folder} asks for nothing outside")
