"""The system call filter: a list of what is allowed, as BPF and as a Docker profile.

Guaranteed: a call that is not on the list fails with EPERM, one of another architecture or of the
x32 table kills the process. Not guaranteed: that the allowed calls have no bugs.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from agent_env.sandbox import kernel
from agent_env.sandbox.syscalls import ALLOWED, LOOKED_AT

ARCHITECTURES = (0xC000003E, 0xC00000B7)
"""As the kernel names x86-64 and aarch64 in the filter's input."""
X32_BIT = 0x40000000
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000

PRCTL_OPTIONS = (1, 2, 3, 4, 15, 16, 21, 23, 30, 38, 39, 0x53564D41)
"""Death signal, dumpable, name, what is set, timer slack, no new privileges, names of memory."""
IOCTL_REQUESTS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its group and size, bytes waiting, non-blocking, close-on-exec off and on."""
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1031, 1032)
"""Copies, flags, locks of records, size of pipes. Not on it: whom to signal and how (a signal of
choice wakes what is stopped between calls), leases, and notes of what others read."""
SOCKET_OPTIONS = (2, 9, 13, 16, 20, 21)
"""Of the socket level: not the size of buffers, which the watchdog has to know."""
NAMESPACE_FLAGS = kernel.EVERY_NAMESPACE
UNIX_SOCKETS = 1

LOAD, EQUAL, ABOVE, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06


def install() -> None:
    """Put the filter on this process and all that it will start; needs no-new-privileges."""
    code = program(kernel.is_aarch64())
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    pointer = ctypes.create_string_buffer(header, len(header))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(pointer))


def program(aarch64: bool) -> bytes:
    """The filter for one processor, as the kernel and bubblewrap take it."""
    column = int(aarch64)
    steps = [
        step(LOAD, 4),
        step(EQUAL, ARCHITECTURES[column], 1, 0),
        step(RETURN, KILL),
        step(LOAD, 0),
        step(AT_LEAST, X32_BIT, 0, 1),
        step(RETURN, KILL),
    ]
    for name, numbers in LOOKED_AT.items():
        number = numbers[column]
        if number is not None:
            rule = rule_for(name)
            steps += [step(EQUAL, number, 0, len(rule)), *rule]
    allowed = [pair[column] for pair in ALLOWED.values()]
    for first, last in ranges(sorted(number for number in allowed if number is not None)):
        steps += [
            step(ABOVE, last, 3, 0),
            step(AT_LEAST, first, 0, 1),
            step(RETURN, ALLOW),
            step(RETURN, FAIL | errno.EPERM),
        ]
    steps.append(step(RETURN, FAIL | errno.ENOSYS))
    return b"".join(steps)


def rule_for(name: str) -> list[bytes]:
    """What to do with a call whose arguments matter; ends in a return on every path."""
    if name in ("socket", "socketpair"):
        return one_of((UNIX_SOCKETS,), 0, errno.EAFNOSUPPORT)
    if name == "clone":
        return [
            step(LOAD, argument(0)),
            step(ANY_BIT, NAMESPACE_FLAGS, 0, 1),
            step(RETURN, FAIL | errno.EPERM),
            step(RETURN, ALLOW),
        ]
    if name == "clone3":  # its flags lie in memory, where a filter cannot look
        return [step(RETURN, FAIL | errno.ENOSYS)]
    if name == "prctl":
        return one_of(PRCTL_OPTIONS, 0, errno.EPERM)
    if name == "ioctl":
        return one_of(IOCTL_REQUESTS, 1, errno.ENOTTY)
    if name == "prlimit64":
        return one_of((0,), 0, errno.EPERM)
    if name == "fcntl":
        return one_of(FCNTL_COMMANDS, 1, errno.EPERM)
    if name == "setsockopt":
        return one_of(SOCKET_OPTIONS, 2, errno.EPERM)
    raise ValueError(f"no rule for {name}")


def one_of(values: tuple[int, ...], place: int, failure: int) -> list[bytes]:
    """Allow where the argument is one of the values, else fail with the error number."""
    tests = [step(EQUAL, value, len(values) - i, 0) for i, value in enumerate(values)]
    verdicts = [step(RETURN, FAIL | failure), step(RETURN, ALLOW)]
    return [step(LOAD, argument(place)), *tests, *verdicts]


def argument(place: int) -> int:
    """Where the low half of an argument lies in the filter's input, on little-endian machines."""
    return 16 + 8 * place


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction."""
    return struct.pack("HBBI", code, if_true, if_false, value)


def ranges(numbers: list[int]) -> list[tuple[int, int]]:
    """Sorted numbers as (first, last) of each unbroken run."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
