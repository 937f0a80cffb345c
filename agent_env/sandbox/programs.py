"""Programs of others in our namespaces: those that speak over stdin and stdout.

Guaranteed as for code in the backend `namespaces` (docs/sandbox.md): no network, no process, user
or secret of the host, writing in a directory of its own alone, the same system call filter. Shown,
read-only: the system's programs and libraries, the program's own environment of Python, and each
file or folder that its command names. Not guaranteed: a bound on the memory of all its processes
together, as each has one of its own.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path

from agent_env.sandbox.forked import lent_uids
from agent_env.sandbox.layout import WORK, Bind, find_layout
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.namespaces import staged
from agent_env.sandbox.process_finder import numbers_here

LIMITS = SandboxLimits(memory_mb=4096, processes=128, disk_mb=256, descriptors=256)
SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
_STARTED = count(1)


@dataclass(frozen=True, slots=True)
class ConfinedProgram:
    """How to start it; the descriptors are passed on, and closed by who starts it."""

    command: list[str]
    descriptors: tuple[int, ...]


async def confine(command: Sequence[str], environment: Mapping[str, str]) -> ConfinedProgram:
    """The command that runs `command` in namespaces of its own; SandboxError where the layout
    cannot be found."""
    layout = await find_layout()
    program = shutil.which(command[0]) or command[0]
    words = [program, *map(_absolute, command[1:])]
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    variables = _written({**environment, "HOME": WORK, "TMPDIR": WORK})
    uids = lent_uids()
    uid = 0 if uids is None else len(uids) - 1 - next(_STARTED) % (len(uids) // 2)
    bounds = json.dumps({**asdict(LIMITS), "numbers": numbers_here()})
    inner = (str(proc), str(variables), str(uid), WORK, bounds, *words)
    known = {bind.target for bind in layout.binds}
    shown = tuple(Bind(each, each) for each in _shown(words) if each not in known)
    return ConfinedProgram(
        staged(layout, proc, layout.command("program", *inner), shown), (proc, variables)
    )


def _written(value: Mapping[str, str]) -> int:
    """A descriptor of memory that holds the value as JSON, to be read from its beginning."""
    variables = os.memfd_create("environment")
    os.write(variables, json.dumps(value).encode())
    os.lseek(variables, 0, os.SEEK_SET)
    return variables


def _absolute(word: str) -> str:
    """A file or folder by its whole path: the program is started in another folder."""
    return os.path.abspath(word) if os.path.exists(word) else word


def _shown(words: Sequence[str]) -> list[str]:
    """What the program reads, parents before children."""
    program = Path(words[0])
    paths = {each for each in SYSTEM if os.path.isdir(each)}
    paths |= {word for word in words[1:] if os.path.isabs(word) and os.path.exists(word)}
    paths |= {str(program), os.path.realpath(program)}
    for each in (program, Path(os.path.realpath(program))):
        folder = each.parent.parent
        if _is_environment(folder):
            base = Path(os.path.realpath(folder / "bin" / "python")).parent.parent
            paths |= {str(folder), *([str(base)] if _is_environment(base) else [])}
    return sorted(paths - {"/"})


def _is_environment(folder: Path) -> bool:
    """Whether it is an environment or installation of Python or Node, and no home with a bin."""
    has_code = any(folder.glob("lib/python3*")) or (folder / "lib" / "node_modules").is_dir()
    return (folder / "pyvenv.cfg").exists() or (has_code and folder != Path.home() / ".local")
