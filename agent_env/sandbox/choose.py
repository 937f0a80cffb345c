"""Which backend runs: the named one, or the first that holds. Nothing falls back in silence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from types import TracebackType
from typing import Self

from agent_env.errors import ConfigError, SandboxError
from agent_env.protocols import Sandbox, SandboxBackend
from agent_env.registry import Plugins, Registry, callable_only
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.packages import IMPORTABLE, importable
from agent_env.sandbox.probe import ProbeRecords, why_it_does_not_hold
from agent_env.sandbox.session import no_clock

__all__ = [
    "AUTO_ORDER",
    "IMPORTABLE",
    "NAMES",
    "Probe",
    "SandboxLimits",
    "choose",
    "importable",
    "probe_all",
]

AUTO_ORDER = ("docker", "namespaces", "bubblewrap")
"""What `auto` tries; all of them pass the hostile suite."""
WITH_CLOCK = ("namespaces",)
"""Those whose sessions can be on another day."""
UNSAFE = "unsafe-subprocess"
NAMES = ("auto", *AUTO_ORDER, UNSAFE)
MakeSandbox = Callable[[SandboxLimits], SandboxBackend]


SANDBOXES: Registry[MakeSandbox] = Registry(
    "sandbox",
    "sandboxes",
    "a class or function of SandboxLimits",
    callable_only,
    lambda: {
        "docker": "agent_env.sandbox.docker:Docker",
        "namespaces": "agent_env.sandbox.namespaces:namespaces",
        "bubblewrap": "agent_env.sandbox.bubblewrap:bubblewrap",
        UNSAFE: "agent_env.sandbox.unsafe:UnsafeSubprocess",
    },
)
"""Ours are made by `make`, which probes them; a plug-in is taken as it is, and only by name."""

ADVICE = {
    "docker": "start a Docker engine and build the image (agent-env docs sandbox)",
    "namespaces": "allow unprivileged user namespaces",
    "bubblewrap": "install bubblewrap",
}


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    ok: bool
    reason: str
    """Why not, or that it held."""


async def choose(
    name: str,
    limits: SandboxLimits,
    *,
    docker_host: str | None = None,
    records: ProbeRecords | None = None,
    plugins: Plugins,
    on_day: bool = False,
) -> SandboxBackend:
    """An unopened backend that was probed here, now or as the records say; ConfigError in one line
    where none holds. `docker_host` is an engine's address; None means the default socket. `on_day`:
    its sessions are to have another clock than the real one.
    """
    if on_day and name not in ("auto", *WITH_CLOCK):
        raise ConfigError(str(no_clock(name)))
    if name == UNSAFE:
        from agent_env.sandbox.unsafe import UnsafeSubprocess

        return UnsafeSubprocess(limits, plugins.permit)
    if name not in NAMES:
        if ":" not in name and name not in SANDBOXES.names():
            known = dict.fromkeys([*NAMES, *SANDBOXES.names()])
            raise ConfigError(f"no sandbox is called {name!r}; there are {', '.join(known)}")
        return _Named(plugins.find(SANDBOXES, name)(limits), name)
    reasons = []
    order = WITH_CLOCK if on_day else AUTO_ORDER
    for candidate in order if name == "auto" else (name,):
        probe = await probe_one(candidate, limits, docker_host, records)
        if probe.ok:
            return await make(candidate, limits, docker_host)
        reasons.append(f"{candidate}: {probe.reason}")
    if name == "auto":
        advice = f"{', '.join(ADVICE.values())}, or take --sandbox {UNSAFE}, without isolation"
        raise ConfigError(f"no sandbox holds on this machine ({'; '.join(reasons)}); {advice}")
    raise ConfigError(f"--sandbox {reasons[0]}; {ADVICE[name]}, or take --sandbox auto")


async def probe_all(
    limits: SandboxLimits,
    *,
    docker_host: str | None = None,
    records: ProbeRecords | None = None,
    again: bool = False,
) -> tuple[Probe, ...]:
    """How every backend that `auto` may take fares on this machine; `again` reads no record."""
    probes = [await probe_one(name, limits, docker_host, records, again) for name in AUTO_ORDER]
    return tuple(probes)


async def probe_one(
    name: str,
    limits: SandboxLimits,
    docker_host: str | None,
    records: ProbeRecords | None = None,
    again: bool = False,
) -> Probe:
    """Open one backend, try to get out of it, close it; unless it is on record that it holds."""
    at = None if records is None or again else records.held_at(name, limits)
    if at is not None:
        return Probe(name, True, f"held when it was probed at {at}")
    if sys.platform != "linux" and name != "docker":
        return Probe(name, False, f"it needs Linux, this is {sys.platform}")
    try:
        backend = await make(name, limits, docker_host)
    except SandboxError as exc:
        return Probe(name, False, str(exc))
    reason = await why_it_does_not_hold(backend, limits)
    if reason is None and records is not None:
        records.keep(name, limits)
    return Probe(name, reason is None, reason or "holds")


async def make(name: str, limits: SandboxLimits, docker_host: str | None) -> SandboxBackend:
    """The backend of that name, unopened and unprobed."""
    if name == "docker":
        from agent_env.sandbox.docker import Docker

        return Docker(limits, docker_host)
    if name == "namespaces":
        from agent_env.sandbox.namespaces import namespaces

        return namespaces(limits)
    if name == "bubblewrap":
        from agent_env.sandbox.bubblewrap import bubblewrap, find_bubblewrap

        return bubblewrap(limits, await find_bubblewrap())
    raise ConfigError(f"no sandbox is called {name!r}; there are {', '.join(AUTO_ORDER)}")


class _Named:
    """A plugged-in backend by the name that the run has for it."""

    def __init__(self, inner: SandboxBackend, name: str) -> None:
        self._inner = inner
        self.name = name

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)

    def session(self, today: date | None = None) -> Sandbox:
        if today is not None:
            raise no_clock(self.name)
        return self._inner.session()
