"""The command `new`: a package of one's own, to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_env.cli.run import say


def new(
    kind: Annotated[str, typer.Argument(help="family or tool.")],
    name: Annotated[str, typer.Argument(help="Of the package, such as leap-days.")],
    out: Annotated[Path | None, typer.Option(help="The folder; default: NAME.")] = None,
) -> None:
    """Write a package with a family or a tool of your own: it works, and its test checks it.

    Example: agent-env new family leap-days
    """
    from agent_env.runs.skeleton import write_skeleton

    made = write_skeleton(kind, name, out)
    for file in made.files:
        print(file)
    use = f"run {made.name}"
    if kind == "tool":
        use = f"run time-puzzles --limit 4 --condition {made.name}"
    say(f"install it: pip install -e {made.folder}")
    say(f"check it:   python -m pytest {made.folder}")
    say(f"use it:     agent-env {use}")
