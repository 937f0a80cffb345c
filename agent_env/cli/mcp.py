"""agent-env mcp: MCP servers, those of a run and our own."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from agent_env.cli.mcp_server import serve, tools
from agent_env.cli.run import AsJson, RunPath, say

mcp = typer.Typer(
    rich_markup_mode=None,
    help="MCP servers of a run; tasks and tools for MCP clients.\n\n"
    "Example: agent-env mcp serve time-puzzles --condition web+ci --out runs/exam",
)


@mcp.command()
def diff(
    folder: RunPath,
    command: Annotated[
        str,
        typer.Argument(
            metavar="COMMAND",
            help="What starts the server, or its URL; NAME=COMMAND where the run has several.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Compare a server with the one that a run recorded; exit 1 where they differ.

    Example: agent-env mcp diff runs/first mcp-server-time
    """
    import asyncio

    from agent_env.runs.mcp import mcp_diff
    from agent_env.runs.run import Run

    lines = asyncio.run(mcp_diff(Run.open(folder), command, say))
    if as_json:
        print(json.dumps({"run": str(folder), "differences": lines}))
    else:
        print("\n".join(lines) or "the server is as it was recorded")
    if lines:
        sys.exit(1)


mcp.command()(serve)
mcp.command()(tools)
