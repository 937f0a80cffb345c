# ruff: noqa
"""Traces its parent and the harness's children, reads and writes their memory.

Contained: no call succeeds.
Ends: ok
Unsafe: escapes
"""

import os

SEIZE, ATTACH = 0x4206, 16
pids = [T["victim"]] if T["unsafe"] else [T["victim"], os.getppid(), 1]
for pid in pids:
    attempt(f"seize {pid}", call, "ptrace", SEIZE, pid, 0, 0)
    attempt(
        f"open memory of {pid}", lambda pid=pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
    )
    attempt(f"read memory of {pid}", read_memory_of, pid)
    attempt(
        f"take a descriptor of {pid}", lambda pid=pid: call("pidfd_getfd", os.pidfd_open(pid), 0, 0)
    )
attempt(
    "trace itself by the parent", lambda: T["unsafe"] and refuse() or call("ptrace", 0, 0, 0, 0)
)
ESCAPED
