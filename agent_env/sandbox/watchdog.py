"""Total memory of a session where no control group can be had: look often, kill what is too large.

Guaranteed: a session that is above its limit when it is looked at is killed. Not guaranteed: that
it never was above; between two looks it can take what the machine can give in that time. A socket
counts with all that its buffer may hold. Not counted: pipe buffers, which the kernel bounds for
each user, and files in the work directory, which have a limit of their own. memfd and System V
memory, which would not be counted, are forbidden.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

LOOK_EVERY_S = 0.05
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(slots=True)
class Watchdog:
    """Looks at the sessions that are executing; idle ones are stopped and cannot grow."""

    memory_bytes: int
    killed: set[int] = field(default_factory=set)
    """Handles of the sessions it killed."""
    _watched: dict[int, int] = field(default_factory=dict)
    _task: asyncio.Task[None] | None = None

    def watch(self, handle: int) -> None:
        """Begin to look at the session of this pidfd."""
        self._watched[handle] = pid_of(handle)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._look_often())

    def leave(self, handle: int) -> None:
        """No longer look at it."""
        self._watched.pop(handle, None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _look_often(self) -> None:
        """Look, in a thread: where a session has many large processes, it takes a while."""
        loop, reader = asyncio.get_running_loop(), ThreadPoolExecutor(1)  # ours alone: never queued
        try:
            while self._watched:
                snapshot = dict(self._watched)
                large = await loop.run_in_executor(reader, too_large, snapshot, self.memory_bytes)
                for handle in large:
                    if self._watched.get(handle) == snapshot[handle]:  # not closed in the meantime
                        self.killed.add(handle)
                        self.leave(handle)
                        with contextlib.suppress(OSError):
                            signal.pidfd_send_signal(handle, signal.SIGKILL)
                await asyncio.sleep(LOOK_EVERY_S)
        finally:
            reader.shutdown(wait=False)


def too_large(watched: dict[int, int], memory_bytes: int) -> list[int]:
    """Handles of the sessions that are over the limit now; `watched` has their first processes."""
    children = children_by_parent()
    handles = []
    for handle, first in watched.items():
        family = descendants(first, children)
        limit = memory_bytes - socket_buffers(family[-1])
        if resident(family) > limit and exact(family) > limit:
            handles.append(handle)
    return handles


def pid_of(handle: int) -> int:
    """The pid behind a pidfd; -1 where it is gone."""
    with open(f"/proc/self/fdinfo/{handle}") as lines:
        return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)


def children_by_parent() -> dict[int, list[int]]:
    """Every process of the machine, by its parent."""
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as file:
                children[int(file.read().rpartition(")")[2].split()[1])].append(int(name))
    return children


def descendants(first: int, children: dict[int, list[int]]) -> list[int]:
    """A process and all below it; in a pid namespace, orphans stay below its first process."""
    family = [first]
    for pid in family:
        family += children.get(pid, [])
    return family


def socket_buffers(pid: int) -> int:
    """The most that the sockets in a process's network namespace may hold."""
    each = 1 << 18  # before it is read, as the kernel counts
    with contextlib.suppress(OSError), open("/proc/sys/net/core/wmem_default") as file:
        each = int(file.read())
    with contextlib.suppress(OSError), open(f"/proc/{pid}/net/unix") as lines:
        return (sum(1 for _ in lines) - 1) * each
    return 0


def resident(family: list[int]) -> int:
    """Bytes in memory, what is shared counted once for each that has it: too much, but quick."""
    total = 0
    for pid in family:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as file:
            total += int(file.read().split()[1]) * PAGE
    return total


def exact(family: list[int]) -> int:
    """Bytes in memory, each page once; where the kernel will not tell, the private ones only."""
    return sum(proportional(pid) for pid in family)


def proportional(pid: int) -> int:
    """This process's part of the pages it has a share in."""
    try:
        with open(f"/proc/{pid}/smaps_rollup") as lines:
            return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    except PermissionError:
        return private(pid)
    except OSError:
        return 0


def private(pid: int) -> int:
    """Pages of this process that belong to no file and no other process's shared memory."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/statm") as file:
        _, resident, shared, *_ = file.read().split()
        return (int(resident) - int(shared)) * PAGE
    return 0
