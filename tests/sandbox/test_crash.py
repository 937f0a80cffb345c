"""A crash in a sandbox starts nothing on the host, where every crash is piped to a handler.

Most distributions pipe cores to systemd-coredump or apport: a program that the kernel starts as
root, outside of every namespace, with the memory of what crashed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

PATTERN = Path("/proc/sys/kernel/core_pattern")
HANDLER = '#!/bin/sh\necho "$1" >>"$0.log"\n'
CRASH = "import os; os.abort()"
LOOSEN = """
import ctypes, os, resource, subprocess, sys
libc, refused = ctypes.CDLL(None), []
for how in (1, 2):
    if libc.prctl(4, how) == 0:
        refused.append(f"dumpable became {how}")
for pair in ((0, 0), (0, 1), (1, 1)):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, pair)
        refused.append(f"core limit became {pair}")
    except (OSError, ValueError):
        pass
    try:
        resource.prlimit(0, resource.RLIMIT_CORE, pair)
        refused.append(f"core limit became {pair} by prlimit")
    except (OSError, ValueError):
        pass
"""
CRASHES = {
    "its own process": CRASH,
    "a program it started": f"subprocess.run([sys.executable, '-S', '-c', {CRASH!r}]).returncode",
    "a child it forked": "os.fork() or os.abort()\nos.waitpid(-1, 0)[1]",
    "a child with a smaller limit": "os.fork() or (libc.setrlimit(4, bytes(16)), os.abort())\n"
    "os.waitpid(-1, 0)[1]",
}


@pytest.fixture
def handled(tmp_path):
    """The log of a handler that every crash of this machine goes to, marked by its node name."""
    if not PATTERN.exists() or not os.access(PATTERN, os.W_OK):
        pytest.skip(f"{PATTERN} cannot be written here")
    handler = Path(tempfile.mkdtemp(prefix="agent-env-", dir="/tmp")) / "handler"
    handler.write_text(HANDLER)
    handler.chmod(0o755)
    log = handler.with_name("handler.log")
    with open("/tmp/agent-env-core-pattern.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run of these tests would restore ours
        before = PATTERN.read_text()
        try:
            PATTERN.write_text(f"|{handler} %h:%e")
            crash_here()
            if not await_lines(log, 1):
                pytest.skip("the kernel does not start our handler: it looks for it elsewhere")
            yield log
        finally:
            PATTERN.write_text(before)
            shutil.rmtree(handler.parent)


def crash_here():
    """A crash outside of every sandbox."""
    subprocess.run([sys.executable, "-c", CRASH], check=False, timeout=20)


def await_lines(log, count):
    """The handler's lines, once there are so many or 5 s have passed."""
    ends = time.monotonic() + 5
    lines = []
    while len(lines) < count and time.monotonic() < ends:
        time.sleep(0.05)
        lines = log.read_text().splitlines() if log.exists() else []
    return lines


def test_a_crash_starts_no_handler_on_the_host(bench, handled):
    for what, code in CRASHES.items():
        loosened, crashed = bench.calls(LOOSEN + "refused", code)
        assert loosened.value == "[]", what
        assert crashed.status == "crashed" or int(crashed.value or 0) != 0, (what, crashed)
    crash_here()  # the last: once it was handled, those before it were
    lines = await_lines(handled, 2)
    assert len(lines) >= 2
    assert [line for line in lines if line.startswith("sandbox:")] == []


def test_the_limits_that_keep_a_crash_inside_are_set_and_stay(bench):
    code = (
        "import ctypes, resource, subprocess, sys\n"
        "ask = 'import resource; print(resource.getrlimit(resource.RLIMIT_CORE))'\n"
        "resource.getrlimit(resource.RLIMIT_CORE), ctypes.CDLL(None).prctl(3), "
        "subprocess.check_output([sys.executable, '-S', '-c', ask], text=True)"
    )
    assert bench.calls(code)[0].value == "((1, 1), 0, '(1, 1)\\n')"
