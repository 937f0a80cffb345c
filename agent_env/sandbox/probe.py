"""Whether a backend holds on this machine: a session in it really tries to get out.

Probes that held, kept for the machine's boot, so that not every command probes again.

Guaranteed: a record counts only where this user wrote it and nobody else can have, and only for the
same boot, namespaces and rights of this process, kernel settings, interpreter, packages, sandbox
code, program and limits. That a backend did not hold is never kept. Docker, whose engine and image
change without a boot, is probed each time.
Not guaranteed: anything against someone who can write files as this user, or what root changes in
mid-boot beside these settings; `agent-env doctor --probe` probes again. A backend that cannot do
any more what it did still fails when it is opened: nothing falls back to less.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from agent_env.errors import SandboxError
from agent_env.protocols import SandboxBackend
from agent_env.records.safe_files import read_own_file, replace_file
from agent_env.records.schema import Record
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.packages import importable

TIMEOUT_S = 20.0

ATTEMPTS = """
import importlib, os, socket
def reads_a_file_of_the_host():
    open({canary!r}).read()
def lists_the_folder_of_a_file_of_the_host():
    os.listdir(os.path.dirname({canary!r}))
def connects_to_the_host():
    socket.create_connection(('127.0.0.1', {port}), 2)
def connects_to_an_abstract_socket_of_the_host():
    socket.socket(socket.AF_UNIX).connect({abstract!r})
def writes_outside_its_directory():
    open('/usr/agent-env-probe', 'w').close()
    os.unlink('/usr/agent-env-probe')
def makes_more_files_than_allowed():
    made = []
    try:
        for number in range({files} + 1):
            os.close(os.open(f'probe{{number}}', os.O_CREAT | os.O_WRONLY))
            made.append(f'probe{{number}}')
    finally:
        for name in made:
            os.unlink(name)
def becomes_root():
    os.setuid(0)
def lacks_a_promised_package():
    for name in {packages!r}:
        try:
            importlib.import_module(name)
        except ImportError:
            return
    raise OSError
found = []
for attempt in (reads_a_file_of_the_host, lists_the_folder_of_a_file_of_the_host,
                connects_to_the_host, connects_to_an_abstract_socket_of_the_host,
                writes_outside_its_directory, makes_more_files_than_allowed, becomes_root,
                lacks_a_promised_package):
    try:
        attempt()
        found.append(attempt.__name__)
    except OSError:
        pass
' '.join(found)
"""


async def why_it_does_not_hold(backend: SandboxBackend, limits: SandboxLimits) -> str | None:
    """The reason, or None where the backend opens and every attempt fails inside it."""
    with host_targets() as (canary, port, abstract):
        code = ATTEMPTS.format(
            canary=canary,
            port=port,
            abstract=abstract,
            files=limits.files,
            packages=importable(),
        )
        try:
            async with asyncio.timeout(4 * TIMEOUT_S), backend, backend.session() as session:
                result = await session.run(code, TIMEOUT_S)
        except SandboxError as exc:
            return str(exc)
        except TimeoutError:
            return f"no session within {4 * TIMEOUT_S:g} s"
    if result.status != "ok" or result.value is None:
        return f"the probe ended as {result.status}: {result.error}"
    broken = result.value.strip("'").replace("_", " ")
    return f"code inside it {broken}" if broken else None


@contextmanager
def host_targets() -> Iterator[tuple[str, int, str]]:
    """A file that anyone may read, a TCP port on loopback and an abstract socket, all of ours."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="agent-env-")))
        folder.chmod(0o755)
        canary = folder / "canary"
        canary.write_text("not for the sandbox")
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = f"\0{folder}"
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        if hasattr(socket, "SO_PASSCRED"):  # Linux: only there do abstract sockets exist
            unix.bind(abstract)
            unix.listen()
        yield str(canary), int(listener.getsockname()[1]), abstract


KEPT = ("namespaces", "bubblewrap")
BOOT = Path("/proc/sys/kernel/random/boot_id")
SETTINGS = (
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/sys/user/max_user_namespaces",
    "/proc/self/attr/current",
    "/proc/self/uid_map",
)
RIGHTS = ("Uid:", "Gid:", "Groups:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:")


class ProbeRecord(Record):
    key: str
    """Digest of all that the probe depends on."""
    at: str


@dataclass(frozen=True, slots=True)
class ProbeRecords:
    """The records of this user, a file for each backend."""

    folder: Path

    def held_at(self, backend: str, limits: SandboxLimits) -> str | None:
        """When the backend last held under the same circumstances; None where that is not known."""
        data = read_own_file(self.folder / f"{backend}.json")
        key = _key(backend, limits)
        if data is None or key is None:
            return None
        with suppress(ValidationError):
            record = ProbeRecord.model_validate_json(data)
            return record.at if record.key == key else None
        return None

    def keep(self, backend: str, limits: SandboxLimits) -> None:
        """Record that the backend holds; nothing is recorded where that cannot be."""
        if (key := _key(backend, limits)) is None:
            return
        record = ProbeRecord(key=key, at=datetime.now(UTC).isoformat(timespec="seconds"))
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            file = self.folder / f"{backend}.json"
            replace_file(file, record.model_dump_json().encode(), mode=0o600)


def _key(backend: str, limits: SandboxLimits) -> str | None:
    """None where the backend's probe is not kept, or the boot cannot be told."""
    if backend not in KEPT or not (boot := _text(BOOT)):
        return None
    whole = hashlib.sha256()
    for part in (
        backend, boot, repr(limits), sys.executable, sys.version, *importable(), *_process(),
        *_program(backend),
    ):  # fmt: skip
        whole.update(part.encode() + b"\0")
    for file in sorted(Path(__file__).parent.glob("*.py")):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def _process() -> list[str]:
    """What this process may do, and where it is."""
    lines = [_text(Path(name)) for name in SETTINGS]
    status = _text(Path("/proc/self/status")).splitlines()
    lines += [line for line in status if line.startswith(RIGHTS)]
    with suppress(OSError):
        lines += [os.readlink(entry.path) for entry in os.scandir("/proc/self/ns")]
    return sorted(lines)


def _program(backend: str) -> list[str]:
    """Which program the backend starts, by its place and its inode."""
    program = shutil.which("bwrap") if backend == "bubblewrap" else None
    if program is None:
        return []
    stat = os.stat(program)
    return [program, f"{stat.st_dev}:{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}"]


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, ValueError):
        return ""
