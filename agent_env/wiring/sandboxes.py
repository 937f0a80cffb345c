"""The sandbox of a run, and this user's records of sandboxes that were probed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_env.registry import Plugins
from agent_env.wiring.trust import state_folder

if TYPE_CHECKING:
    from agent_env.protocols import SandboxBackend
    from agent_env.sandbox.probe import ProbeRecords


async def choose_sandbox(
    name: str, plugins: Plugins, memory_mb: int | None = None
) -> SandboxBackend:
    """An unopened backend that was probed in this boot; ConfigError where none holds."""
    from agent_env.sandbox.choose import choose
    from agent_env.sandbox.limits import SandboxLimits

    limits = SandboxLimits() if memory_mb is None else SandboxLimits(memory_mb=memory_mb)
    host = os.environ.get("DOCKER_HOST")
    return await choose(name, limits, docker_host=host, records=probe_records(), plugins=plugins)


def probe_records() -> ProbeRecords | None:
    """This user's; None where there is no home."""
    from agent_env.sandbox.probe import ProbeRecords

    folder = state_folder("sandboxes")
    return None if folder is None else ProbeRecords(folder)
