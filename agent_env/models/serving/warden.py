"""Runs one command, and ends it with everything that it started when the program that asked for it
is gone, however it went: `python warden.py COMMAND`, with a pipe as standard input.

Guarantees, on Linux: when standard input ends or the parent dies (kill -9 included), every
descendant of the command is ended, those in sessions of their own too, by SIGTERM and after 10 s by
SIGKILL; if this program itself is killed, the command's first process gets SIGKILL. Elsewhere only
the command's process group is ended. Only the standard library is imported, so it starts in 20 ms.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
import time

PATIENCE_S = 10.0
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> int:
    """The command's exit code; 128 + N where signal N ended it."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the one end is that of standard input
    is_linux = sys.platform == "linux"
    libc = ctypes.CDLL(None) if is_linux else None
    if libc is not None:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    parent = os.getppid()
    child = subprocess.Popen(
        ["/bin/sh", "-c", sys.argv[1]],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=None
        if libc is None
        else lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
    )
    while child.poll() is None and os.getppid() == parent:
        if select.select([sys.stdin], [], [], 0.2)[0] and not os.read(sys.stdin.fileno(), 100):
            break
    end_all(child.pid)
    code = child.wait()
    return code if code >= 0 else 128 - code


def end_all(group: int) -> None:
    """Ends the command's group and all descendants of this process."""
    for number, patience_s in ((signal.SIGTERM, PATIENCE_S), (signal.SIGKILL, 2.0)):
        until = time.monotonic() + patience_s
        targets = _living(group)
        for pid in targets:
            _signal(pid, number)
        while targets and time.monotonic() < until:
            time.sleep(0.02)
            targets = _living(group)
            if number == signal.SIGKILL:
                for pid in targets:
                    _signal(pid, number)
        if not targets:
            return


def _living(group: int) -> list[int]:
    """Descendants that are no zombies; the group as a negative number where there is no /proc."""
    if not os.path.isdir("/proc/self"):
        try:
            os.killpg(group, 0)
        except OSError:
            return []
        return [-group]
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state not in "ZX":
                parents[int(name)] = int(parent)
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sorted(family - {os.getpid()})


def _signal(pid: int, number: int) -> None:
    try:
        if pid < 0:
            os.killpg(-pid, number)
        else:
            os.kill(pid, number)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main())
