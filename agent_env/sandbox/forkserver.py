"""The clean process that sessions are forked from: no host files, no secrets, modules loaded.

It reads messages on its control socket; each carries the socket of a new session, for which it
forks a child that isolates itself and serves. It never runs foreign code and never answers.
"""

from __future__ import annotations

import gc
import importlib
import itertools
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import NoReturn

from agent_env.sandbox import kernel
from agent_env.sandbox.clock import Mappings, set_clock
from agent_env.sandbox.isolate import leave_host, shut_in
from agent_env.sandbox.rlimits import Bounds, forbid_cores
from agent_env.sandbox.worker import send_line, serve

PRELOADED = (
    "bisect calendar collections contextlib copy csv ctypes dataclasses datetime decimal enum "
    "fractions functools glob hashlib heapq inspect io itertools json math numbers operator os "
    "pathlib pprint random re select socket statistics string struct subprocess tempfile "
    "textwrap threading time traceback types typing unicodedata uuid zoneinfo"
).split()


def main() -> None:
    """As a program: control and /proc descriptors, uids, work directory, bounds, packages."""
    control, proc, uids, work, bounds, *packages = sys.argv[1:]
    forbid_cores()
    for name in (*PRELOADED, *packages):
        with suppress(ImportError):
            importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    gc.collect()
    gc.freeze()
    limits, uid = Bounds(**json.loads(bounds)), lend_uids(int(uids))
    mappings = Mappings(int(proc))

    def begin(wire: int, doors: list[int], day_s: int | None) -> None:
        clock = None if day_s is None else partial(set_clock, day_s, mappings)
        begin_session(wire, doors, next(uid), int(proc), work, limits, clock)

    listen(int(control), begin)


def lend_uids(count: int) -> Iterator[int | None]:
    """For each session a uid of its own, as the kernel counts some things by uid; None: ours."""
    return itertools.cycle(range(1, count) if count else (None,))


def listen(control_fd: int, begin: Callable[[int, list[int], int | None], None]) -> None:
    """Begin a session for each message, until the harness hangs up.

    `begin` gets the session's socket, the doors of its control groups, and when the day of its
    clock begins, in seconds from 1970; None for the real clock.
    """
    control = socket.socket(fileno=control_fd)
    control.send(b"ready")
    while True:
        message, fds, _, _ = socket.recv_fds(control, 64, 8)
        if not fds:
            return
        day_s = message.partition(b" ")[2]
        begin(fds[0], fds[1:], int(day_s) if day_s else None)
        for fd in fds:
            os.close(fd)


def begin_session(
    wire: int,
    doors: list[int],
    uid: int | None,
    proc: int,
    work: str,
    bounds: Bounds,
    clock: Callable[[], None] | None,
) -> None:
    """Fork a child that leaves the host, forks the session's first process and hands it over."""
    if os.fork() != 0:
        return
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        join_groups(doors)
        if uid is not None:
            kernel.take_uid(uid)
        leave_host(proc)
        os.close(proc)
        wait, go = os.pipe()
        first = os.fork()
        if first == 0:
            os.close(go)
            run_session(wire, wait, work, bounds, clock)
        hand_over(wire, first)
    except BaseException as exc:  # the last place where a failure can be told
        complain(wire, exc)
    finally:
        os._exit(0)


def join_groups(doors: list[int]) -> None:
    """Move this process into the control groups whose doors the harness opened for it."""
    for door in doors:
        os.write(door, b"0")
        os.close(door)


def hand_over(wire: int, first: int) -> None:
    """Give the harness the handle of the session's first process; before anything else is said."""
    with socket.socket(fileno=os.dup(wire)) as line:
        socket.send_fds(line, [b"."], [os.pidfd_open(first)])


def run_session(
    wire: int, wait: int, work: str, bounds: Bounds, clock: Callable[[], None] | None
) -> NoReturn:
    """As the first process of the new pid namespace, once the parent has handed its handle over."""
    try:
        os.read(wait, 1)
        keep_only(wire)
        wire = 0
        shut_in(bounds, work, clock)
        serve(0, 1, bounds.output_bytes, bounds.numbers)
    except BaseException as exc:  # told to the harness, which gives the session up
        complain(wire, exc)
    finally:
        os._exit(0)


def keep_only(wire: int) -> None:
    """The session's socket on 0 and 1, nothing else open."""
    null = os.open(os.devnull, os.O_WRONLY)
    line, sink = os.dup(wire), os.dup(null)
    for target, fd in ((0, line), (1, line), (2, sink)):
        os.dup2(fd, target)
    os.closerange(3, 65536)


def complain(wire: int, exc: BaseException) -> None:
    """One line to the harness in place of the first one it waits for."""
    with suppress(OSError):
        send_line(wire, {"failed": f"{type(exc).__name__}: {exc}"})
