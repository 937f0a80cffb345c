"""The system call list as a Docker seccomp profile, and what is hidden of /proc and /sys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent_env.sandbox.rules import HIGH, RULES, Case, Rule, Test
from agent_env.sandbox.syscalls import ALLOWED

IN_PROC = """
    acpi asound buddyinfo bus cgroups cmdline config.gz consoles diskstats driver fs interrupts
    iomem ioports irq kallsyms kcore key-users keys kmsg kpagecgroup kpagecount kpageflags
    latency_stats loadavg locks meminfo modules pagetypeinfo partitions pressure sched_debug
    schedstat scsi slabinfo softirqs stat swaps sys/fs sys/kernel/pty sys/kernel/random sysvipc
    timer_list timer_stats tty uptime version vmallocinfo vmstat zoneinfo
""".split()
MASKED = ("/sys", *(f"/proc/{name}" for name in IN_PROC))
"""What tells of the machine, or counts what all its containers do: two sessions could talk by it.
All of it is named here, as engines of different ages mask different things."""

SET_TERMINAL_GROUP = 0x5410
"""An ioctl that Docker's init tries on its standard input, and that must not fail with EPERM."""

LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
"""The worker puts a second fence up inside: it keeps code from Docker's init, of the same uid."""


def docker_profile() -> str:
    """What to give to `--security-opt seccomp=`; io_uring and all else unlisted is closed."""
    names = sorted([*ALLOWED, *LANDLOCK])
    rules = [
        {"names": names, "action": "SCMP_ACT_ALLOW"},
        *(entry for name, rule in RULES.items() for entry in entries(name, rule)),
        entry("ioctl", (None, ((1, SET_TERMINAL_GROUP),))),
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
            "syscalls": rules,
        }
    )


def entries(name: str, rule: Rule) -> Iterator[dict[str, Any]]:
    """The entries of one call; what no case fits fails with EPERM, as all that is not listed."""
    cases, otherwise = rule
    if not cases:
        yield entry(name, (otherwise, ()))
    for case in cases:
        yield entry(name, case)


def entry(name: str, case: Case) -> dict[str, Any]:
    """One case of a rule."""
    answer, tests = case
    rule: dict[str, Any] = {"names": [name], "action": "SCMP_ACT_ALLOW"}
    if answer is not None:
        rule |= {"action": "SCMP_ACT_ERRNO", "errnoRet": answer}
    return rule | {"args": [comparison(test) for test in tests if test[0] < HIGH]}


def comparison(test: Test) -> dict[str, Any]:
    """One test; always of the whole argument here."""
    if len(test) == 2:
        return {"index": test[0], "value": test[1], "op": "SCMP_CMP_EQ"}
    place, mask, value = test
    return {"index": place, "value": mask, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}
