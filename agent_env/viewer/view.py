"""What `view` does: finds out whether it can, and serves."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from agent_env.errors import ConfigError


def view_folder(root: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs at or below `root` until Ctrl-C; ConfigError where there is no folder, where
    the port is taken or the extra is missing. A folder without runs is served all the same: they
    may come."""
    if not root.is_dir():
        raise ConfigError(f"{root} is no folder; name a run or a folder of runs")
    for name in ("starlette", "uvicorn", "jinja2"):
        try:
            import_module(name)
        except ImportError:
            raise ConfigError(f"this needs {name}: pip install 'agent-env[viewer]'") from None
    from agent_env.viewer.serve import serve

    serve(root.resolve(), port, ready)
