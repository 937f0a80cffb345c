"""Backends for the tests: those of the machine, and for the others the reason they are missing."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agent_env.protocols import SandboxBackend
from agent_env.sandbox.bubblewrap import bubblewrap, find_bubblewrap
from agent_env.sandbox.docker import UIDS, Docker
from agent_env.sandbox.forked import ForkedBackend
from agent_env.sandbox.layout import find_layout
from agent_env.sandbox.namespaces import namespaces
from agent_env.sandbox.probe import why_it_does_not_hold
from agent_env.sandbox.rootfs import import_image
from agent_env.sandbox.watchdog import children_by_parent, descendants
from tests.programs import need
from tests.sandbox.hostile import KEY_NAME, LIMITS

BACKENDS = ("namespaces", "bubblewrap", "docker")
ENGINE_SCRIPT = Path(__file__).with_name("docker_engine.sh")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Bench:
    """One open backend, and the event loop it lives in."""

    name: str
    backend: SandboxBackend
    run: Callable[[Awaitable[Any]], Any]

    def in_session(self, use, day=None):
        """What the coroutine function gives of a fresh session."""

        async def used():
            async with self.backend.session(day) if day else self.backend.session() as session:
                return await use(session)

        return self.run(used())

    def calls(self, *codes, timeout_s=10.0, day=None):
        """The results of calls in one fresh session."""

        async def made(session):
            return [await session.run(code, timeout_s) for code in codes]

        return self.in_session(made, day)

    def processes(self):
        """Processes of sessions, and the kernel's letter: S and R run, T is stopped, Z is dead."""
        if isinstance(self.backend, ForkedBackend):
            server = self.backend.server_pid
            pids = [pid for pid in descendants(server, children_by_parent()) if pid != server]
        else:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
            pids = [pid for pid in pids if in_docker(pid)]
        return {pid: state for pid in pids if (state := state_of(pid))}

    def living(self):
        """Those that are not dead."""
        return [pid for pid, state in self.processes().items() if state not in "ZX"]


def state_of(pid):
    """The kernel's letter for what it does; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def in_docker(pid):
    """Whether it has a uid of the containers, and is in one: other backends use the same uids."""
    try:
        is_theirs = os.stat(f"/proc/{pid}").st_uid in UIDS
        return is_theirs and "docker" in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False


@pytest.fixture(scope="session")
def docker_host(tmp_path_factory):
    """An engine with the image: the one named in AGENT_ENV_TEST_DOCKER, or one of our own."""
    named = os.environ.get("AGENT_ENV_TEST_DOCKER")
    if named:
        yield prepared(named)
        return
    need("a Docker engine")
    if os.geteuid() != 0:
        pytest.skip("only root starts a Docker engine; AGENT_ENV_TEST_DOCKER names another")
    folder = tmp_path_factory.mktemp("engine")
    try:
        start = [str(ENGINE_SCRIPT), "start", str(folder)]
        started = subprocess.run(start, capture_output=True, text=True, timeout=60)
        if started.returncode != 0:
            pytest.skip(f"no Docker engine: {started.stderr.strip()[-300:]}")
        yield prepared(started.stdout.strip())
    finally:
        subprocess.run([str(ENGINE_SCRIPT), "stop", str(folder)], check=True, timeout=60)


def prepared(address):
    """The engine's address, once it has the image."""
    import_image(asyncio.run(find_layout()), "agent-env-sandbox", address)
    return address


async def make(name, limits, docker_host):
    """A backend, unopened; skips the test where the machine does not have it."""
    if sys.platform != "linux":
        pytest.skip(f"{name} needs Linux")
    if name == "docker":
        return Docker(limits, docker_host)
    name, _, watchdog = name.partition("-")
    if name == "bubblewrap":
        need("bubblewrap")
        return bubblewrap(limits, await find_bubblewrap(), use_cgroups=not watchdog)
    return namespaces(limits, use_cgroups=not watchdog)


@pytest.fixture(scope="session", params=BACKENDS)
def bench(request):
    """Every backend in turn, open, with the small limits."""
    name = request.param
    engine = request.getfixturevalue("docker_host") if name == "docker" else None
    yield from open_bench(name, engine)


@pytest.fixture(scope="session", params=["namespaces-watchdog", "bubblewrap-watchdog"])
def watched_bench(request):
    """The backends as they are where no control group can be had."""
    yield from open_bench(request.param, None)


def open_bench(name, engine):
    """The backend of that name, if it holds here."""
    os.environ[KEY_NAME] = "a key that must not leak"
    with asyncio.Runner() as runner:
        backend = runner.run(make(name, LIMITS, engine))
        reason = runner.run(why_it_does_not_hold(backend, LIMITS))
        if reason is not None and os.environ.get("AGENT_ENV_TEST_ALL_SANDBOXES"):
            pytest.fail(f"{name}: {reason}")
        if reason is not None:
            pytest.skip(f"{name} does not hold on this machine: {reason}")
        runner.run(backend.__aenter__())
        try:
            yield Bench(name, backend, runner.run)
        finally:
            runner.run(backend.__aexit__(None, None, None))


@asynccontextmanager
async def opened(name, limits, docker_host=None):
    """A backend of the test's own."""
    async with await make(name, limits, docker_host) as backend:
        yield backend
