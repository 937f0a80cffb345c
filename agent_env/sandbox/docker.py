"""The backend for a Docker engine: one hardened container for each session.

The worker talks over the container's attach socket; when that closes, because the harness ended in
whatever way, the worker ends, and the container with it. What still stays is swept at the next
start, by label. Every call to the engine has a timeout.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from agent_env.errors import SandboxError
from agent_env.sandbox.cgroups import OVERHEAD, start_time
from agent_env.sandbox.layout import GUEST, PACKAGES, WORK
from agent_env.sandbox.limits import KERNEL_MB, SandboxLimits
from agent_env.sandbox.rules import HIGH, RULES, Case, Rule, Test
from agent_env.sandbox.session import Session, expect_ready, no_clock, reader_limit
from agent_env.sandbox.syscalls import ALLOWED

IN_PROC = """
    acpi asound buddyinfo bus cgroups cmdline config.gz consoles diskstats driver fs interrupts
    iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags
    latency_stats loadavg locks meminfo modules pagetypeinfo partitions pressure sched_debug
    schedstat scsi slabinfo softirqs stat swaps sys/fs sys/kernel/pty sys/kernel/random sysvipc
    timer_list timer_stats tty uptime version vmallocinfo vmstat zoneinfo
""".split()
MASKED = ("/sys", *(f"/proc/{name}" for name in IN_PROC))
"""What tells of the machine, or counts what all its containers do: two sessions could talk by it.
All of it is named here, as engines of different ages mask different things."""

SET_TERMINAL_GROUP = 0x5410
"""An ioctl that Docker's init tries on its standard input, and that must not fail with EPERM."""

LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
"""The worker puts a second fence up inside: it keeps code from Docker's init, of the same uid."""


def docker_profile() -> str:
    """What to give to `--security-opt seccomp=`; io_uring and all else unlisted is closed."""
    names = sorted([*ALLOWED, *LANDLOCK])
    rules = [
        {"names": names, "action": "SCMP_ACT_ALLOW"},
        *(entry for name, rule in RULES.items() for entry in entries(name, rule)),
        entry("ioctl", (None, ((1, SET_TERMINAL_GROUP),))),
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
            "syscalls": rules,
        }
    )


def entries(name: str, rule: Rule) -> Iterator[dict[str, Any]]:
    """The entries of one call; what no case fits fails with EPERM, as all that is not listed."""
    cases, otherwise = rule
    if not cases:
        yield entry(name, (otherwise, ()))
    for case in cases:
        yield entry(name, case)


def entry(name: str, case: Case) -> dict[str, Any]:
    answer, tests = case
    rule: dict[str, Any] = {"names": [name], "action": "SCMP_ACT_ALLOW"}
    if answer is not None:
        rule |= {"action": "SCMP_ACT_ERRNO", "errnoRet": answer}
    return rule | {"args": [comparison(test) for test in tests if test[0] < HIGH]}


def comparison(test: Test) -> dict[str, Any]:
    """One test; always of the whole argument here."""
    if len(test) == 2:
        return {"index": test[0], "value": test[1], "op": "SCMP_CMP_EQ"}
    place, mask, value = test
    return {"index": place, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


FRAME_HEADER = 8
STDOUT = 1


@dataclass(slots=True)
class DockerLine:
    """Lines from frames; what comes on stderr is kept for a complaint, its end only."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    finish: Callable[[], Awaitable[str | None]]
    """Takes the container away."""
    cap: int
    """Longest line."""
    _held: bytearray = field(default_factory=bytearray)
    _complaint: bytes = b""

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def receive(self) -> bytes:
        while b"\n" not in self._held:
            if len(self._held) > self.cap or not await self._receive_frame():
                return b""
        line, _, rest = bytes(self._held).partition(b"\n")
        self._held = bytearray(rest)
        return line

    async def _receive_frame(self) -> bool:
        """Take in one frame; false where the stream has ended."""
        try:
            header = await self.reader.readexactly(FRAME_HEADER)
            kind, size = struct.unpack(">BxxxL", header)
            if size > self.cap:
                return False
            body = await self.reader.readexactly(size)
        except asyncio.IncompleteReadError:
            return False
        if kind == STDOUT:
            self._held += body
        else:
            self._complaint = (self._complaint + body)[-500:]
        return True

    async def end(self) -> str | None:
        self.writer.close()  # first: a container whose output nobody takes cannot be killed
        reason = await self.finish()
        words = self._complaint.decode(errors="replace").strip().rpartition("\n")[2]
        return reason or words or None


IMAGE = "agent-env-sandbox"
DEFAULT_HOST = "unix:///var/run/docker.sock"
PYTHON = "/opt/python3"
"""A link to the interpreter that every image of ours has."""
LABEL = "agent-env.harness"
CALL_S = 60
"""Timeout of one call to the engine."""
STARTS_AT_ONCE = 4
UIDS = range(61_184, 65_520)
"""Nobody's uids in the containers, and on the host; each container gets one, in turn, as the kernel
counts some things by uid."""

START = (
    f"import sys; sys.path[:0] = [{GUEST!r}]; sys.path.append({PACKAGES!r}); "
    "from agent_env.sandbox.inside import main; main()"
)

Result = TypeVar("Result")


class Docker:
    """Sessions in containers; use `host` for an engine elsewhere than at the default socket."""

    name = "docker"

    def __init__(self, limits: SandboxLimits, host: str | None = None, image: str = IMAGE) -> None:
        self._limits = limits
        self._host = host or DEFAULT_HOST
        self._image = image
        self._executing = asyncio.Semaphore(2 * (os.cpu_count() or 1))
        self._starting = asyncio.Semaphore(STARTS_AT_ONCE)
        self._client: Any = None
        self._numbers = itertools.count(os.getpid() * 128)

    async def __aenter__(self) -> Self:
        await self._call("connect", self._connect)
        await self._call("look for the image", self._check_image)
        await self._call("sweep old containers", self._sweep)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._client is not None:
            await asyncio.to_thread(self._client.close)

    def session(self, today: date | None = None) -> Session:
        """A new session; a container of its own, once entered."""
        if today is not None:
            raise no_clock(self.name)
        return Session(self._open_line, self._limits, self._executing)

    async def _open_line(self) -> DockerLine:
        """A started container with its worker ready."""
        async with self._starting:
            name = await self._call("create a container", self._create)
            try:
                stream = await self._call("attach to a container", lambda: self._attach(name))
                reader, writer = await asyncio.open_connection(sock=stream)
            except BaseException:
                await asyncio.shield(self._remove(name))
                raise
            line = DockerLine(
                reader, writer, lambda: self._remove(name), reader_limit(self._limits)
            )
            try:
                await self._call("start a container", lambda: self._client.start(name))
            except BaseException:
                await asyncio.shield(line.end())
                raise
            image = f"the image {self._image} (make it again after an update)"
            await expect_ready(line, f"a container of {image}")
            return line

    async def _remove(self, name: str) -> str | None:
        """Take a container away; says so where it ran out of memory."""
        return await self._call("remove a container", lambda: self._remove_now(name))

    async def _call(self, what: str, work: Callable[[], Result]) -> Result:
        """Run a blocking call to the engine in a thread; any failure is a SandboxError."""
        try:
            async with asyncio.timeout(CALL_S + 5):
                return await asyncio.to_thread(work)
        except SandboxError:
            raise
        except TimeoutError as exc:
            raise SandboxError(f"Docker at {self._host} did not {what} in {CALL_S} s") from exc
        except Exception as exc:  # the docker package lets requests', urllib3's and its own through
            raise SandboxError(f"Docker at {self._host} could not {what}: {exc}") from exc

    # What follows blocks, and runs in threads.

    def _connect(self) -> None:
        from docker import APIClient

        self._client = APIClient(base_url=self._host, timeout=CALL_S, version="auto")

    def _check_image(self) -> None:
        from docker.errors import ImageNotFound

        try:
            self._client.inspect_image(self._image)
        except ImageNotFound as exc:
            raise SandboxError(
                f"Docker at {self._host} has no image {self._image}; build it with "
                f"`docker build --target interpreter -t {self._image} .`, or without a registry "
                f"with `python -m agent_env.sandbox.rootfs {self._image}`"
            ) from exc

    def _sweep(self) -> None:
        """Remove containers whose harness, on this machine and in this pid namespace, is gone."""
        for container in self._client.containers(all=True, filters={"label": LABEL}):
            here, _, process = container["Labels"][LABEL].partition(" ")
            pid, _, started = process.partition("-")
            if here == machine() and pid.isdigit() and start_time(int(pid)) != started:
                self._client.remove_container(container["Id"], force=True)

    def _create(self) -> str:
        limits, uid = self._limits, UIDS[next(self._numbers) % len(UIDS)]
        bounds = json.dumps({**asdict(limits), "processes": 0})
        size = f"size={limits.disk_mb}m,nr_inodes={limits.files}"
        host = self._client.create_host_config(
            network_mode="none",
            dns=["127.0.0.1"],  # else the file of the host is shown, with the names of its network
            dns_search=["."],
            ipc_mode="none",
            read_only=True,
            init=True,
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={docker_profile()}"],
            tmpfs={WORK: f"rw,nosuid,nodev,mode=0700,uid={uid},gid={uid},{size}"},
            mem_limit=(limits.memory_mb + KERNEL_MB) << 20,
            memswap_limit=(limits.memory_mb + KERNEL_MB) << 20,
            pids_limit=limits.processes + OVERHEAD,
            nano_cpus=limits.cpus * 10**9,
            log_config={"type": "none"},
            ulimits=[{"Name": "core", "Soft": 1, "Hard": 1}],  # see rlimits.NO_CORES
        )
        host["MaskedPaths"] = list(MASKED)
        container = self._client.create_container(
            self._image,
            command=["-c", START, WORK, bounds, "landlock"],
            entrypoint=[PYTHON, "-I", "-S", "-B", "-X", "utf8"],
            environment={"HOME": WORK, "TMPDIR": WORK, "TZ": "UTC", "LANG": "C.UTF-8"},
            hostname="sandbox",
            host_config=host,
            labels={LABEL: f"{machine()} {os.getpid()}-{start_time(os.getpid())}"},
            stdin_open=True,  # with detach unset, this also closes it when we hang up
            user=f"{uid}:{uid}",
            working_dir=WORK,
        )
        return str(container["Id"])

    def _attach(self, name: str) -> socket.socket:
        """The container's streams, as a socket of our own."""
        wish = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        theirs = self._client.attach_socket(name, params=wish)
        inner = getattr(theirs, "_sock", theirs)
        ours = socket.socket(fileno=os.dup(inner.fileno()))
        ours.setblocking(False)
        with contextlib.suppress(ValueError):  # each closes the other's descriptor too
            getattr(theirs, "_response", theirs).close()
            theirs.close()
        return ours

    def _remove_now(self, name: str) -> str | None:
        from docker.errors import APIError, NotFound

        reason = None
        try:
            if self._client.inspect_container(name)["State"]["OOMKilled"]:
                reason = f"more than {self._limits.memory_mb} MB of memory were used"
            self._client.remove_container(name, force=True)
        except NotFound:
            return reason
        except APIError as exc:
            if exc.status_code != 409:  # 409: its removal is under way
                raise
        return reason


def machine() -> str:
    """This boot of this machine and this pid namespace: where our pids mean something."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"
    return socket.gethostname()
