"""Ends all that a session has started, found by number alone, as there is no /proc to read.

The kernel numbers processes and threads one after the other. So a process of our own that does
nothing but take a number tells how many were born since the last one did: none, as a rule. Where
some were, every number between is looked at, upwards, and what lives there is killed.

The numbers begin anew when they are used up. `note` is called often enough while code runs to see
that; where it was late, because the machine was busy, every number is looked at that may have been
given since.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from contextlib import suppress

NOTE_EVERY_S = 0.03
"""How often a number is to be taken while code runs."""
BIRTH_S = 3e-6
"""No two processes or threads are born closer together; measured: 10 µs and more."""
RESERVED = 301
"""Numbers that are not given a second time."""
MOST = 1 << 22
"""Linux has no higher number."""
FEWEST = 1 << 15
"""The kernel's default for how many there are."""
OWN_NUMBERS = (6, 14)
"""Since this Linux every pid namespace has its own numbers, the most there can be."""
WINDOW = 1 << 15
"""How many numbers are looked at more, each time that none could be taken."""
AT_ONCE = 8
"""Handles of dying processes held at a time."""

STACK = 1 << 16
CLONE_VM = 0x100
WAIT_ALL = 0x40000000
"""Of waitpid: children that send no signal when they end, too."""


def numbers_here() -> int:
    """How many numbers a new pid namespace of this machine has, or our own, where /proc is its."""
    release = os.uname().release.split(".")
    with suppress(ValueError, IndexError):
        if (int(release[0]), int(release[1].partition("-")[0])) >= OWN_NUMBERS:
            return MOST
    with suppress(OSError, ValueError), open("/proc/sys/kernel/pid_max") as file:
        return int(file.read())
    return FEWEST


class ProcessFinder:
    """Who was born in this pid namespace beside the executor and us.

    `numbers` is how many the kernel gives before it begins anew.
    """

    def __init__(self, executor: int, numbers: int) -> None:
        self._spared = (os.getpid(), executor)
        self._too_many = numbers - RESERVED
        self._numbers = Numbers()
        self._newest = self._numbers.take() or executor
        self._at = time.monotonic()
        self.all_ended()

    def all_ended(self) -> None:
        """Said by the caller once it is sure: who is born from now on is new."""
        self._floor = self._ceiling = self._newest
        self.nobody_came = True

    def begin(self) -> None:
        """A call begins; until now nobody could be born."""
        self._numbers.begin()
        self._at = time.monotonic()

    def note(self) -> None:
        """Take a number if it is time to."""
        if time.monotonic() - self._at > NOTE_EVERY_S:
            self.has_grown()

    def has_grown(self) -> bool:
        """Take a number; whether anybody may have been born since the last."""
        before, now = self._at, time.monotonic()
        number = self._numbers.take()
        if number is None:  # the code has as many processes as it may
            self._ceiling = min(MOST, self._ceiling + WINDOW)
            self.nobody_came = False
            return True
        most = int((now - before) / BIRTH_S)
        if number < self._newest or most > self._too_many:  # begun anew, or it may have
            self._ceiling = min(MOST, max(self._ceiling, self._newest + most))
            self._floor, self.nobody_came = 1, False
        has_grown = number != self._newest + 1
        self.nobody_came = self.nobody_came and not has_grown
        self._ceiling = number if self._floor > 1 else max(self._ceiling, number)
        self._newest, self._at = number, now
        return has_grown

    def end_others(self, deadline: float) -> bool:
        """Kill whoever is alive and wait for the end; whether there was anybody."""
        had_others = False
        dying: list[int] = []
        for number in range(self._floor + 1, self._ceiling + 1):
            fd = self._living(number)
            if fd is None:
                continue
            had_others = True
            stop_all()
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            dying.append(fd)
            if len(dying) == AT_ONCE:
                await_ends(dying, deadline)
        await_ends(dying, deadline)
        self._at = time.monotonic()  # who is born while all are looked at is met
        return had_others

    def _living(self, number: int) -> int | None:
        """A handle of the process with that number; None where there is none that lives."""
        try:
            fd = os.pidfd_open(number)
        except OSError:  # nobody's number, or a thread's
            return None
        if number not in (*self._spared, self._newest) and not has_ended(fd, 0):
            return fd
        os.close(fd)
        return None


class Numbers:
    """Takes numbers: by children that share our memory, which is quick, and end at once.

    Each is held as a zombie until the next: where the code has taken all other places for
    processes, that one's is there to be born at. A birth for which there is no place may cost a
    number, too (a control group is asked only after it is given). So once there was none, the held
    place is given up first: dead children of the stopped executor, which only it can take away,
    would look like a birth each time.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._stacks = [ctypes.create_string_buffer(STACK) for _ in range(2)]
        self._held: int | None = None
        self._is_full = False

    def begin(self) -> None:
        """The code continues, and may make places free."""
        self._is_full = False

    def take(self) -> int | None:
        """The newest number; None where there is no place for one more process."""
        if self._is_full:
            self._release()
        number = self._bear()
        if number is None and self._held is not None:
            self._is_full = True
            self._release()
            number = self._bear()
        self._release()
        self._held = number
        return number

    def _release(self) -> None:
        """Give the place of the last one free."""
        if self._held is not None:
            os.kill(self._held, signal.SIGKILL)  # it has ended, but where somebody stopped it
            os.waitpid(self._held, WAIT_ALL)
            self._held = None

    def _bear(self) -> int | None:
        self._stacks.reverse()  # the last child may not have left the other one yet
        end = ctypes.cast(self._libc._exit, ctypes.c_void_p)
        top = ctypes.c_void_p((ctypes.addressof(self._stacks[0]) + STACK) & ~63)
        number = int(self._libc.clone(end, top, CLONE_VM, None))
        return number if number > 0 else None


def stop_all() -> None:
    """Stop everybody but ourselves, so that who is to die has the processor, and nobody is born
    meanwhile. The kernel signals all in one go: who is being born then is not missed."""
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGSTOP)


def await_ends(dying: list[int], deadline: float) -> None:
    """Wait until the processes of these handles have ended; empties the list."""
    while dying:
        fd = dying.pop()
        has_ended(fd, max(0.0, deadline - time.monotonic()))
        os.close(fd)


def has_ended(fd: int, timeout_s: float) -> bool:
    """Whether the process of a handle has ended, or does within that time."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(timeout_s * 1000))
