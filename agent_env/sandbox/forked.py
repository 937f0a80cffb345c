"""Backends whose sessions are children of one clean process, the fork server.

This is the harness's side: start the server, ask it for sessions, hold each by a pidfd, and bound
its memory by a control group or, where there is none, by the watchdog.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from agent_env.errors import SandboxError
from agent_env.sandbox.cgroups import Group, Groups, find_groups
from agent_env.sandbox.layout import SandboxFiles, find_layout
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.session import (
    START_S,
    Session,
    StreamLine,
    expect_ready,
    no_clock,
    reader_limit,
)
from agent_env.sandbox.watchdog import Watchdog, pid_of


@dataclass(slots=True)
class Hold:
    """The grip on one session: its first process, whose end is the end of all of it."""

    handle: int
    group: Group | None
    watchdog: Watchdog
    memory_mb: int
    inner: int | None = None
    """Where a tool is before it: the one of the pid namespace, which ends after all others."""

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
        starved = self.handle in self.watchdog.killed
        self.watchdog.killed.discard(self.handle)
        if self.group is not None:
            starved = starved or self.group.ran_out_of_memory()
            await remove_patiently(self.group)
        return f"more than {self.memory_mb} MB of memory were used" if starved else None

    def take_inner(self) -> None:
        """Get hold of the only child of the first process, which runs by now."""
        children = Path(f"/proc/{pid_of(self.handle)}/task/{pid_of(self.handle)}/children")
        with contextlib.suppress(OSError, ValueError):  # a kernel without that file, or it is gone
            inner = os.pidfd_open(int(children.read_text()))
            if children.read_text().strip():  # still there, so it is its number that we opened
                self.inner = inner
            else:
                os.close(inner)


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


SERVER_START_S = 60.0
SPARE_UIDS = 1_900_000_000
"""Where the uids begin of which the harness, as root, lends some to its sandboxes."""
UIDS_EACH = 512
"""How many it lends: one to the fork server, and one to each session, in turn."""

STARTS_AT_ONCE = 16
"""Sessions that are being started; more would only wait for processors, and fill the queue."""

MakeCommand = Callable[[SandboxFiles, int, int], list[str]]
"""SandboxFiles, control descriptor, descriptor of /proc -> command of the fork server."""


def spare_uids(pid: int) -> range:
    """The uids of the sandboxes of the harness with that pid, where it can lend any."""
    return range(SPARE_UIDS + pid * UIDS_EACH, SPARE_UIDS + (pid + 1) * UIDS_EACH)


def lent_uids() -> range | None:
    """The uids that our sandboxes get; None where we cannot lend any and they keep ours."""
    uids = spare_uids(os.getpid())
    if os.geteuid() != 0:
        return None
    lines = Path("/proc/self/uid_map").read_text().splitlines()  # a rootless container has not all
    starts = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    is_mapped = any(first <= uids[0] and uids[-1] < first + count for first, count in starts)
    return uids if is_mapped else None


class ForkedBackend:
    """Sessions forked from one clean process."""

    def __init__(
        self,
        name: str,
        limits: SandboxLimits,
        make_command: MakeCommand,
        use_cgroups: bool = True,
        has_inner: bool = False,
        has_clock: bool = False,
    ) -> None:
        """`has_inner`: the first process of a session only starts the one of the pid namespace.
        `has_clock`: a session can have a clock of its own."""
        self.name = name
        self._has_clock = has_clock
        self._has_inner = has_inner
        self._limits = limits
        self._make_command = make_command
        self._use_cgroups = use_cgroups
        self._executing = asyncio.Semaphore(2 * (os.cpu_count() or 1))
        self._starting = asyncio.Semaphore(STARTS_AT_ONCE)
        self._watchdog = Watchdog(limits.memory_mb << 20)
        self._groups: Groups | None = None
        self._control: socket.socket | None = None
        self._server: asyncio.subprocess.Process | None = None

    @property
    def memory_bound(self) -> str:
        """What holds the total: `cgroup` or `watchdog`; known once the backend is open."""
        return "cgroup" if self._groups is not None else "watchdog"

    @property
    def server_pid(self) -> int:
        """The fork server's pid; all sessions are below it. Known once the backend is open."""
        if self._server is None:
            raise SandboxError(f"the {self.name} backend is not open")
        return self._server.pid

    async def __aenter__(self) -> Self:
        try:
            self._groups = find_groups(self._limits) if self._use_cgroups else None
            await self._start(await find_layout())
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop()

    def session(self, today: date | None = None) -> Session:
        """A new session; a child of the fork server, once entered."""
        if today is not None and not self._has_clock:
            raise no_clock(self.name)
        return Session(partial(self._open_line, today), self._limits, self._executing)

    async def _start(self, layout: SandboxFiles) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._server = await asyncio.create_subprocess_exec(
                *self._make_command(layout, theirs.fileno(), proc),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={},
                pass_fds=(theirs.fileno(), proc),
            )
        finally:
            theirs.close()
            os.close(proc)
        await self._await_server(self._control)

    async def _await_server(self, control: socket.socket) -> None:
        try:
            async with asyncio.timeout(SERVER_START_S):
                greeting = await asyncio.get_running_loop().sock_recv(control, 64)
        except TimeoutError as exc:
            raise SandboxError(f"the fork server was not ready in {SERVER_START_S:g} s") from exc
        if greeting != b"ready":
            raise SandboxError(f"the fork server did not start: {await self._complaint()}")

    async def _complaint(self) -> str:
        """The last line that the fork server wrote before it ended."""
        if self._server is None or self._server.stderr is None:
            return "it was never run"
        text = b""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                text = await self._server.stderr.read()
        return text.decode(errors="replace").strip().rpartition("\n")[2] or "it said nothing"

    async def _stop(self) -> None:
        await self._watchdog.close()
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            with contextlib.suppress(ProcessLookupError):
                self._server.kill()
            await self._server.wait()
        if self._groups is not None:
            self._groups.close()

    async def _open_line(self, today: date | None) -> ForkedLine:
        """Ask the fork server for a session and wait until its worker is ready."""
        async with self._starting:
            return await self._open_one(today)

    async def _open_one(self, today: date | None) -> ForkedLine:
        group = self._groups.make(self._limits) if self._groups is not None else None
        try:
            ours, handle = await self._ask_for_session(group, today)
        except BaseException:
            if group is not None:
                await asyncio.shield(remove_patiently(group))
            raise
        hold = Hold(handle, group, self._watchdog, self._limits.memory_mb)
        try:
            streams = await asyncio.open_connection(sock=ours, limit=reader_limit(self._limits))
        except BaseException:
            ours.close()
            await asyncio.shield(hold.end())
            raise
        line = ForkedLine(*streams, hold.end, hold)
        await expect_ready(line, f"a {self.name} session")
        if self._has_inner:
            hold.take_inner()
        return line

    async def _ask_for_session(
        self, group: Group | None, today: date | None
    ) -> tuple[socket.socket, int]:
        """Our end of the session's line, and the handle of its first process."""
        if self._control is None:
            raise SandboxError(f"the {self.name} backend is not open")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        doors = group.doors() if group is not None else []
        try:
            day_s = 0 if today is None else (today - date(1970, 1, 1)).days * 86_400
            message = b"fork" if today is None else b"fork %d" % day_s  # when it begins, in UTC
            socket.send_fds(self._control, [message], [theirs.fileno(), *doors])
            theirs.close()
            return ours, await receive_handle(ours)
        except OSError as exc:
            ours.close()
            raise SandboxError(f"the fork server is gone: {exc}") from exc
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
            for door in doors:
                os.close(door)


async def receive_handle(line: socket.socket) -> int:
    """The pidfd of the session's first process; raises SandboxError where it did not come up."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(START_S):
            await readable(loop, line.fileno())
            mark, fds, _, _ = socket.recv_fds(line, 1, 1)
            if mark == b"." and fds:
                return fds[0]
            rest = await loop.sock_recv(line, 4096) if mark else b""
    except TimeoutError as exc:
        raise SandboxError(f"the fork server gave no session in {START_S:g} s") from exc
    complaint = (mark + rest).decode(errors="replace").strip()
    raise SandboxError(f"a session could not be isolated: {complaint or 'no reason given'}")
