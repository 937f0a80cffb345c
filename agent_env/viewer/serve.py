"""Serves the viewer on loopback until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from agent_env.runs.hosting import LOOPBACK, listening, serve_app
from agent_env.viewer.app import make_app
from agent_env.viewer.library import Library


def serve(root: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs below `root`; `ready` hears the address. Comes back after Ctrl-C. A `port` of
    0 takes a free one; ConfigError where the port is taken."""
    with listening(port) as listener:
        bound = listener.getsockname()[1]
        library = Library(root)
        library.warm()
        app = make_app(library, bound)
        ready(f"http://{LOOPBACK}:{bound}/")
        asyncio.run(serve_app(app, listener))
