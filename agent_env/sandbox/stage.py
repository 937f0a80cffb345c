"""The program that shuts a process into the layout: it becomes another program that sees only that.

Run once for each backend, as root or not. As root it ends in a user namespace of spare uids, of
which each session takes one; else in one that has only the harness's. After it, the host's files
are gone from the mount namespace, not hidden.
"""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import shutil
import sys
from typing import Any

from agent_env.sandbox import kernel

ROOT = "/sys"
"""Any directory that is on every Linux and holds nothing we show; covered in our namespace only."""


def main() -> None:
    """As a program: shut in, give up root, become the program named by the plan."""
    plan = json.loads(sys.argv[1])
    enter_namespace(plan["uids"] is not None, plan["proc"])
    build_root(plan)
    kernel.pivot_root(ROOT)
    if plan["uids"] is not None:
        drop_root(plan["uids"][0], plan["uids"][1], plan["proc"])
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    os.execve(plan["command"][0], plan["command"], plan["environment"])


def enter_namespace(is_root: bool, proc: int) -> None:
    """A mount namespace of our own, in a user namespace of our own where we are not root."""
    if is_root:
        kernel.unshare(kernel.NEWNS)
    else:
        uid, gid = os.geteuid(), os.getegid()
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS)
        kernel.map_ids(proc, uid, uid, gid, gid)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)


def build_root(plan: dict[str, Any]) -> None:
    """A small read-only tree with the binds in it."""
    kernel.mount("tmpfs", ROOT, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755,size=1m")
    for folder in plan["folders"]:
        os.makedirs(ROOT + folder, mode=0o755, exist_ok=True)
    for name in plan["empty_files"]:
        touch(ROOT + name)
    for source, target in plan["copies"]:
        copy(source, ROOT + target)
    for source, target in plan["binds"]:
        show(source, ROOT + target)
    if plan["see_proc"]:
        kernel.mount("/proc", f"{ROOT}/proc", "", kernel.MS_BIND | kernel.MS_REC)
    for name in plan["programs"]:
        compile_program(ROOT + name)
    for folder in plan["covered"]:
        kernel.mount("tmpfs", ROOT + folder, "tmpfs", kernel.MS_RDONLY, "mode=755,size=4k")
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY
    kernel.mount("", ROOT, "", flags | kernel.MS_NOSUID | kernel.MS_NODEV)


def copy(source: str, target: str) -> None:
    """A small file, copied: every mount less makes every session quicker."""
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)


def compile_program(path: str) -> None:
    """Beside the program, the compiled form of it, which loads quicker."""
    compiled = importlib.util.cache_from_source(path)
    os.makedirs(os.path.dirname(compiled), mode=0o755, exist_ok=True)
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(path, compiled, invalidation_mode=unchecked)
    os.chmod(compiled, 0o644)


def show(source: str, target: str) -> None:
    """Bind one file or directory."""
    if os.path.isdir(source):
        os.makedirs(target, mode=0o755, exist_ok=True)
    else:
        touch(target)
    is_device = source.startswith("/dev/")
    kernel.bind_read_only(source, target, kernel.MS_NOSUID | (0 if is_device else kernel.MS_NODEV))


def touch(path: str) -> None:
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDONLY | os.O_CLOEXEC, 0o644))


def drop_root(first: int, count: int, proc: int) -> None:
    """Become the first of so many spare uids, with the right to become the others, and no other.

    Root is not among them, so nothing can bring it back.
    """
    wait, go = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:  # only from outside can more than one uid be given
        os.read(wait, 1)
        for name in ("uid_map", "gid_map"):
            kernel.write(f"{parent}/{name}", f"0 {first} {count}", proc)
        os._exit(0)
    kernel.unshare(kernel.NEWUSER)
    os.write(go, b".")
    if os.waitpid(helper, 0)[1] != 0:
        raise PermissionError(f"no uids from {first} to {first + count - 1} to lend")
    os.close(wait)
    os.close(go)
    os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    kernel.keep_capabilities(kernel.CAP_SETGID, kernel.CAP_SETUID)
