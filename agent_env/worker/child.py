"""The program of a worker process: confines itself, then answers one call after the other."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import Any

from agent_env.errors import ConfigError, DatasetError, ToolError
from agent_env.worker.wire import JOBS, Job, receive, send

LONGEST_REQUEST = 512 << 20
_NEWUSER, _NEWNET = 0x10000000, 0x40000000
"""Flags of unshare (linux/sched.h)."""
_PAGE = resource.getpagesize()

KINDS = (ToolError, ConfigError, DatasetError)
"""Errors that who asked gets as they are."""

is_worker = False
"""Whether this process is one: what runs in it calls the functions of other jobs directly."""


def function_of(job: Job) -> Callable[..., Any]:
    """The job's function, imported now."""
    module, _, name = job.function.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    return function


def main() -> None:
    """As a program: descriptor of the line, name of the job, then where modules are found."""
    global is_worker
    descriptor, name, *paths = sys.argv[1:]
    sys.path[:] = paths
    is_worker = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job, wire = JOBS[name], socket.socket(fileno=int(descriptor))
    function = function_of(job)
    size = _confine(job)
    with suppress(EOFError, ConnectionError):
        while True:
            _answer(wire, function, receive(wire, LONGEST_REQUEST), size, job.is_kept)


def _confine(job: Job) -> int:
    """Takes away the network, and from a sealed job files; gives the descriptor that tells the
    process's size, -1 where there is none."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return -1
    size = os.open("/proc/self/statm", os.O_RDONLY)
    needs_user = job.is_sealed or os.geteuid() != 0  # root, to read the files of others, stays root
    flags = _NEWNET | _NEWUSER if needs_user else _NEWNET
    ctypes.CDLL(None).unshare(flags)  # refused on some systems: then not
    if job.is_sealed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (size + 1, size + 1))
    return size


def _answer(
    wire: socket.socket,
    function: Callable[..., Any],
    request: dict[str, Any],
    size: int,
    is_kept: bool,
) -> None:
    """Sends a message for each item, the last one with `end`. A process that had too little memory,
    or holds half of what a call may take, ends behind its answer."""
    before = _limit_memory(size, request["memory"])
    signal.setitimer(signal.ITIMER_PROF, request["cpu_s"])  # whose signal ends the process
    try:
        result = function(**request["arguments"])
        items = result if isinstance(result, Iterator) else iter((result,))
        message: dict[str, Any] = {}
        for item in items:
            if message:
                send(wire, message)
            message = {"item": item}
        message["end"] = "result"
    except KINDS as exc:
        kind = next(each for each in KINDS if isinstance(exc, each))
        message = {"end": kind.__name__, "text": str(exc)}
    except MemoryError:
        message = {"end": "memory"}
    except Exception as exc:  # of a foreign parser, which raises what it likes
        message = {"end": "error", "text": f"{type(exc).__name__}: {exc}"[:1000]}
    signal.setitimer(signal.ITIMER_PROF, 0)
    after = _limit_memory(size, None)
    is_full = message["end"] == "memory" or after - before > request["memory"] // 2
    send(wire, {**message, "is_last": is_full or not is_kept})
    if is_full or not is_kept:
        os._exit(0)


def _limit_memory(size: int, memory: int | None) -> int:
    """The process's size now, in bytes, which may grow by `memory` from here."""
    if size < 0:
        return 0
    now = int(os.pread(size, 64, 0).split()[0]) * _PAGE
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]  # the user's own `ulimit -v`
    most = hard if memory is None else now + memory
    within = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (within, hard))
    return now
