"""What the arguments of a system call decide; read by our own filter and by Docker's profile.

A rule is a list of cases and the error of a call that none of them fits, ALLOW for none. A case is
what to do, and tests of arguments: (place, value) for the lower half of one, (place, mask, value)
for its bits.
"""

from __future__ import annotations

import errno

from agent_env.sandbox import kernel

Test = tuple[int, int] | tuple[int, int, int]
Case = tuple[int | None, tuple[Test, ...]]
Rule = tuple[list[Case], int | None]

ALLOW = None
AS_IF_DONE = 0
"""An error of 0: the caller is told of success, and nothing was done."""
HIGH = 8
"""Added to a place: the upper half of that argument, for pointers."""

UNIX_SOCKETS = 1
PRCTL_OPTIONS = (1, 2, 3, 15, 16, 21, 23, 30, 38, 39, 0x53564D41)
"""Death signal, name, what is set, timer slack, no new privileges, names of memory."""
IOCTL_REQUESTS = (0x5401, 0x540F, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its group and size, bytes waiting, non-blocking, close-on-exec off and on."""
FCNTL_COMMANDS = (0, 1, 2, 3, 4, 5, 1030, 1031, 1032)
"""Copies, flags, whether there is a lock, size of pipes. Not on it: whom to signal and how (a
signal of choice wakes what is stopped between calls), leases, notes of what others read, and to
set a lock, which every session sees that can open the same file, were it /dev/null."""
SET_LOCK = 6
"""Of a record: told as done, and not done. sqlite does it at every access; it keeps the connections
of one process apart without."""
SOCKET_OPTIONS = (2, 9, 13, 16, 20, 21)
"""Of the socket level: not the size of buffers, which the watchdog has to know."""
RESOURCES = tuple(number for number in range(16) if number != kernel.RLIMIT_CORE)
"""Limits that a process may set on itself. With a core limit other than 1, a crash would start
the host's handler."""
FUTEX_PRIVATE, FUTEX_WAKE = 128, 1
FUTEX_WAITS = (0, 9, 9 | 256)
"""A wait that is not private to the process may be for a page of a file that other sessions map as
well, and they could end it. EAGAIN says that the value has changed: who joins a thread looks again.
"""


def one_of(place: int, values: tuple[int, ...], *more: Test) -> list[Case]:
    """Allow where the argument is one of the values and the other tests hold."""
    return [(ALLOW, ((place, value), *more)) for value in values]


RULES: dict[str, Rule] = {
    "futex": (
        [
            (ALLOW, ((1, FUTEX_PRIVATE, FUTEX_PRIVATE),)),
            (ALLOW, ((1, FUTEX_WAKE),)),
            *((errno.EAGAIN, ((1, wait),)) for wait in FUTEX_WAITS),
        ],
        errno.ENOSYS,
    ),
    "ioctl": (one_of(1, IOCTL_REQUESTS), errno.ENOTTY),
    "fcntl": (
        [*one_of(1, FCNTL_COMMANDS), (AS_IF_DONE, ((1, SET_LOCK),))],
        errno.EPERM,
    ),
    "clone": ([(ALLOW, ((0, kernel.EVERY_NAMESPACE, 0),))], errno.EPERM),
    "clone3": ([], errno.ENOSYS),  # its flags lie in memory, where a filter cannot look
    "socket": (one_of(0, (UNIX_SOCKETS,)), errno.EAFNOSUPPORT),
    "socketpair": (one_of(0, (UNIX_SOCKETS,)), errno.EAFNOSUPPORT),
    "setsockopt": (one_of(2, SOCKET_OPTIONS), errno.EPERM),
    "prctl": (
        [*one_of(0, PRCTL_OPTIONS), (ALLOW, ((0, kernel.PR_SET_DUMPABLE), (1, 0)))],
        errno.EPERM,
    ),
    "setrlimit": (one_of(0, RESOURCES), errno.EPERM),
    "prlimit64": (
        [
            *one_of(1, RESOURCES, (0, 0)),
            (ALLOW, ((1, kernel.RLIMIT_CORE), (0, 0), (2, 0), (HIGH | 2, 0))),
        ],
        errno.EPERM,
    ),
    # a flag makes these tell what is in the page cache
    "preadv2": (one_of(5, (0,)), errno.EPERM),
    "pwritev2": (one_of(5, (0,)), errno.EPERM),
}
"""For each name in syscalls.LOOKED_AT."""

INET, INET6, NETLINK, ROUTES = 2, 10, 16, 0
SET_LOCKS = (6, 7, 37, 38)
"""Of a record, waiting or not, by process or by open file."""
AGENT_RULES: dict[str, Rule] = {
    "socket": (
        [*one_of(0, (UNIX_SOCKETS, INET, INET6)), (ALLOW, ((0, NETLINK), (2, ROUTES)))],
        errno.EAFNOSUPPORT,
    ),
    "setsockopt": ([], ALLOW),
    "fcntl": (
        [*one_of(1, FCNTL_COMMANDS), *((AS_IF_DONE, ((1, lock),)) for lock in SET_LOCKS)],
        errno.EPERM,
    ),
    "flock": ([], AS_IF_DONE),
}
"""What differs for agents of others, which have a network of their own."""
