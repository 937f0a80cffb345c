"""Messages of the worker: JSON behind its length in four bytes."""

from __future__ import annotations

import json
import socket
import time
from typing import Any, NamedTuple


class NoMessage(ValueError):
    """What came is not a message, or too long a one."""


def send(wire: socket.socket, message: Any) -> None:
    """All of the message; what JSON does not know, as a day, goes as its text."""
    data = json.dumps(message, default=str).encode()
    wire.sendall(len(data).to_bytes(4, "big") + data)


def receive(wire: socket.socket, most: int, until: float | None = None) -> dict[str, Any]:
    """The next message; EOFError where the other side is gone, TimeoutError at `until` (monotonic
    seconds), NoMessage for what is none or has more than `most` bytes."""
    size = int.from_bytes(_exactly(wire, 4, until), "big")
    if size > most:
        raise NoMessage(f"a message of {size:,} bytes")
    try:
        message = json.loads(_exactly(wire, size, until))
    except (ValueError, RecursionError) as exc:
        raise NoMessage("what is not JSON") from exc
    if not isinstance(message, dict):
        raise NoMessage("what is not a message")
    return message


def _exactly(wire: socket.socket, size: int, until: float | None) -> bytes:
    data = bytearray()
    while len(data) < size:
        if until is not None:
            wire.settimeout(max(1e-3, until - time.monotonic()))
        part = wire.recv(min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


class Job(NamedTuple):
    """A function and its limits."""

    function: str
    """MODULE:NAME; it takes and returns JSON values, or yields them, and raises ToolError,
    ConfigError or DatasetError for who asked."""
    memory_mb: int
    """Of one call, beyond what the process holds before it."""
    cpu_s: float
    reply_mb: int
    """Of one message of the reply."""
    is_sealed: bool = False
    """Whether it opens no file once its code is loaded."""
    is_kept: bool = True
    """Whether its process serves further calls."""


JOBS = {
    "sql": Job("agent_env.worker.sql:select", 256, 5.0, 1, is_sealed=True),
    "logs": Job("agent_env.features.interop.foreign.read:parts", 1024, 60.0, 512, is_kept=False),
    "log_episodes": Job(
        "agent_env.features.interop.foreign.read:stream", 1024, 60.0, 512, is_kept=False
    ),
    "pdf": Job("agent_env.worker.pdf:read", 512, 10.0, 64),
    "schemas": Job("agent_env.worker.schemas:problem", 256, 1.0, 1, is_sealed=True),
    "table": Job(
        "agent_env.features.facts.tables.table_files:binary_parts", 1024, 60.0, 512, is_kept=False
    ),
}
