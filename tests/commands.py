"""The command line, in this process: starting one for each command costs seconds. A server beside
it runs in a thread (`serving`). Where a signal needs a process of its own, `running` starts one,
and ends it whatever happens."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import threading
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from agent_env.cli.app import main
from agent_env.cli.tree import Commands

_make_command, _MADE = Commands.get_command, {}


def _command(self, ctx, name):
    """A command of ours is made of its signature once, and not at every call."""
    if not self.paths.get(name, "").startswith("agent_env."):
        return _make_command(self, ctx, name)
    key = f"{self.prefix}{name}"
    if key not in _MADE:
        _MADE[key] = _make_command(self, ctx, name)
    return _MADE[key]


@dataclass(frozen=True)
class Done:
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def agent_env(*arguments, cwd=None, env=None):
    """What the command leaves; keys of the environment are kept from it."""
    out, err = io.StringIO(), io.StringIO()
    clean = {name: value for name, value in os.environ.items() if "API_KEY" not in name}
    signals = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with (
            patch.dict(os.environ, clean | (env or {}), clear=True),
            patch.object(sys, "argv", ["agent-env", *arguments]),
            patch.object(Commands, "get_command", _command),
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


def typed(line, *values, **how):
    """What the command leaves; in its line {} stands for the next value, whatever is in it."""
    rest = iter(values)
    words = [word.replace("{}", str(next(rest))) if "{}" in word else word for word in line.split()]
    return agent_env(*words, **how)


def run_puzzles(out, *more, limit=1, conditions=("base",), **how):
    """The folder of a run of puzzles, asked by the command line."""
    named = [word for name in conditions for word in ("--condition", name)]
    words = ("--limit", str(limit), *named, "--out", str(out), *more)
    done = agent_env("run", "time-puzzles", *words, **how)
    assert done.returncode == 0, done.stderr
    return out


@contextmanager
def serving(server):
    """The address of the server, which answers in a thread until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(60)
        try:
            yield server.url
        finally:
            asyncio.run_coroutine_threadsafe(server.__aexit__(None, None, None), loop).result(60)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


@contextmanager
def running(*arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, module="agent_env"):
    """The command in a process that hears SIGINT, even where ours ignores it; it and all that it
    started are killed on leaving."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdout=stdout,
        stderr=stderr,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_ctrl_c,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _hear_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
