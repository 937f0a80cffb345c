"""The result of one execution of code."""

from __future__ import annotations

from typing import Literal

from agent_env.records.schema import Stored


class ExecResult(Stored):
    """The result of one execution of code in a sandbox."""

    stdout: str = ""
    stderr: str = ""
    value: str | None = None
    """repr of the last expression, as a notebook shows it."""
    error: str | None = None
    """Traceback of failing code, or why the session ended."""
    status: Literal["ok", "error", "timeout", "crashed"] = "ok"
    """`error`: the code raised. `timeout` and `crashed`: the session and its variables are lost."""
    duration_s: float = 0.0
    truncated: bool = False
    """Whether a text was cut to the output limit."""
