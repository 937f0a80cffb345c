"""One control group per session: a true total for memory and processes, where one may be made.

Groups lie in a folder named by the harness's pid and start time, so that the next start can tell
what a killed harness left behind, and take it away.

With version 2, the folder is made in the nearest group above ours that hands the memory controller
on and lets us write. With version 1 it is made at the top of each hierarchy, as Docker does.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent_env.sandbox.limits import KERNEL_MB, SandboxLimits

PREFIX = "agent-env-"
OVERHEAD = 3
"""Processes of ours that a session's group holds beside the code's."""


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one session, one folder for each hierarchy."""

    folders: tuple[Path, ...]

    def doors(self) -> list[int]:
        """Descriptors that a process writes 0 to, to move itself in; the caller closes them."""
        return [os.open(f / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC) for f in self.folders]

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed something in it for want of memory."""
        for folder in self.folders:
            for name in ("memory.events", "memory.oom_control"):
                with contextlib.suppress(OSError):
                    lines = (folder / name).read_text().splitlines()
                    if any(li.startswith("oom_kill ") and not li.endswith(" 0") for li in lines):
                        return True
        return False

    def remove(self) -> bool:
        """Take the folders away, killing what is in them; false where something is still dying."""
        remaining = [folder for folder in self.folders if not remove_group(folder)]
        return not remaining


class Groups:
    """Makes groups; use `find_groups`. Several of one process share its folder."""

    def __init__(self, tops: tuple[Path, ...]) -> None:
        self._tops = tops
        self._numbers = itertools.count(1)
        self._made: list[Group] = []

    def make(self, limits: SandboxLimits) -> Group:
        """A group with the limits set; raises OSError where that fails."""
        group = next(filter(None, map(self._free, self._numbers)))
        self._made.append(group)
        try:
            for folder in group.folders:
                folder.mkdir(exist_ok=True)
                set_limits(folder, limits)
        except OSError:
            group.remove()
            raise
        return group

    def _free(self, number: int) -> Group | None:
        """The group of this number, begun; None where another one has it."""
        for top in self._tops:
            top.mkdir(exist_ok=True)
            control = top / "cgroup.subtree_control"
            if control.exists():  # with version 2, the folders below are to have the controllers
                control.write_text("+memory +pids")
        group = Group(tuple(top / f"s{number}" for top in self._tops))
        try:
            group.folders[0].mkdir()
        except FileExistsError:
            return None
        return group

    def close(self) -> None:
        """Take its groups away, and the folder where no other has one in it."""
        for group in self._made:
            group.remove()
        for top in self._tops:
            with contextlib.suppress(OSError):
                top.rmdir()


def find_groups(limits: SandboxLimits) -> Groups | None:
    """A maker of groups that was tried, or None where there can be none."""
    parents = tuple(parent_groups())
    if not parents:
        return None
    for parent in parents:
        sweep(parent)
    tops = tuple(parent / f"{PREFIX}{os.getpid()}-{start_time(os.getpid())}" for parent in parents)
    groups = Groups(tops)
    try:
        group = groups.make(limits)
        try_to_join(group)
        group.remove()
    except OSError:
        groups.close()
        return None
    return groups


def try_to_join(group: Group) -> None:
    """Move a throw-away child in; OSError where we may make groups but not fill them."""
    waits = [sys.executable, "-I", "-S", "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as child:
        try:
            for folder in group.folders:
                (folder / "cgroup.procs").write_text(str(child.pid))
        finally:
            child.kill()


def parent_groups() -> Iterator[Path]:
    """Where our folder goes: one place with version 2, one for each controller with version 1."""
    mounts = mount_points_by_controller()
    if "memory" in mounts:
        yield from {mounts[name].resolve() for name in ("memory", "pids") if name in mounts}
        return
    unified = mounts.get("unified")
    for folder in groups_above(unified) if unified is not None else ():
        with contextlib.suppress(OSError):
            hands_on = (folder / "cgroup.subtree_control").read_text().split()
            if {"memory", "pids"} <= set(hands_on) and os.access(folder, os.W_OK):
                yield folder
                return


def mount_points_by_controller() -> dict[str, Path]:
    """Mount points by controller; `unified` is that of version 2."""
    mount_points: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/mountinfo").read_text().splitlines():
            fields, _, right = line.partition(" - ")
            kind, _, options = right.split(" ", 2)
            place = Path(fields.split(" ")[4])
            if kind == "cgroup2":
                mount_points["unified"] = place
            elif kind == "cgroup":
                mount_points.update(dict.fromkeys(options.split(","), place))
    return mount_points


def groups_above(mount: Path) -> Iterator[Path]:
    """Our own version 2 group and those above it, nearest first."""
    text = Path("/proc/self/cgroup").read_text()
    path = next((li[3:] for li in text.splitlines() if li.startswith("0::")), "/")
    folder = mount / path.lstrip("/")
    while folder != mount.parent:
        yield folder
        folder = folder.parent


def set_limits(folder: Path, limits: SandboxLimits) -> None:
    """The limits that this hierarchy knows."""
    memory = str((limits.memory_mb + KERNEL_MB) << 20)
    values = {
        "memory.max": memory,
        "memory.swap.max": "0",
        "memory.limit_in_bytes": memory,
        "memory.memsw.limit_in_bytes": memory,
        "pids.max": str(limits.processes + OVERHEAD),
    }
    for name, value in values.items():
        if (folder / name).exists():
            (folder / name).write_text(value)


def sweep(parent: Path) -> None:
    """Take away what harnesses left that are no more."""
    for top in parent.glob(f"{PREFIX}*"):
        pid, _, started = top.name.removeprefix(PREFIX).partition("-")
        if pid.isdigit() and start_time(int(pid)) != started:
            for folder in (*sorted(top.glob("s*")), top):
                remove_group(folder)


def remove_group(folder: Path) -> bool:
    """One group; kills what is in it. One that stays busy is left to the next try or sweep."""
    with contextlib.suppress(OSError):
        for pid in (folder / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def start_time(pid: int) -> str:
    """When a process began, in the kernel's ticks; empty where there is none."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        return text.rpartition(")")[2].split()[19]
    return ""
