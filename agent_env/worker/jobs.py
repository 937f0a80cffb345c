"""The functions that the worker calls, by name, and what one call of each may take."""

from __future__ import annotations

from typing import NamedTuple


class Refused(Exception):
    """Why a function gives no result, in its own words for who asked."""


class Job(NamedTuple):
    """A function and its limits."""

    function: str
    """MODULE:NAME; it takes and returns JSON values, or yields them."""
    memory_mb: int
    """Of one call, beyond what the process holds before it."""
    cpu_s: float
    reply_mb: int
    """Of one message of the reply."""
    is_sealed: bool = False
    """Whether it opens no file once its code is loaded."""


JOBS = {
    "sql": Job("agent_env.worker.sql:select", 256, 5.0, 1, is_sealed=True),
    "pdf": Job("agent_env.worker.pdf:read", 512, 10.0, 64),
    "schemas": Job("agent_env.worker.schemas:problem", 256, 1.0, 1, is_sealed=True),
}
