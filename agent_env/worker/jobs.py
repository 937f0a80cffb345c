"""The functions that the worker calls, by name, and what one call of each may take."""

from __future__ import annotations

from typing import NamedTuple


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
    "logs": Job("agent_env.extensions.interop.foreign.read:parts", 1024, 60.0, 512, is_kept=False),
    "log_episodes": Job(
        "agent_env.extensions.interop.foreign.read:stream", 1024, 60.0, 512, is_kept=False
    ),
    "pdf": Job("agent_env.worker.pdf:read", 512, 10.0, 64),
    "schemas": Job("agent_env.worker.schemas:problem", 256, 1.0, 1, is_sealed=True),
    "table": Job(
        "agent_env.extensions.facts.tables.table_files:binary_parts", 1024, 60.0, 512, is_kept=False
    ),
}
