"""A server's process ends with its owner, and so does all that it started. Its lines are of any
size and cut anywhere, but never more is kept of one than the limit."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_env import lifeline
from agent_env.errors import ConfigError
from agent_env.features.mcp.records import McpServer
from agent_env.features.mcp.transport import Lines, check_command, environment_of, start
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


@given(
    st.lists(st.binary(max_size=30).map(lambda b: b.replace(b"\n", b".")), max_size=8), st.data()
)
def test_lines_come_whole_wherever_the_stream_is_cut(lines, data):
    stream = b"".join(line + b"\n" for line in lines)
    cutter, parts = Lines(), []
    while stream:
        size = data.draw(st.integers(1, len(stream)))
        parts += cutter.feed(stream[:size])
        stream = stream[size:]
    assert parts == [(line, True) for line in lines]


def test_of_a_line_too_large_both_ends_are_kept():
    cutter = Lines(most=10_000)
    chunks = [b'{"id": 7, ', *[b"x" * 5_000] * 20, b' "end": 8}\nnext\n']
    (line, is_whole), after = [each for chunk in chunks for each in cutter.feed(chunk)]
    assert (is_whole, after) == (False, (b"next", True))
    assert line.startswith(b'{"id": 7, ')
    assert line.endswith(b' "end": 8}')
    assert len(line) < 10_000
