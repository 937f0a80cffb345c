"""Processes that tests have started."""

import time
from pathlib import Path


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def left_over(pids, patience_s=20.0):
    """Those that have not ended after so long."""
    until = time.monotonic() + patience_s
    while (left := list(filter(is_alive, pids))) and time.monotonic() < until:
        time.sleep(0.01)
    return left
