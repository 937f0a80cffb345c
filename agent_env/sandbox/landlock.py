"""Landlock: a second fence around files, where the kernel has it.

With it, writing is impossible outside the work directory even where a mount would allow it, and
from ABI 4 on no TCP port can be bound or reached, from ABI 6 on no abstract socket or signal
crosses the session's border.
"""

from __future__ import annotations

import errno
import os
import struct

from agent_env.sandbox import kernel

CREATE, ADD, RESTRICT = 444, 445, 446
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
"""How many of the file rights each ABI knows; later ones know no more that concerns us."""
DEVICE_IOCTL = 1 << 15
TCP, SCOPES = 3, 3


def install(work: str, tcp: bool = False) -> bool:
    """Read everything in sight, write below `work` and to /dev/null; false without Landlock. `tcp`:
    for who has a network of its own, in which nobody else is."""
    abi = version()
    if abi < 1:
        return False
    every = (1 << FILE_RIGHTS_BY_ABI.get(abi, 16)) - 1
    attributes = struct.pack(
        "QQQ", every, TCP if abi >= 4 and not tcp else 0, SCOPES if abi >= 6 else 0
    )
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = kernel.syscall("landlock_create_ruleset", CREATE, attributes, size, 0)
    reading = EXECUTE | READ_FILE | READ_DIR
    allow(rules, "/", reading)
    allow(rules, work, every & ~DEVICE_IOCTL)
    for device in ("/dev/null", "/dev/zero", "/dev/full"):
        allow(rules, device, READ_FILE | WRITE_FILE)
    kernel.syscall("landlock_restrict_self", RESTRICT, rules, 0)
    os.close(rules)
    return True


def version() -> int:
    """The kernel's Landlock ABI, 0 where it has none or it is off."""
    try:
        return kernel.syscall("landlock_create_ruleset", CREATE, None, 0, 1)
    except OSError as exc:
        if exc.errno in (errno.ENOSYS, errno.EOPNOTSUPP):
            return 0
        raise


def allow(rules: int, path: str, rights: int) -> None:
    """These rights at and below a path."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        kernel.syscall("landlock_add_rule", ADD, rules, 1, struct.pack("=Qi", rights, place), 0)
    finally:
        os.close(place)
