# ruff: noqa
"""Traces its parent and the harness's children, reads and writes their memory.

Contained: no call succeeds.
Ends: ok
Unsafe: escapes
"""

SEIZE, ATTACH = 0x4206, 16
pids = [T["victim"]] if T["unsafe"] else [T["victim"], os.getppid(), 1]
for pid in pids:
    attempt(f"seize {pid}", call, "ptrace", SEIZE, pid, 0, 0)
    attempt(f"open memory of {pid}", os.open, f"/proc/{pid}/mem", os.O_RDWR)
    attempt(f"read memory of {pid}", read_memory_of, pid)
    attempt(f"descriptor of {pid}", lambda: call("pidfd_getfd", os.pidfd_open(pid), 0, 0))
if not T["unsafe"]:
    attempt("trace itself by the parent", call, "ptrace", 0, 0, 0, 0)
ESCAPED
