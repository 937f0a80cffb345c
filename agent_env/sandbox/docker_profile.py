"""The system call list as a Docker seccomp profile."""

from __future__ import annotations

import json
from typing import Any

from agent_env.sandbox.seccomp import (
    FCNTL_COMMANDS,
    IOCTL_REQUESTS,
    NAMESPACE_FLAGS,
    PRCTL_OPTIONS,
    SOCKET_OPTIONS,
    UNIX_SOCKETS,
)
from agent_env.sandbox.syscalls import ALLOWED

SET_TERMINAL_GROUP = 0x5410
"""An ioctl that Docker's init tries on its standard input, and that must not fail with EPERM."""

LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
"""The worker puts a second fence up inside: it keeps code from Docker's init, of the same uid."""


def docker_profile() -> str:
    """What to give to `--security-opt seccomp=`; io_uring and all else unlisted is closed."""
    rules = [
        allow([*sorted(ALLOWED), *LANDLOCK]),
        *(allow([name], 0, UNIX_SOCKETS) for name in ("socket", "socketpair")),
        *(allow(["prctl"], 0, option) for option in PRCTL_OPTIONS),
        *(allow(["ioctl"], 1, request) for request in (*IOCTL_REQUESTS, SET_TERMINAL_GROUP)),
        allow(["prlimit64"], 0, 0),
        *(allow(["fcntl"], 1, command) for command in FCNTL_COMMANDS),
        *(allow(["setsockopt"], 2, option) for option in SOCKET_OPTIONS),
        {
            "names": ["clone"],
            "action": "SCMP_ACT_ALLOW",
            "args": [{"index": 0, "value": NAMESPACE_FLAGS, "op": "SCMP_CMP_MASKED_EQ"}],
        },
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
            "syscalls": rules,
        }
    )


def allow(names: list[str], place: int | None = None, value: int = 0) -> dict[str, Any]:
    """One rule; with a place, only where that argument has the value."""
    rule: dict[str, Any] = {"names": names, "action": "SCMP_ACT_ALLOW"}
    if place is not None:
        rule["args"] = [{"index": place, "value": value, "op": "SCMP_CMP_EQ"}]
    return rule
