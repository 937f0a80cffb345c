"""What a sandbox shows of the host: the interpreter, its libraries, and a few named packages.

Found by asking the interpreter itself: a clean child loads every extension module and names the
shared libraries that are then in its memory. So no host directory is shown whole but the standard
library, whose site-packages are covered, because they may hold anything.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from agent_env.errors import SandboxError
from agent_env.sandbox.packages import module_names, package_files

GUEST = "/opt/guest"
PACKAGES = "/opt/packages"
WORK = "/sandbox"
"""The only writable directory, and the home of the code."""

GUEST_FILES = (
    *("kernel", "rlimits", "notebook", "process_finder", "pause", "executor", "worker"),
    *("inside", "landlock", "seccomp", "syscalls", "rules", "isolate", "forkserver", "launcher"),
    *("program", "clock"),
)
"""Those of our own modules that run inside or start what does."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
ZONES = "/usr/share/zoneinfo"

PROBE = r"""
import ctypes, importlib, json, os, sys
sys.path.append(sys.argv[1])
class Info(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("name", ctypes.c_char_p)]
folders = [p for p in sys.path[:-1] if os.path.isdir(p)]
names = {f.partition(".")[0] for p in folders for f in os.listdir(p) if f.endswith(".so")}
for name in sorted(names) + sys.argv[2:]:
    if not name.startswith(("_test", "_xx", "xx", "_tkinter", "_ctypes_test")):
        try:
            importlib.import_module(name)
        except ImportError:
            pass
loaded = []
kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Info), ctypes.c_size_t, ctypes.c_void_p)
note = kind(lambda info, size, data: loaded.append(os.fsdecode(info[0].name or b"")) or 0)
ctypes.CDLL(None).dl_iterate_phdr(note, None)
print(json.dumps({"libraries": [n for n in loaded if n.startswith("/")], "folders": folders}))
"""


@dataclass(frozen=True, slots=True)
class Bind:
    """A host file or directory, and where the sandbox sees it; always read-only."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class SandboxFiles:
    """Everything of the host that a sandbox sees."""

    python: str
    """The real path of the interpreter, the same inside."""
    binds: tuple[Bind, ...]
    """Parents before children."""
    covered: tuple[str, ...]
    """Directories shown empty."""
    environment: dict[str, str]
    """The whole environment of sandboxed code."""

    @property
    def empty_files(self) -> tuple[str, ...]:
        """Files that are there without a source: they make packages of the guest's folders."""
        return f"{GUEST}/agent_env/__init__.py", f"{GUEST}/agent_env/sandbox/__init__.py"

    def command(self, module: str, *arguments: str) -> list[str]:
        """The command that runs one of the guest modules inside."""
        start = (
            f"import sys; sys.path[:0] = [{GUEST!r}]; sys.path.append({PACKAGES!r}); "
            f"from agent_env.sandbox.{module} import main; main()"
        )
        return [self.python, "-I", "-S", "-B", "-X", "utf8", "-c", start, *arguments]


async def find_layout(timeout_s: float = 60.0) -> SandboxFiles:
    """The layout for the interpreter that runs us; raises SandboxError where it cannot be found."""
    python = real_interpreter()
    packages = tuple(package_files())
    paths = await ask_interpreter(python, packages, timeout_s)
    return assemble(python, packages, paths["folders"], paths["libraries"])


def real_interpreter() -> str:
    """The program behind the links of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def assemble(
    python: str, packages: tuple[Path, ...], import_folders: list[str], loaded: list[str]
) -> SandboxFiles:
    """The layout of what was found; libraries that lie in a shown folder need no bind."""
    folders = outermost(import_folders)
    bound_folders = [*folders, *(str(path) for path in packages)]
    libraries = [name for name in loaded if not is_below(name, bound_folders)]
    binds = [Bind(os.path.realpath(name), name) for name in (*folders, *libraries, python)]
    binds += [Bind(str(path.resolve()), f"{PACKAGES}/{path.name}") for path in packages]
    binds += [Bind(name, name) for name in (*DEVICES, ZONES) if os.path.exists(name)]
    ours, theirs = Path(__file__).parent, f"{GUEST}/agent_env/sandbox"
    binds += [Bind(f"{ours}/{name}.py", f"{theirs}/{name}.py") for name in GUEST_FILES]
    covered = [f"{f}/{name}" for f in folders for name in ("site-packages", "dist-packages")]
    return SandboxFiles(
        python=python,
        binds=tuple(sorted(set(binds), key=lambda bind: bind.target)),
        covered=tuple(path for path in covered if os.path.isdir(path)),
        environment={
            "HOME": WORK,
            "TMPDIR": WORK,
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "PATH": os.path.dirname(python),
            "LD_LIBRARY_PATH": ":".join(sorted({os.path.dirname(name) for name in libraries})),
        },
    )


async def ask_interpreter(
    python: str, packages: tuple[Path, ...], timeout_s: float
) -> dict[str, list[str]]:
    """The libraries and the import folders of a clean child of the interpreter."""
    site = os.fspath(packages[0].parent) if packages else "/nonexistent"
    command = [python, "-I", "-S", "-B", "-c", PROBE, site, *module_names()]
    pipe = asyncio.subprocess.PIPE
    child = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env={}
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, complaint = await child.communicate()
    except TimeoutError as exc:
        raise SandboxError(f"{python} did not list its libraries in {timeout_s:g} s") from exc
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise SandboxError(f"{python} could not list its libraries: {complaint.decode()[-300:]}")
    paths: dict[str, list[str]] = json.loads(output)
    return paths


def outermost(folders: list[str]) -> list[str]:
    """The folders that lie in no other of them."""
    return [f for f in folders if not is_below(f, [other for other in folders if other != f])]


def is_below(path: str, folders: list[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
