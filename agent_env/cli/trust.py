"""The command that shows what a folder of somebody else's would do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import AsJson, say


def trust(
    folder: Annotated[
        Path, typer.Argument(help="A run, a study, or a folder of runs.", metavar="DIR")
    ],
    as_json: AsJson = False,
) -> None:
    """Show what a run or study asks for outside its folder (commands, addresses, keys, files,
    code, hosts, prices), and what of it you allowed; nothing is done. --trust-run allows it.

    Example: agent-env trust runs/from-a-colleague
    """
    import json
    from dataclasses import asdict

    from agent_env.runs.asked import asks_of

    asks = asks_of(folder)
    if as_json:
        print(json.dumps([asdict(each) for each in asks]))
        return
    for each in asks:
        print(each)
    if not asks:
        say(f"{folder} asks for nothing outside")
