"""Runs the attacks and looks whether they got anywhere; used by the tests and the benchmark."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import uuid
from dataclasses import dataclass
from pathlib import Path

from agent_env.sandbox.limits import SandboxLimits

LIMITS = SandboxLimits(
    memory_mb=96, processes=24, disk_mb=8, files=200, output_bytes=4096, descriptors=64
)
"""Small, so that an attack that exceeds them is still harmless where nothing holds it."""
TIMEOUT_S = 12.0
SHORT_S = 0.7
HERE = Path(__file__).parent
KEY_NAME = "AGENT_ENV_TEST_KEY"


@dataclass(frozen=True, slots=True)
class Attack:
    """One file of the folder `attacks`, with what its first words promise."""

    name: str
    code: str
    ends: frozenset[str]
    """Statuses that the call may have where it is contained."""
    unsafe: str
    """`escapes`, or why it cannot be tried without a sandbox."""

    @property
    def timeout_s(self):
        """Short where the attack is meant to hang."""
        return SHORT_S if "timeout" in self.ends else TIMEOUT_S


def read_attacks():
    """All attacks, by name."""
    return [read_attack(path) for path in sorted((HERE / "attacks").glob("*.py"))]


def read_attack(path):
    """One attack; its text must say how it is contained, how it ends, what it does unsandboxed."""
    code = path.read_text()
    said = dict(re.findall(r"^(Contained|Ends|Unsafe): (.+)$", code, re.M))
    return Attack(path.stem, code, frozenset(said["Ends"].split("|")), said["Unsafe"])


@dataclass(frozen=True, slots=True)
class Host:
    """What attacks aim at, all of it made for them, and how it was before."""

    folder: Path
    canary: Path
    before: os.stat_result
    victim: subprocess.Popen[bytes]
    listeners: tuple[socket.socket, ...]
    mark: str

    def targets(self, unsafe=False):
        """The dict T that attacks see."""
        inet, file, abstract = (listener.getsockname() for listener in self.listeners)
        limits = {n: getattr(LIMITS, n) for n in ("processes", "memory_mb", "disk_mb", "files")}
        return limits | {
            "canary": str(self.canary), "folder": str(self.folder),
            "scratch": str(self.folder / "scratch"),
            "source": str(HERE.parents[1] / "agent_env" / "schema.py"),
            "victim": self.victim.pid, "harness": os.getpid(), "key_name": KEY_NAME,
            "port": inet[1], "socket_file": file, "abstract": abstract,
            "mark": self.mark, "unsafe": unsafe,
        }  # fmt: skip

    def harm(self):
        """What is not as it was; empty where the attack left no trace."""
        found = []
        if self.victim.poll() is not None:
            found.append("the victim was killed")
        if self.canary.read_text() != self.mark or changed(self.before, self.canary.stat()):
            found.append("the canary was changed")
        if {p.name for p in self.folder.iterdir()} != {"canary", "socket", "scratch"}:
            found.append("something was written beside the canary")
        if any(knocked(listener) for listener in self.listeners):
            found.append("something connected")
        found += [f"process {pid} is left" for pid in marked(self.mark) if pid != self.victim.pid]
        return found


@contextlib.contextmanager
def host():
    """A host to attack; taken away afterwards."""
    mark = f"mark{uuid.uuid4().hex}"
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agent-env-host-")))
        folder.chmod(0o777)
        (folder / "scratch").mkdir()
        canary = folder / "canary"
        canary.write_text(mark)
        canary.chmod(0o644)
        command = [sys.executable, "-S", "-c", "import time; time.sleep(600)", mark]
        victim = stack.enter_context(subprocess.Popen(command))
        stack.callback(victim.kill)
        listeners = [stack.enter_context(socket.create_server(("127.0.0.1", 0)))]
        for address in (f"{folder}/socket", f"\0{mark}"):
            listeners.append(stack.enter_context(socket.socket(socket.AF_UNIX)))
            listeners[-1].bind(address)
            listeners[-1].listen()
        (folder / "socket").chmod(0o777)
        for listener in listeners:
            listener.setblocking(False)
        yield Host(folder, canary, canary.stat(), victim, tuple(listeners), mark)


async def run_attack(session, attack, targets):
    """The attack's result, in a session that is open and fresh."""
    preamble = f"T = {targets!r}\n" + (HERE / "preamble.py").read_text()
    ready = await session.run(preamble, TIMEOUT_S)
    assert ready.status == "ok", ready
    return await session.run(attack.code, attack.timeout_s)


def escapes(attack, result):
    """What the result shows to be uncontained."""
    found = []
    if result.status not in attack.ends:
        found.append(f"it ended as {result.status}: {result.error}")
    if result.status == "ok" and attack.name != "flood_output" and result.value != "[]":
        found.append(f"it says {result.value}")
    for name in ("stdout", "stderr", "value", "error"):
        size = len(getattr(result, name) or "")
        if size > LIMITS.output_bytes + 256:
            found.append(f"{size} characters of {name} came back")
    return found


def marked(mark):
    """Processes whose command line holds the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return found


def changed(before, now):
    """Whether owner, mode or times differ."""
    return any(
        getattr(before, name) != getattr(now, name)
        for name in ("st_mode", "st_uid", "st_gid", "st_size", "st_mtime_ns")
    )


def knocked(listener):
    """Whether anyone connected."""
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True
