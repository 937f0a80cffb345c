"""The system call filter: a list of what is allowed, as BPF and as a Docker profile.

Guaranteed: a call that is not on the list fails with EPERM, one of another architecture or of the
x32 table kills the process. Not guaranteed: that the allowed calls have no bugs.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from agent_env.sandbox import kernel
from agent_env.sandbox.rules import AGENT_RULES, HIGH, RULES, Rule, Test
from agent_env.sandbox.syscalls import (
    AGENT_ALLOWED,
    AGENT_LOOKED_AT,
    ALLOWED,
    LOOKED_AT,
)

ARCHITECTURES = (0xC000003E, 0xC00000B7)
"""As the kernel names x86-64 and aarch64 in the filter's input."""
X32_BIT = 0x40000000
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000

LOAD, EQUAL, ABOVE, AT_LEAST, AND, RETURN = 0x20, 0x15, 0x25, 0x35, 0x54, 0x06


def install(code: bytes | None = None) -> None:
    """Put the filter, or another beside those there are, on this process and its children."""
    code = program(kernel.is_aarch64()) if code is None else code
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    pointer = ctypes.create_string_buffer(header, len(header))
    kernel.prctl(kernel.PR_SET_SECCOMP, 2, ctypes.addressof(pointer))


def program(aarch64: bool, for_agents: bool = False) -> bytes:
    """The filter for one processor, as the kernel and bubblewrap take it; for agents of somebody
    else, which have a network of their own, with what they need for it."""
    column = int(aarch64)
    steps = [
        step(LOAD, 4),
        step(EQUAL, ARCHITECTURES[column], 1, 0),
        step(RETURN, KILL),
        step(LOAD, 0),
        step(AT_LEAST, X32_BIT, 0, 1),
        step(RETURN, KILL),
    ]
    rules = RULES | AGENT_RULES if for_agents else RULES
    looked_at = LOOKED_AT | AGENT_LOOKED_AT if for_agents else LOOKED_AT
    for name, numbers in looked_at.items():
        number = numbers[column]
        if number is not None:
            rule = steps_of(rules[name])
            steps += [step(EQUAL, number, 0, len(rule)), *rule]
    more = AGENT_ALLOWED if for_agents else {}
    allowed = [pair[column] for pair in (ALLOWED | more).values()]
    for first, last in ranges(sorted(number for number in allowed if number is not None)):
        steps += [
            step(ABOVE, last, 3, 0),
            step(AT_LEAST, first, 0, 1),
            step(RETURN, ALLOW),
            step(RETURN, FAIL | errno.EPERM),
        ]
    steps.append(step(RETURN, FAIL | errno.ENOSYS))
    return b"".join(steps)


def steps_of(rule: Rule) -> list[bytes]:
    """What to do with a call whose arguments matter; ends in a return on every path."""
    cases, otherwise = rule
    steps = []
    for answer, tests in cases:
        case = [step(RETURN, verdict(answer))]
        for test in reversed(tests):
            case = [*look_at(test, len(case)), *case]
        steps += case
    return [*steps, step(RETURN, verdict(otherwise))]


def look_at(test: Test, rest: int) -> list[bytes]:
    """Go on where the test holds, else leave out the rest of the case."""
    place, *bits, value = test
    masks = [step(AND, mask) for mask in bits]
    return [step(LOAD, argument(place)), *masks, step(EQUAL, value, 0, rest)]


def verdict(answer: int | None) -> int:
    """Allow, or fail with the error number."""
    return ALLOW if answer is None else FAIL | answer


def argument(place: int) -> int:
    """Where half an argument lies in the filter's input, on little-endian machines."""
    return 16 + 8 * (place % HIGH) + 4 * (place // HIGH)


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
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
