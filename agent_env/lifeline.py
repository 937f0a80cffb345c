"""As a program: starts a server, and ends it and all that it started when its owner goes away.

lifeline.py DESCRIPTOR COMMAND...: the owner holds the other end of the pipe DESCRIPTOR. When that
closes, by a wish or by the owner's death, the server's process group gets SIGTERM, then SIGKILL.
Guaranteed on Linux: what the server started and left behind is ended too, wherever it moved itself,
for orphans become children of this process. Elsewhere only the process group is ended. Not
guaranteed: anything where this process is killed by itself; the server alone dies with it then.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import time
from contextlib import suppress

GRACE_S = 0.5
"""From SIGTERM to SIGKILL."""
_PDEATHSIG, _SUBREAPER = 1, 36
"""Options of prctl (linux/prctl.h)."""


def with_lifeline(descriptor: int, *command: str) -> list[str]:
    """What runs the command below this program, whose owner keeps the other end of the pipe."""
    return [sys.executable, "-I", "-S", __file__, str(descriptor), *command]


def main() -> None:
    """Start the command, wait for its end or the owner's; exit with its code, 128 + N for signal
    N."""
    line, command = int(sys.argv[1]), sys.argv[2:]
    _prctl(_SUBREAPER, 1)
    waking, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    server = os.fork()
    if server == 0:
        _become(command, (line, waking, wake))
    _close_own_streams()
    code = None
    while code is None:
        ready, _, _ = select.select([line, waking], [], [])
        if line in ready:
            code = _end(server)
            break
        os.read(waking, 512)
        code = _reaped(server)
    _kill_rest(server)
    os._exit(code)


def _become(command: list[str], inner: tuple[int, ...]) -> None:
    try:
        os.setpgid(0, 0)
        _prctl(_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for each in inner:
            os.close(each)
        os.execvp(command[0], command)
    except OSError as exc:
        os.write(2, f"cannot start {command[0]}: {exc.strerror}\n".encode())
    finally:
        os._exit(127)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _close_own_streams() -> None:
    """So that they end when the server ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(null, each)


def _reaped(server: int) -> int | None:
    """The server's exit code, where it has ended; its orphans are reaped beside."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == server:
                code = os.waitstatus_to_exitcode(ended[1])
    return code if code is None or code >= 0 else 128 - code


def _end(server: int) -> int:
    with suppress(OSError):
        os.killpg(server, signal.SIGTERM)
    for _ in range(int(GRACE_S / 0.01)):
        if (code := _reaped(server)) is not None:
            return code
        time.sleep(0.01)
    return 128 + signal.SIGKILL


def _kill_rest(server: int) -> None:
    """What is left of the group, then orphans until there are none."""
    with suppress(OSError):
        os.killpg(server, signal.SIGKILL)
    for _ in range(200):
        children = _children()
        for child in children:
            with suppress(OSError):
                os.kill(child, signal.SIGKILL)
        _reaped(server)
        if not children:
            return
        time.sleep(0.005)


def _children() -> list[int]:
    with suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]
    return []


if __name__ == "__main__":
    main()
