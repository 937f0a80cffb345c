"""Serves the viewer on loopback until it is told to stop."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import uvicorn

from agent_env.errors import ConfigError
from agent_env.viewer.app import make_app
from agent_env.viewer.library import Library

HOST = "127.0.0.1"


def serve(root: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serve the runs below `root`; `ready` hears the address. Comes back after Ctrl-C. A `port` of
    0 takes a free one; ConfigError where the port is taken."""
    with listening(port) as listener:
        bound = listener.getsockname()[1]
        library = Library(root)
        library.warm()
        app = make_app(library, bound)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=2,
        )  # fmt: skip
        ready(f"http://{HOST}:{bound}/")
        uvicorn.Server(config).run(sockets=[listener])


def listening(port: int) -> socket.socket:
    """A socket on loopback that already lets callers wait; ConfigError where the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)  # who asks before the server runs waits, and is not refused
    except OSError as exc:
        listener.close()
        raise ConfigError(f"cannot listen on port {port}: {exc.strerror}; --port names another") \
            from exc  # fmt: skip
    return listener
