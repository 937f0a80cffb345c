"""The limits that a process sets on itself, and its children inherit."""

from __future__ import annotations

import resource


class Bounds:
    """The harness's SandboxLimits as the guest needs them; a plain class, as it loads quicker."""

    def __init__(
        self,
        *,
        memory_mb: int,
        processes: int,
        disk_mb: int,
        files: int,
        output_bytes: int,
        cpus: int,
        cpu_s: int,
        descriptors: int,
        numbers: int = 0,
    ) -> None:
        self.memory_mb = memory_mb
        self.processes = processes
        """0 where something else bounds them; without a user namespace, all of a uid's count."""
        self.disk_mb = disk_mb
        self.files = files
        self.output_bytes = output_bytes
        self.cpus = cpus
        self.cpu_s = cpu_s
        self.descriptors = descriptors
        self.numbers = numbers
        """That processes and threads get until they begin anew; 0 where only the guest can tell."""


NO_CORES = (1, 1)
"""Of RLIMIT_CORE. With 1 the kernel starts no handler for a crash; with 0 it starts one that
`kernel.core_pattern` pipes to, as root and outside of every namespace."""


def forbid_cores() -> None:
    """No crash of this process or its children starts a handler on the host."""
    resource.setrlimit(resource.RLIMIT_CORE, NO_CORES)


def limit_resources(bounds: Bounds, address_space: bool = True) -> None:
    """Soft and hard limits of this process; raises OSError where cores were not forbidden before.
    `address_space`: whether memory is bounded by it, of which Node reserves far more than it uses.

    That comes first, as the system call filter forbids any change of it.
    """
    if resource.getrlimit(resource.RLIMIT_CORE) != NO_CORES:
        raise PermissionError("a crash of the code could start the host's handler: no core limit")
    megabyte = 1 << 20
    limits_by_resource = {
        resource.RLIMIT_AS: bounds.memory_mb * megabyte,
        resource.RLIMIT_FSIZE: bounds.disk_mb * megabyte,
        resource.RLIMIT_CPU: bounds.cpu_s,
        resource.RLIMIT_NOFILE: bounds.descriptors,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_SIGPENDING: 256,
    }
    if not address_space:
        del limits_by_resource[resource.RLIMIT_AS]
    if bounds.processes:
        limits_by_resource[resource.RLIMIT_NPROC] = bounds.processes
    for which, most in limits_by_resource.items():
        resource.setrlimit(which, (most, most))
