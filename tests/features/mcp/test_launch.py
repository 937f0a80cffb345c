"""A server's process ends with its owner, and so does all that it started."""

import os
import subprocess
import sys

import pytest

from agent_env import lifeline
from agent_env.errors import ConfigError
from agent_env.features.mcp.records import McpServer
from agent_env.features.mcp.transport import check_command, environment_of, start
from agent_env.wiring.trust import own_call
from tests.alive import is_alive, left_over

linux = pytest.mark.skipif(sys.platform != "linux", reason="orphans are adopted on Linux only")
LEAVES_AN_ORPHAN = "setsid sleep 60 & echo $! $$; exec sleep 60"


@linux
async def test_the_end_of_a_server_is_the_end_of_what_it_started():
    server = McpServer(name="x", command=("sh", "-c", LEAVES_AN_ORPHAN))
    process = await start(server, own_call())
    pids = [int(pid) for pid in (await process.inner.stdout.readline()).split()]
    await process.end(patience_s=0.0)
    assert process.ending == "ended with code -15" or "signal 15" in process.ending
    assert left_over(pids, 3.0) == []


@linux
def test_no_orphan_is_left_by_a_killed_owner():
    """What the kernel does for kill -9 of us: our end of the pipe closes."""
    theirs, ours = os.pipe()
    command = [sys.executable, "-I", "-S", lifeline.__file__, str(theirs), "sh", "-c"]
    command.append(LEAVES_AN_ORPHAN)
    with subprocess.Popen(command, stdout=subprocess.PIPE, pass_fds=(theirs,)) as keeper:
        os.close(theirs)
        pids = [int(pid) for pid in keeper.stdout.readline().split()]
        assert all(map(is_alive, pids))
        os.close(ours)
        assert left_over([*pids, keeper.pid], 3.0) == []


def test_a_server_gets_the_variables_that_are_named(monkeypatch):
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("NOT_NAMED_API_KEY", "secret")
    server = McpServer(name="x", command=("sh",), environment=("MINE",))
    expected = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "MINE": "1"}
    assert environment_of(server, own_call()) == expected
    with pytest.raises(ConfigError, match="the variable ABSENT is not set"):
        environment_of(server.model_copy(update={"environment": ("ABSENT",)}), own_call())


def test_a_program_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match="--mcp x: there is no program 'no-such-server'"):
        check_command(McpServer(name="x", command=("no-such-server",)))
