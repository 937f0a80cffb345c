"""A clock of a session's own: it is noon of some day when the session begins, and time goes on.

The C library reads the time from memory that the kernel shows every process (the vDSO), without a
system call that a filter could stop. So the functions there are overwritten, in this process's own
copy, with code that asks for the time since the boot and adds a constant; the memory itself is
given back; and a second system call filter refuses every other way to the real time. As a program
that is started anew would get that memory again, sessions with a clock start none (fork works).

Guaranteed, on x86-64: no call of the C library, Python or a library tells the real date, nor does a
system call, whatever the code does: no process of the session is ever told the time of the real
clock. The times of files are all noon of that day, as the functions of the C library tell them, and
the system calls behind these are refused elsewhere. Not guaranteed: the real times of files against
code that reads the stack of another thread in the middle of its call, jumps into the dynamic loader
or writes over our code; and that kernel, Python, packages and their compiled files are no younger
than that day, as their version numbers and headers tell.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys
import time

from agent_env.sandbox import kernel, seccomp
from agent_env.sandbox.rules import ALLOW, HIGH, Rule, one_of
from agent_env.sandbox.syscalls import ALLOWED, LOOKED_AT

CODE = bytes.fromhex(
    "83ff0b7728b8210900000fa3f8731ebf01000000b8e40000000f0585c0750d48b9111111111111111148010ec3b8e4"
    "0000000f05c34885f6740748c7060000000031c04885ff74304889febf01000000b8e40000000f0548b91111111111"
    "11111148010e488b460831d2b9e803000048f7f14889460831c0c34889fa4883ec104889e6bf01000000b8e4000000"
    "0f0548b81111111111111111480304244883c4104885d27403488902c3b8e50000000f05c3b83e0100000f05c34531"
    "d2eb0641ba000100004889f24889febf9cffffffeb034189ca4989d04881ec980000004889e2b8060100000f0585c0"
    "754048b9222222222222222248894c244848894c245848894c246831c948894c245048894c246048894c2470b91200"
    "00004889e64c89c7f348a54889f44883c408c34881c498000000eb734989f04881ec980000004889e6b805000000eb"
    "9d4189cab84c0100004d89c14881ec080100004989e00f054d89c885c0753a48b9222222222222222248894c244048"
    "894c245048894c246048894c247031c9894c2448894c2458894c2468894c2478b920000000e97affffff4881c40801"
    "000053f7d889c348b83333333333333333ffd089185bb8ffffffffc3"
)
"""tests/sandbox/clock.S, assembled."""
OFFSET, START, ERRNO = b"\x11" * 8, b"\x22" * 8, b"\x33" * 8
"""What is in it for the constant that is added, for the time of files, and for the function
that says where the error number is kept."""
OF_VDSO = {
    "__vdso_clock_gettime": 0x0, "__vdso_gettimeofday": 0x35, "__vdso_time": 0x79,
    "__vdso_clock_getres": 0xAA, "__vdso_getrandom": 0xB2,
}  # fmt: skip
"""Where the code for each function begins: for all that read the kernel's memory."""
OF_LIBRARY = {
    "stat": 0xBA, "stat64": 0xBA, "lstat": 0xBF, "lstat64": 0xBF, "fstatat": 0xD2,
    "fstatat64": 0xD2, "fstat": 0x136, "fstat64": 0x136, "statx": 0x14A,
}  # fmt: skip
NOON_S = 43_200
EXECUTABLE = mmap.PROT_READ | mmap.PROT_EXEC
STAT_CALLS = ("stat", "fstat", "lstat", "newfstatat", "statx")

ELAPSED_CLOCKS = (1, 2, 3, 4, 6, 7)
"""Since the boot, and CPU times; those of other processes have negative numbers."""
TIMERS = (1, 7)
REFUSED: Rule = ([], errno.EPERM)
RULES: dict[str, Rule] = {
    "gettimeofday": REFUSED,
    "time": REFUSED,
    "execve": REFUSED,
    "execveat": REFUSED,
    "clock_gettime": (
        [*one_of(0, ELAPSED_CLOCKS), (ALLOW, ((0, 1 << 31, 1 << 31),))],
        errno.EPERM,
    ),
    # to wait until a time tells whether it is past
    "clock_nanosleep": ([*one_of(0, TIMERS), (ALLOW, ((1, 0),))], errno.EPERM),
    "timerfd_create": (one_of(0, TIMERS), errno.EPERM),
    # without a time, or else over at once: the C library ends a process at other errors
    "futex": (
        [
            (ALLOW, ((3, 0), (HIGH | 3, 0))),
            (errno.ETIMEDOUT, ((1, 256, 256),)),
            (errno.ETIMEDOUT, ((1, 127, 6),)),
        ],
        ALLOW,
    ),
    # another of these maps the kernel's memory anew
    "arch_prctl": (one_of(0, (0x1002, 0x1003)), errno.EPERM),
}
"""Beside those of the filter of every session."""

Range = tuple[int, int]


class Mappings:
    """Where the kernel's memory and the dynamic loader lie; the same in all forks."""

    def __init__(self, proc: int) -> None:
        """`proc`: a descriptor of /proc."""
        self.shown: list[Range] = []
        self.functions: list[Range] = []
        self.loader: list[Range] = []
        with open(os.open("self/maps", os.O_RDONLY, dir_fd=proc)) as lines:
            for line in lines:
                place, rights, *_, name = line.split()
                first, _, end = place.partition("-")
                where = int(first, 16), int(end, 16)
                if name.startswith("[vvar"):
                    self.shown.append(where)
                elif name == "[vdso]":
                    self.functions.append(where)
                elif os.path.basename(name).startswith("ld-") and "x" in rights:
                    self.loader.append(where)


def set_clock(day_s: int, mappings: Mappings) -> None:
    """Put this process and all its forks on noon of the day that begins at `day_s`, in seconds from
    1970; OSError or RuntimeError where that cannot be, or does not hold.

    Needs no-new-privileges."""
    if os.uname().machine != "x86_64" or sys.platform != "linux":
        raise RuntimeError(f"no clock can be set on {os.uname().machine}: --today needs x86-64")
    start = day_s + NOON_S
    code = _code(start)
    library, vdso = ctypes.CDLL(None), ctypes.CDLL("linux-vdso.so.1")
    pages = [  # the kernel's own can only be changed together
        *mappings.functions,
        *{_page(_address(library, name)) for name in OF_LIBRARY if hasattr(library, name)},
    ]
    for first, end in pages:
        _protect(first, end, EXECUTABLE | mmap.PROT_WRITE)
    for functions, entries in ((vdso, OF_VDSO), (library, OF_LIBRARY)):
        for name, entry in entries.items():
            if hasattr(functions, name):
                jump = b"\x48\xb8" + struct.pack("<Q", code + entry) + b"\xff\xe0"
                ctypes.memmove(_address(functions, name), jump, len(jump))
    for first, end in pages:
        _protect(first, end, EXECUTABLE)
    for first, end in mappings.shown:
        _check(library.munmap(ctypes.c_void_p(first), ctypes.c_size_t(end - first)), "munmap")
    for finder in sys.path_importer_cache.values():
        if hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()  # type: ignore[union-attr]  # times of folders
    _ = [number / 3 for number in range(5_000)]  # where those stood
    seccomp.install(_filter([(code, code + mmap.PAGESIZE), *mappings.loader]))
    _verify(start)


def _code(start: int) -> int:
    """Where our code lies, with its constants."""
    library = ctypes.CDLL(None)
    library.mmap.restype = ctypes.c_void_p
    arguments = (ctypes.c_size_t(mmap.PAGESIZE), EXECUTABLE | mmap.PROT_WRITE, 0x22, -1, 0)
    place: int = library.mmap(None, *arguments)
    constants = {
        OFFSET: struct.pack("<q", start - int(time.monotonic())),
        START: struct.pack("<q", start),
        ERRNO: struct.pack("<Q", _address(library, "__errno_location")),
    }
    code = CODE
    for mark, value in constants.items():
        code = code.replace(mark, value)
    ctypes.memmove(place, code, len(code))
    _protect(place, place + mmap.PAGESIZE, EXECUTABLE)
    return place


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def _page(address: int) -> Range:
    """The page of a function, and the next, into which its beginning may reach."""
    first = address & -mmap.PAGESIZE
    return first, first + 2 * mmap.PAGESIZE


def _protect(first: int, end: int, rights: int) -> None:
    arguments = ctypes.c_void_p(first), ctypes.c_size_t(end - first), rights
    _check(kernel.libc().mprotect(*arguments), "mprotect")


def _check(result: int, call: str) -> None:
    kernel.check(result, f"no clock can be set here: {call}")


def _filter(stat_callers: list[Range]) -> bytes:
    """The second filter: it refuses, and leaves the rest to the first."""
    steps = [seccomp.step(seccomp.LOAD, 0)]
    blocks = [(name, seccomp.steps_of(rule)) for name, rule in RULES.items()]
    blocks += [(name, _only_from(stat_callers)) for name in STAT_CALLS]
    for name, block in blocks:
        number = (ALLOWED.get(name) or LOOKED_AT[name])[0]
        assert number is not None
        steps += [seccomp.step(seccomp.EQUAL, number, 0, len(block)), *block]
    return b"".join([*steps, seccomp.step(seccomp.RETURN, seccomp.ALLOW)])


def _only_from(ranges: list[Range]) -> list[bytes]:
    """Allow a call where the instruction pointer is in one of the ranges."""
    step, steps = seccomp.step, []
    for first, end in ranges:
        if first >> 32 != end >> 32:
            raise RuntimeError("no clock can be set here: code lies across 4 GB")
        steps += [
            step(seccomp.LOAD, 12),
            step(seccomp.EQUAL, first >> 32, 0, 4),
            step(seccomp.LOAD, 8),
            step(seccomp.AT_LEAST, first & 0xFFFFFFFF, 0, 2),
            step(seccomp.AT_LEAST, end & 0xFFFFFFFF, 1, 0),
            step(seccomp.RETURN, seccomp.ALLOW),
        ]
    return [*steps, step(seccomp.RETURN, seccomp.FAIL | errno.EPERM)]


def _verify(start: int) -> None:
    """RuntimeError where the real time can still be read."""
    library, buffer = kernel.libc(), ctypes.create_string_buffer(256)
    library.time.restype = ctypes.c_long
    library.gettimeofday(buffer, None)
    seconds, _ = struct.unpack_from("<qq", buffer)
    found = (time.time(), seconds, library.time(None), os.stat("/").st_mtime, os.fstat(0).st_ctime)
    if any(not 0 <= second - start < 60 for second in found):
        raise RuntimeError("no clock can be set here: the C library still tells the real time")
    for clock in (0, 5, 8, 11):
        if library.syscall(ctypes.c_long(228), ctypes.c_long(clock), buffer) == 0:
            raise RuntimeError("no clock can be set here: a system call still tells the real time")
