"""The command line, in this process: starting one for each command costs seconds."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from agent_env.cli import main


@dataclass(frozen=True)
class Done:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def agent_env(*arguments: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> Done:
    """What the command leaves; keys of the environment are kept from it."""
    out, err = io.StringIO(), io.StringIO()
    clean = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    signals = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            patch.dict(os.environ, clean | (env or {}), clear=True),
            patch.object(sys, "argv", ["agent-env", *arguments]),
            chdir(cwd or Path.cwd()),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            main()
    except SystemExit as exc:
        return Done(int(exc.code or 0), out.getvalue(), err.getvalue())
    finally:
        for number, handler in signals.items():
            signal.signal(number, handler)
    raise AssertionError("main() ends the process")
