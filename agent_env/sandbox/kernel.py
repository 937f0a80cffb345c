"""Linux calls that Python has no name for. Each failure raises OSError with the call's name.

Numbers are those of x86-64 and aarch64, which agree for all calls since 2018.
"""

from __future__ import annotations

import ctypes
import os
import struct

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
EVERY_NAMESPACE = NEWNS | NEWCGROUP | NEWUTS | NEWIPC | NEWUSER | NEWPID | NEWNET

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
MS_OF_WORK = MS_NOSUID | MS_NODEV | MS_NOEXEC
"""Of work directories; for a program of unknown form the kernel may start modprobe on the host."""
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_READ, PR_CAPBSET_DROP = 1, 4, 23, 24
PR_SET_SECCOMP, PR_SET_SECUREBITS, PR_SET_CHILD_SUBREAPER = 22, 28, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
RLIMIT_CORE, CAP_SETGID, CAP_SETUID = 4, 6, 7
SECUREBITS_LOCKED = 0b11101111
"""No capabilities by uid 0, none kept over setuid, none ambient; all locked."""


def check(result: int, call: str) -> int:
    """The call's result; raises what errno says where it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def syscall(name: str, number: int, *arguments: int | bytes | None) -> int:
    """One raw system call; integers go over as longs."""
    longs = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return check(libc().syscall(ctypes.c_long(number), *longs), name)


def unshare(flags: int) -> None:
    """New namespaces for this process, or for its children where they are pid ones."""
    check(libc().unshare(flags), f"unshare({flags:#x})")


def map_ids(proc: int, uid: int, outer_uid: int, gid: int, outer_gid: int) -> None:
    """Give our user namespace its one user and one group; `proc` is a descriptor of /proc."""
    write("self/setgroups", "deny", proc)
    write("self/uid_map", f"{uid} {outer_uid} 1", proc)
    write("self/gid_map", f"{gid} {outer_gid} 1", proc)


def write(path: str, text: str, folder: int) -> None:
    """Write a kernel file in one call."""
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind)]
    status = libc().mount(*texts, ctypes.c_ulong(flags), options.encode() or None)
    check(status, f"mount {kind or 'bind'} {source} on {target}")


def bind_read_only(source: str, target: str, flags: int) -> None:
    """Show a file or directory at another place, read-only, keeping the flags it has there."""
    mount(source, target, "", MS_BIND)
    had = os.statvfs(target).f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC)
    mount("", target, "", MS_BIND | MS_REMOUNT | MS_RDONLY | flags | had)


def pivot_root(new_root: str) -> None:
    """Make a mount point the root of this mount namespace and let go of the old one."""
    os.chdir(new_root)
    syscall("pivot_root", 41 if is_aarch64() else 155, b".", b".")
    check(libc().umount2(b".", MNT_DETACH), "umount2")
    os.chdir("/")


def prctl(option: int, *arguments: int) -> int:
    """prctl(2), padded to five arguments."""
    padded = [ctypes.c_ulong(a) for a in (*arguments, 0, 0, 0, 0)[:4]]
    return check(libc().prctl(option, *padded), f"prctl({option})")


def die_with_parent() -> None:
    """Be killed when the thread that forked us ends; lost again when credentials change."""
    prctl(PR_SET_PDEATHSIG, 9)


def hide_process() -> None:
    """No tracing, no memory access and no core of this process by others of its uid."""
    prctl(PR_SET_DUMPABLE, 0)


def drop_capabilities() -> None:
    """None left, none to be had: sets emptied, bounding set emptied, securebits locked."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    keep_capabilities()
    prctl(PR_SET_SECUREBITS, SECUREBITS_LOCKED)
    header = struct.pack("=Ii", 0x20080522, 0)
    syscall("capset", 91 if is_aarch64() else 126, header, bytes(24))


def keep_capabilities(*capabilities: int) -> None:
    """Only these in the bounding set, which the next program gets at most."""
    for number in range(64):
        try:
            prctl(PR_CAPBSET_READ, number)
        except OSError:
            break
        if number not in capabilities:
            prctl(PR_CAPBSET_DROP, number)


def take_uid(number: int) -> None:
    """Become that user and group, and lose all rights over others; may still map ids."""
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)
    prctl(PR_SET_DUMPABLE, 1)  # else /proc/self belongs to root


def is_aarch64() -> bool:
    """The other processor we know the numbers of."""
    return os.uname().machine in ("aarch64", "arm64")
