"""agent-env view."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent_env.sdk.commands import Opt, need_extra, say
from agent_env.sdk.errors import ConfigError


def view(
    folder: Annotated[
        Path, typer.Argument(help="A run, or a folder of runs.", metavar="DIR")
    ] = Path("runs"),
    port: Annotated[int, Opt("0: any free one.", min=0, max=65535)] = 8321,
    browser: Annotated[bool, Opt("Open it in the web browser.", flag="--open")] = False,
) -> None:
    """Look at runs in a web browser, also while they go on. On this machine only.

    Example: agent-env view runs
    """
    import webbrowser

    if not folder.is_dir():  # one without runs is served all the same: they may come
        raise ConfigError(f"{folder} is not a folder; name a run or a folder of runs")
    need_extra("starlette", "uvicorn", "jinja2", extra="viewer")
    from agent_env.features.viewer.app import serve

    def ready(address: str) -> None:
        print(address, flush=True)
        say("Ctrl-C ends it. On another machine: ssh -L with the same port on both sides.")
        if browser:
            webbrowser.open(address)

    serve(folder.resolve(), port, ready)
