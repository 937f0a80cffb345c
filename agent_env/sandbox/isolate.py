"""What a session does to itself before any foreign code runs. Every step's failure is an error.

The caller is the fork server, which already sees nothing of the host's files. Order matters: the
mounts need the capabilities, the filters come last because they forbid what was needed before.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from agent_env.sandbox import kernel, landlock, seccomp
from agent_env.sandbox.rlimits import Bounds, limit_resources

INNER_ID = 1000
"""The uid and gid that the code sees."""


def leave_host(proc: int) -> None:
    """New namespaces of every kind; the pid one begins with the next child.

    `proc` is a descriptor of the host's /proc, where the id maps are written.
    """
    uid, gid = os.geteuid(), os.getegid()
    kernel.unshare(kernel.EVERY_NAMESPACE)
    kernel.map_ids(proc, INNER_ID, uid, INNER_ID, gid)


def shut_in(
    bounds: Bounds,
    work: str,
    set_clock: Callable[[], None] | None = None,
    for_agents: bool = False,
) -> None:
    """Writable directory, limits, no capabilities, no way to new privileges, the clock where it has
    one, system call filter. `for_agents`: what an outside agent needs more."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    options = f"mode=700,size={bounds.disk_mb}m,nr_inodes={bounds.files},uid={INNER_ID}"
    kernel.mount("tmpfs", work, "tmpfs", kernel.MS_OF_WORK, options)
    os.chdir(work)
    os.umask(0o077)
    socket.sethostname("sandbox")
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    limit_resources(bounds, address_space=not for_agents)
    os.nice(5)
    landlock.install(work, tcp=for_agents)
    if set_clock is not None:
        set_clock()
    seccomp.install(seccomp.program(kernel.is_aarch64(), for_agents))
