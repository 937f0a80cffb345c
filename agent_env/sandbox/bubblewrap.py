"""The backend for machines where bubblewrap may make namespaces, which is not everyone's right.

bubblewrap makes the namespaces and puts our system call filter on; the worker sets the limits that
bubblewrap has no words for. Where the harness is root, bubblewrap itself is run as a spare uid,
from a place where nothing but the layout is to be seen: as root it would map to the host's root.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from agent_env.errors import SandboxError
from agent_env.sandbox import kernel, seccomp
from agent_env.sandbox.forked import ForkedBackend, lent_uids
from agent_env.sandbox.layout import WORK, Bind, SandboxFiles
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.namespaces import staged
from agent_env.sandbox.process_finder import numbers_here

TOOL = "/opt/bwrap"
"""Where the staged launcher sees bubblewrap and its libraries; sessions do not."""


async def find_bubblewrap() -> tuple[Bind, ...]:
    """The program and its libraries, as the staged launcher sees them."""
    program = shutil.which("bwrap")
    if program is None:
        raise SandboxError("no program bwrap on the PATH; install the package bubblewrap")
    pipe = asyncio.subprocess.PIPE
    loader = await asyncio.create_subprocess_exec(
        program, stdout=pipe, env={"LD_TRACE_LOADED_OBJECTS": "1"}
    )
    async with asyncio.timeout(20):
        listed, _ = await loader.communicate()
    libraries = [word for word in listed.decode().split() if word.startswith("/")]
    return tuple(tool_file(name) for name in (program, *libraries))


def tool_file(path: str) -> Bind:
    return Bind(os.path.realpath(path), f"{TOOL}/{os.path.basename(path)}")


def bubblewrap(
    limits: SandboxLimits, tool: tuple[Bind, ...], use_cgroups: bool = True
) -> ForkedBackend:
    """The backend; `tool` is what find_bubblewrap gave."""

    def make_command(layout: SandboxFiles, control: int, proc: int) -> list[str]:
        is_staged = lent_uids() is not None
        bounds = json.dumps({**asdict(limits), "numbers": numbers_here()})
        plan = {
            "control": control,
            "uids": len(lent_uids() or ()),
            "proc": proc,
            "work": WORK if is_staged else "/sys",
            "files": f"size={limits.disk_mb}m,nr_inodes={limits.files}",
            "filter": base64.b64encode(seccomp.program(kernel.is_aarch64())).decode(),
            "command": [
                *wrap(layout, tool[0], is_staged),
                *layout.command("inside", WORK, bounds),
            ],
            "environment": {"LD_LIBRARY_PATH": TOOL} if is_staged else {},
        }
        if is_staged:
            command = layout.command("launcher", json.dumps(plan))
            return staged(layout, proc, command, tool, see_proc=True)
        above = str(Path(__file__).parents[2])
        start = (
            f"import sys; sys.path.insert(0, {above!r}); "
            "from agent_env.sandbox.launcher import main; main()"
        )
        return [layout.python, "-I", "-S", "-B", "-c", start, json.dumps(plan)]

    return ForkedBackend("bubblewrap", limits, make_command, use_cgroups, has_inner=True)


def wrap(layout: SandboxFiles, program: Bind, is_staged: bool) -> list[str]:
    """bubblewrap's command line up to what it runs; the launcher adds work directory and filter."""
    return [
        program.target if is_staged else program.source,
        *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"),
        *("--unshare-cgroup-try", "--disable-userns", "--cap-drop", "ALL"),
        *("--uid", "1000", "--gid", "1000", "--hostname", "sandbox"),
        *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"),
        *(word for item in layout.environment.items() for word in ("--setenv", *item)),
        *visible_paths(layout, is_staged),
    ]


def visible_paths(layout: SandboxFiles, is_staged: bool) -> Iterator[str]:
    """The binds; few and large in the staged place, where nothing else lies, as each costs time."""
    if is_staged:
        for folder in sorted({top_of(bind.target) for bind in layout.binds}):
            yield from ("--dev-bind" if folder == "/dev" else "--ro-bind", folder, folder)
        yield from ("--remount-ro", "/")
        return
    for bind in layout.binds:
        how = "--dev-bind" if bind.source.startswith("/dev/") else "--ro-bind"
        yield from (how, bind.source, bind.target)
    for folder in layout.covered:
        yield from ("--tmpfs", folder, "--remount-ro", folder)
    for name in layout.empty_files:
        yield from ("--ro-bind", "/dev/null", name)
    yield from ("--remount-ro", "/")


def top_of(path: str) -> str:
    """The outermost folder of a path; below /opt, where our own things lie, the second."""
    parts = path.split("/")
    return "/".join(parts[:3] if parts[1] == "opt" else parts[:2])
