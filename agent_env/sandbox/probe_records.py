"""Probes that held, kept for the machine's boot, so that not every command probes again.

Guaranteed: a record counts only where this user wrote it and nobody else can have, and only for the
same boot, namespaces and rights of this process, kernel settings, interpreter, packages, sandbox
code, program and limits. That a backend did not hold is never kept. Docker, whose engine and image
change without a boot, is probed each time.
Not guaranteed: anything against someone who can write files as this user, or what root changes in
mid-boot beside these settings; `agent-env doctor --probe` probes again. A backend that cannot do
any more what it did still fails when it is opened: nothing falls back to less.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from agent_env.records.safe_files import read_own_file, replace_file
from agent_env.records.schema import Record
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.packages import importable

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
    """A backend held."""

    key: str
    """Digest of all that the probe depends on."""
    at: str


@dataclass(frozen=True, slots=True)
class ProbeRecords:
    """The records of this user, a file for each backend."""

    folder: Path

    def held_at(self, backend: str, limits: SandboxLimits) -> str | None:
        """When the backend was last seen to hold under the same circumstances; None where that is
        not known."""
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
    found = [_text(Path(name)) for name in SETTINGS]
    found += [line for line in _text(Path("/proc/self/status")).splitlines() if _is_right(line)]
    with suppress(OSError):
        found += [os.readlink(entry.path) for entry in os.scandir("/proc/self/ns")]
    return sorted(found)


def _is_right(line: str) -> bool:
    return line.startswith(RIGHTS)


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
