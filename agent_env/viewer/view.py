"""What `view` does: finds out whether it can, and serves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.extras import need_extra


def view_folder(root: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs at or below `root` until Ctrl-C; ConfigError where there is no folder, where
    the port is taken or the extra is missing. A folder without runs is served all the same: they
    may come."""
    if not root.is_dir():
        raise ConfigError(f"{root} is no folder; name a run or a folder of runs")
    need_extra("starlette", "uvicorn", "jinja2", extra="viewer")
    from agent_env.viewer.app import serve

    serve(root.resolve(), port, ready)
