"""What is left of sessions when harnesses and engines die."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent_env.errors import SandboxError
from agent_env.sandbox.cgroups import PREFIX, parent_groups
from agent_env.sandbox.docker import LABEL
from agent_env.sandbox.forked import spare_uids
from tests import ROOT
from tests.programs import need
from tests.sandbox.conftest import make, opened
from tests.sandbox.hostile import LIMITS


def kill_a_busy_harness(name, *arguments):
    """Its pid, after kill -9."""
    command = [sys.executable, "-m", "tests.sandbox.doomed_harness", name, *arguments]
    harness = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert harness.stdout.readline() == b"ready\n"
    harness.send_signal(signal.SIGKILL)
    harness.wait(10)
    harness.stdout.close()
    return harness.pid


def start_again(*backend):
    async def start():
        async with opened(*backend):
            pass

    asyncio.run(start())


def processes_of(uids):
    """Pids of these users."""
    return [e.name for e in Path("/proc").iterdir() if e.name.isdigit() and owner(e) in uids]


def owner(process):
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return None
    return next(int(line.split()[1]) for line in lines if line.startswith("Uid:"))


@pytest.mark.skipif(os.geteuid() != 0, reason="tells sandboxes by the uid that only root can lend")
@pytest.mark.parametrize("name", ["namespaces", "namespaces-watchdog", "bubblewrap"])
def test_a_killed_harness_leaves_no_process_and_the_next_one_no_group(name):
    if name == "bubblewrap":
        need("bubblewrap")
    pid = kill_a_busy_harness(name)
    deadline = time.monotonic() + 5
    while processes_of(spare_uids(pid)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert processes_of(spare_uids(pid)) == []

    start_again("namespaces", LIMITS)
    assert [f for top in parent_groups() for f in top.glob(f"{PREFIX}{pid}-*")] == []


def test_a_killed_harness_leaves_no_container_after_the_next_start(docker_host):
    from docker import APIClient

    pid = kill_a_busy_harness("docker", docker_host)
    start_again("docker", LIMITS, docker_host)
    client = APIClient(base_url=docker_host, version="auto")
    labels = [c["Labels"][LABEL] for c in client.containers(all=True, filters={"label": LABEL})]
    client.close()
    assert [label for label in labels if f" {pid}-" in label] == []


async def test_a_dead_fork_server_fails_new_sessions_and_leaves_open_ones_alone():
    backend = await make("namespaces", LIMITS, None)
    async with backend, backend.session() as session:
        backend._server.kill()
        await backend._server.wait()
        with pytest.raises(SandboxError, match="fork server"):
            await backend.session().__aenter__()
        assert (await session.run("6 * 7", 5)).value == "42"


async def test_a_killed_engine_is_a_sandbox_error_that_names_it(tmp_path, docker_host):
    """The engine is reached through a door that is shut: for the harness, that is a dead engine."""
    door = tmp_path / "door.sock"
    async with Door(door, docker_host.removeprefix("unix://")) as engine:
        backend = await make("docker", LIMITS, f"unix://{door}")
        async with backend, backend.session() as session:
            assert (await session.run("1", 5)).value == "1"
            engine.shut()
            with pytest.raises(SandboxError, match=f"Docker at unix://{door} could not"):
                await session.run("1", 5)


class Door:
    """A socket that leads to another, until it is shut."""

    def __init__(self, path, target):
        self._path, self._target = path, target
        self._writers = []

    async def __aenter__(self):
        self._server = await asyncio.start_unix_server(self._let_through, self._path)
        return self

    async def __aexit__(self, *_):
        self.shut()

    def shut(self):
        """Cut every connection and take no more."""
        self._server.close()
        self._path.unlink(missing_ok=True)
        for writer in self._writers:
            writer.transport.abort()

    async def _let_through(self, reader, writer):
        their_reader, their_writer = await asyncio.open_unix_connection(self._target)
        self._writers += [writer, their_writer]
        await asyncio.gather(pass_on(reader, their_writer), pass_on(their_reader, writer))


async def pass_on(reader, writer):
    """All bytes of one direction."""
    with contextlib.suppress(OSError, asyncio.CancelledError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
