"""Programs of others in our namespaces: those that speak over stdin and stdout, and agents.

Guaranteed as for code in the backend `namespaces` (docs/sandbox.md): no network, no process, user
or secret of the host, writing in a directory of its own alone, the same system call filter. Shown,
read-only: the system's programs and libraries, the program's own environment of Python or Node, and
each file or folder that its command names. Not guaranteed: a bound on the memory of all processes
of a program that speaks over stdin together, as each has one of its own.

An agent has loopback of a network of its own, where one socket listens, which is ours, and /proc of
its own processes. Its memory is bounded in all, by a control group or by the watchdog.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from agent_env.errors import SandboxError
from agent_env.lifeline import with_lifeline
from agent_env.sandbox.cgroups import Group, Groups, find_groups
from agent_env.sandbox.forked import lent_uids, readable, remove_patiently
from agent_env.sandbox.layout import WORK, Bind, SandboxFiles, find_layout
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.namespaces import staged
from agent_env.sandbox.process_finder import numbers_here
from agent_env.sandbox.watchdog import Watchdog

LIMITS = SandboxLimits(memory_mb=4096, processes=128, disk_mb=256, descriptors=256)
AGENT_LIMITS = SandboxLimits(
    memory_mb=4096, processes=512, disk_mb=256, files=65536, descriptors=4096
)
SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
ACCOUNTS = Path(__file__).with_name("passwd")
"""Two users, for programs that ask who they are."""
AGENT_PORT = 8100
"""On the loopback of each agent's own network."""
HOME, TASK, TMP = f"{WORK}/home", f"{WORK}/task", f"{WORK}/tmp"
START_S = 60.0
_STARTED = count(1)
_LAYOUTS: list[SandboxFiles] = []
"""That of this process, once it was asked for: it costs half a second."""


@dataclass(frozen=True, slots=True)
class ConfinedProgram:
    """How to start it; the descriptors are passed on, and closed by who starts it."""

    command: list[str]
    descriptors: tuple[int, ...]


async def confine(
    command: Sequence[str],
    environment: Mapping[str, str],
    agent: Mapping[str, Any] | None = None,
    shown: Sequence[str] = (),
    doors: Sequence[int] = (),
) -> ConfinedProgram:
    """The command that runs `command` in namespaces of its own; SandboxError where the layout
    cannot be found. Of an agent: what `program.become` reads, what it is shown of this machine, and
    the doors of its control group."""
    if not _LAYOUTS:
        _LAYOUTS.append(await find_layout())
    layout = _LAYOUTS[0]
    program = shutil.which(command[0]) or command[0]
    words = [program, *map(_absolute, command[1:])] if agent is None else [program, *command[1:]]
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    home = WORK if agent is None else HOME
    uids = lent_uids()
    plan = {
        "environment": {**environment, "HOME": home, "TMPDIR": WORK if agent is None else TMP},
        "uid": 0 if uids is None else len(uids) - 1 - next(_STARTED) % (len(uids) // 2),
        "work": WORK,
        "bounds": {**asdict(LIMITS if agent is None else AGENT_LIMITS), "numbers": numbers_here()},
        "doors": list(doors),
        "agent": agent,
    }
    plan_file = os.memfd_create("plan")
    os.write(plan_file, json.dumps(plan).encode())
    os.lseek(plan_file, 0, os.SEEK_SET)
    inner = layout.command("program", str(proc), str(plan_file), *words)
    known = {bind.target for bind in layout.binds}
    named = _shown([program] if agent else words, shown)
    more = [Bind(each, each) for each in named if each not in known]
    if agent is not None:
        more.append(Bind(str(ACCOUNTS), "/etc/passwd"))
    covered = () if agent is None else _our_data(named)
    start = staged(layout, proc, inner, tuple(more), agent is not None, covered)
    descriptors = (proc, plan_file, *doors, *([agent["wire"]] if agent else ()))
    return ConfinedProgram(start, descriptors)


@dataclass(slots=True)
class Process:
    inner: asyncio.subprocess.Process
    _line: int
    """Our end of the pipe that its keeper watches."""

    async def end(self, patience_s: float) -> None:
        if self.inner.stdin is not None:
            self.inner.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await self.inner.wait()
        os.close(self._line)
        await self.inner.wait()

    @property
    def ending(self) -> str:
        """How it ended, for users."""
        code = self.inner.returncode
        if code is None:
            return "closed its output"
        return f"was killed by signal {code - 128}" if code > 128 else f"ended with code {code}"


async def start(
    command: Sequence[str], environment: Mapping[str, str], descriptors: Sequence[int] = ()
) -> Process:
    """Starts a program below a keeper that ends it when this process ends, however that happens."""
    theirs, ours = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            *with_lifeline(theirs, *command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=environment,
            pass_fds=(theirs, *descriptors),
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        os.close(ours)
        raise
    finally:
        for each in (theirs, *descriptors):
            os.close(each)
    return Process(process, ours)


@dataclass(frozen=True, slots=True)
class AgentEnding:
    code: int | None
    """Negative for a signal; None where all of it was killed."""
    answer: str | None
    """What the file of its answer holds."""


@dataclass(slots=True)
class ConfinedAgent:
    """An agent that runs; `close` must be called."""

    process: Process
    listener: socket.socket
    """Where it reaches us, at http://127.0.0.1:AGENT_PORT of its network; closed by who listens."""
    _wire: socket.socket
    _group: Group | None
    _watchdog: Watchdog = field(default_factory=lambda: Watchdog(AGENT_LIMITS.memory_mb << 20))
    _handle: int | None = None

    async def ended(self) -> AgentEnding:
        """Waits until the first process of the agent has ended."""
        if self._group is None:
            self._handle = os.pidfd_open(self.process.inner.pid)
            self._watchdog.watch(self._handle)
        said, loop = b"", asyncio.get_running_loop()
        while piece := await loop.sock_recv(self._wire, 1 << 16):
            said += piece
        ending = json.loads(said) if said else {"code": None, "answer": None}
        return AgentEnding(**ending)

    async def close(self) -> None:
        """Kills what is left of it, and waits for that; once is enough."""
        if self._wire.fileno() == -1:
            return
        if self._handle is not None:
            self._watchdog.leave(self._handle)
            os.close(self._handle)
        await self._watchdog.close()
        self._wire.close()
        await self.process.end(0)
        if self._group is not None:
            await remove_patiently(self._group)


async def start_agent(
    command: Sequence[str],
    environment: Mapping[str, str],
    files: Mapping[str, str],
    answer: str | None,
    shown: Sequence[str],
) -> ConfinedAgent:
    """Starts an agent with these files in its home; `answer`: the one that it writes its answer to.
    SandboxError where its namespaces cannot be had."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    agent = {"wire": theirs.detach(), "port": AGENT_PORT, "files": dict(files), "answer": answer}
    groups = _groups()
    group = groups.make(AGENT_LIMITS) if groups is not None else None
    doors = group.doors() if group is not None else []
    confined = await confine(command, environment, agent, shown, doors)
    process = await start(confined.command, {}, confined.descriptors)
    if process.inner.stdin is not None:
        process.inner.stdin.close()  # some wait for more of the question there
    try:
        async with asyncio.timeout(START_S):
            await readable(asyncio.get_running_loop(), ours.fileno())
        _, (listener, *_), _, _ = socket.recv_fds(ours, 1, 1)
    except BaseException as exc:
        await process.end(0)
        ours.close()
        if group is not None:
            await remove_patiently(group)
        if not isinstance(exc, TimeoutError | ValueError):
            raise
        said = await process.inner.stderr.read(2000) if process.inner.stderr else b""
        complaint = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise SandboxError(f"the agent's namespaces could not be made: {complaint}") from exc
    return ConfinedAgent(process, socket.socket(fileno=listener), ours, group)


@cache
def _groups() -> Groups | None:
    groups = find_groups(AGENT_LIMITS)
    if groups is not None:
        atexit.register(groups.close)
    return groups


def _absolute(word: str) -> str:
    """A file or folder by its whole path: the program is started in another folder."""
    return os.path.abspath(word) if os.path.exists(word) else word


def _shown(words: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    """What the program reads, parents before children."""
    program = Path(words[0])
    paths = {each for each in SYSTEM if os.path.isdir(each)} | set(more)
    paths |= {word for word in words[1:] if os.path.isabs(word) and os.path.exists(word)}
    paths |= {str(program), os.path.realpath(program)}
    for each in (program, Path(os.path.realpath(program))):
        paths |= set(_environment_of(each))
    return sorted(paths - {"/"})


def _environment_of(program: Path) -> Iterator[str]:
    """The environment of Python that a program lies in, or the outermost folder of Node modules."""
    folder = program.parent.parent
    if _is_environment(folder):
        yield str(folder)
        base = Path(os.path.realpath(folder / "bin" / "python")).parent.parent
        if _is_environment(base):
            yield str(base)
    above = [each for each in program.parents if each.name == "node_modules"]
    yield from (str(each) for each in above[-1:])


def _our_data(shown: Sequence[str]) -> list[str]:
    """The folders of agent-env within what an agent is shown: they have the answers."""
    own = Path(os.path.realpath(__file__)).parents[1]
    found = {own} if any(own.is_relative_to(os.path.realpath(each)) for each in shown) else set()
    for pattern in ("lib/python3*/site-packages/agent_env", "share/agent-env"):
        found |= {path for each in shown for path in Path(each).glob(pattern)}
    return sorted(str(path) for path in found if path.is_dir())


def _is_environment(folder: Path) -> bool:
    """Whether it is an environment or installation of Python or Node, and no home with a bin."""
    has_code = any(folder.glob("lib/python3*")) or (folder / "lib" / "node_modules").is_dir()
    return (folder / "pyvenv.cfg").exists() or (has_code and folder != Path.home() / ".local")
