"""The process that starts bubblewrap for each session: the fork server of that backend."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from agent_env.sandbox import kernel
from agent_env.sandbox.forkserver import (
    complain,
    hand_over,
    join_groups,
    lend_uids,
    listen,
)
from agent_env.sandbox.rlimits import forbid_cores

WORK = "/sandbox"


def main() -> None:
    """As a program: the plan, as JSON."""
    plan = json.loads(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    forbid_cores()
    uid = lend_uids(plan["uids"])
    listen(plan["control"], lambda wire, doors, _: begin_session(wire, doors, next(uid), plan))


def begin_session(wire: int, doors: list[int], uid: int | None, plan: dict[str, Any]) -> None:
    """Fork the child that becomes bubblewrap and hand it over.

    It is our own child, not a grandchild: bubblewrap dies with its parent.
    """
    wait, go = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(go)
        run_session(wire, wait, doors, uid, plan)
    with suppress(OSError):
        hand_over(wire, first)
    os.close(wait)
    os.close(go)


def run_session(
    wire: int, wait: int, doors: list[int], uid: int | None, plan: dict[str, Any]
) -> NoReturn:
    """Become bubblewrap, once the parent has handed the handle over."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.read(wait, 1)
        join_groups(doors)
        if uid is not None:
            kernel.take_uid(uid)
        work = make_work(plan)
        for fd in range(3):  # 2 too: its complaint takes the place of the first line we wait for
            os.dup2(wire, fd)
        os.closerange(3, 65536)
        program, *rest = plan["command"]
        added = ["--seccomp", str(filter_pipe(plan["filter"])), *work]
        at = rest.index("--clearenv")
        os.execve(program, [program, *rest[:at], *added, *rest[at:]], plan["environment"])
    except BaseException as exc:  # told to the harness, which gives the session up
        complain(wire, exc)
    finally:
        os._exit(1)


def make_work(plan: dict[str, Any]) -> list[str]:
    """A work directory with a bound on its files too, or bubblewrap's own, which has none.

    The bound needs a user namespace of our own; where only bubblewrap may make one, the probe
    finds that the number of files is unbounded, unless a control group bounds their memory.
    """
    with suppress(PermissionError):
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS)
        kernel.map_ids(plan["proc"], uid, uid, gid, gid)
        kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
        options = f"mode=700,{plan['files']}"
        kernel.mount("tmpfs", plan["work"], "tmpfs", kernel.MS_OF_WORK, options)
        return ["--bind", plan["work"], WORK]
    size = plan["files"].partition("m,")[0].removeprefix("size=")
    return ["--size", str(int(size) << 20), "--tmpfs", WORK]


def filter_pipe(encoded: str) -> int:
    """A descriptor from which bubblewrap reads the system call filter."""
    reading, writing = os.pipe()
    os.write(writing, base64.b64decode(encoded))
    os.close(writing)
    os.set_inheritable(reading, True)
    return reading
