"""What one session may use, and how much code it takes."""

from __future__ import annotations

from dataclasses import dataclass, fields

from agent_env.errors import ConfigError

CODE_BYTES = 1_000_000
"""Longest code of one call; longer is refused with a text for the model."""

DEFAULT_TIMEOUT_S = 30.0
"""Wall time of one call where the caller has no wish of its own."""

KERNEL_MB = 64
"""What a control group lets a session have beside its limit of memory. The group counts stacks and
page tables of the kernel too, which it frees late: code that forked without pause in 24 places had
10 MB of its own and 85 MB of these, and lost the session to a limit of 96 MB."""


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Bounds of one session; every real backend holds all of them."""

    memory_mb: int = 512
    """All processes of the session together; also the address space of each. A control group adds
    `KERNEL_MB`."""
    processes: int = 64
    """Processes and threads at once."""
    disk_mb: int = 64
    """The writable directory."""
    files: int = 4096
    """Files and directories in the writable directory."""
    output_bytes: int = 65536
    """Kept of each of stdout, stderr, value and error; the middle is cut out."""
    cpus: int = 1
    """Processors' worth of time, all processes together; held by docker only."""
    cpu_s: int = 3600
    """CPU time of one process over its life."""
    descriptors: int = 128
    """Open files of one process."""

    def __post_init__(self) -> None:
        for field in fields(self):
            number = getattr(self, field.name)
            if number < MINIMA[field.name]:
                raise ConfigError(
                    f"sandbox limit {field.name}={number} is too small; "
                    f"give at least {MINIMA[field.name]}"
                )


MINIMA = {
    "memory_mb": 64,
    "processes": 4,
    "disk_mb": 1,
    "files": 16,
    "output_bytes": 256,
    "cpus": 1,
    "cpu_s": 1,
    "descriptors": 32,
}
