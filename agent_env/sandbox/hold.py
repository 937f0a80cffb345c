"""The grip on a session that the fork server started: by its first process, killed and awaited."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from agent_env.errors import SandboxError
from agent_env.sandbox.cgroups import Group
from agent_env.sandbox.session import START_S, StreamLine
from agent_env.sandbox.watchdog import Watchdog, pid_of


@dataclass(slots=True)
class Hold:
    """The grip on one session: its first process, whose end is the end of all of it."""

    handle: int
    group: Group | None
    watchdog: Watchdog
    memory_mb: int
    inner: int | None = None
    """Where a tool stands before it: the one of the pid namespace, which ends after all others."""

    async def end(self) -> str | None:
        """Kill and wait; says so where the session died of its memory limit."""
        self.watchdog.leave(self.handle)
        handles = [handle for handle in (self.inner, self.handle) if handle is not None]
        try:
            async with asyncio.timeout(START_S):
                for handle in handles:
                    with contextlib.suppress(ProcessLookupError):
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                    await readable(asyncio.get_running_loop(), handle)
        except TimeoutError as exc:
            raise SandboxError(f"a session could not be killed in {START_S:g} s") from exc
        finally:
            for handle in handles:
                os.close(handle)
        return await self._reason()

    def take_inner(self) -> None:
        """Get hold of the only child of the first process, which runs by now."""
        children = Path(f"/proc/{pid_of(self.handle)}/task/{pid_of(self.handle)}/children")
        with contextlib.suppress(OSError, ValueError):  # a kernel without that file, or it is gone
            inner = os.pidfd_open(int(children.read_text()))
            if children.read_text().strip():  # still there, so it is its number that we opened
                self.inner = inner
            else:
                os.close(inner)

    async def _reason(self) -> str | None:
        starved = self.handle in self.watchdog.killed
        self.watchdog.killed.discard(self.handle)
        if self.group is not None:
            starved = starved or self.group.ran_out_of_memory()
            await remove_patiently(self.group)
        return f"more than {self.memory_mb} MB of memory were used" if starved else None


async def remove_patiently(group: Group) -> None:
    """Remove a group whose last processes may still be dying; what stays, the backend removes."""
    for pause_s in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5):
        if group.remove():
            return
        await asyncio.sleep(pause_s)


@dataclass(slots=True)
class ForkedLine(StreamLine):
    """A line that is watched while a call is out."""

    hold: Hold

    async def send(self, data: bytes) -> None:
        if self.hold.group is None:
            self.hold.watchdog.watch(self.hold.handle)
        await StreamLine.send(self, data)

    async def receive(self) -> bytes:
        line = await StreamLine.receive(self)
        self.hold.watchdog.leave(self.hold.handle)
        return line


async def readable(loop: asyncio.AbstractEventLoop, fd: int) -> None:
    """Return when there is something to read."""
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)
