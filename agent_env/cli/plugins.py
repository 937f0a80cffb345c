"""The command `list`: what there is by name, ours and that of installed packages."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from agent_env.cli.run import AsJson
from agent_env.cli.tables import print_table


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
    from agent_env.wiring.registry import REGISTRIES

    if kind is None:
        print("\n".join(REGISTRIES))
        return
    rows = listing(kind)
    if as_json:
        print(json.dumps([row.as_json() for row in rows]))
    else:
        columns = (Column("name"), Column("origin"), Column("what it is"))
        cells = tuple((row.name, row.origin, row.summary) for row in rows)
        print_table(ResultTable(kind, kind, columns, cells))
