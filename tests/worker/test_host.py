"""A worker that dies, hangs or talks nonsense fails its own call; the next call has another."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_env.errors import ToolError
from agent_env.worker.host import Worker, WorkerFailed

TABLE = {
    "create": "CREATE TABLE own (a)",
    "insert": "INSERT INTO own VALUES (?)",
    "rows": [["first"], ["second"]],
}
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
WIRE = "import json, socket, sys; wire = socket.socket(fileno=int(sys.argv[1])); "


def query(text):
    return {"key": "own", "query": text, "tables": [TABLE]}


@pytest.fixture
def worker():
    own = Worker("sql")
    yield own
    own.close()


def children():
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [int(pid) for file in tasks for pid in file.read_text().split()]


async def started(before):
    """The children since then, once there are some."""
    while not (own := set(children()) - before):  # noqa: ASYNC110  # nobody tells us
        await asyncio.sleep(0.001)
    return own


def test_what_a_function_returns_and_refuses_comes_back(worker):
    assert worker.call(query("SELECT a FROM own")) == "a\nfirst\nsecond"
    assert asyncio.run(worker.ask({"key": "own", "query": "SELECT 1 AS b"})) == "b\n1"
    with pytest.raises(ToolError, match="no such table: other"):
        worker.call(query("SELECT a FROM other"))


def test_it_works_under_a_limit_of_memory_that_the_user_set():
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        "from agent_env.worker.host import worker\n"
        "print(worker('schemas').call({'schema': {'type': 5}}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "is not a JSON schema" in done.stdout, done.stderr


def test_calls_share_a_process_and_what_it_keeps(worker):
    before = len(children())
    worker.call(query("SELECT a FROM own"))
    for _ in range(20):
        assert worker.call({"key": "own", "query": "SELECT count(*) AS n FROM own"}) == "n\n2"
    assert len(children()) == before + 1


def test_a_cancelled_call_ends_its_process(worker):
    async def main():
        before = set(children())
        call = asyncio.ensure_future(worker.ask(query(ENDLESS), cpu_s=60.0))
        await started(before)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    before = set(children())
    asyncio.run(main())
    asyncio.run(asyncio.wait_for(worker.ask(query("SELECT 1")), 20))
    assert len(set(children()) - before) == 1


async def test_a_process_that_is_killed_fails_its_call_alone(worker):
    before = set(children())
    call = asyncio.ensure_future(worker.ask(query(ENDLESS), cpu_s=60.0))
    own = await started(before)
    other = await worker.ask(query("SELECT 1 AS a"))
    for pid in own:
        os.kill(pid, signal.SIGKILL)
    failure, other = (*await asyncio.gather(call, return_exceptions=True), other)
    assert isinstance(failure, WorkerFailed)
    assert (str(failure), other) == ("ended the process (signal 9)", "a\n1")


def test_a_process_that_was_killed_while_idle_fails_no_call(worker):
    before = set(children())
    worker.call(query("SELECT 1"))
    for pid in set(children()) - before:
        os.kill(pid, signal.SIGKILL)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert worker.call(query("SELECT 1 AS a")) == "a\n1"


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("wire.sendall(bytes(4) + b'x')", "was answered with what is not JSON"),
        ("wire.sendall(b'\\0\\0\\0\\2[]')", "was answered with what is not a message"),
        ("wire.sendall(b'\\xff' * 99)", "was answered with a message of 4,294,967,295 bytes"),
        ('wire.sendall(b\'\\0\\0\\0\\x0b{"end": ""}\')', "failed with no reason"),
        ("sys.exit(3)", r"ended the process \(code 3\)"),
        ("raise MemoryError", r"ended the process \(code 1\)"),
        ("import time; time.sleep(60)", "took more than 0.5 s"),
    ],
)
def test_garbage_and_silence_are_named(start, reason):
    worker = Worker("sql", WIRE + start)
    with pytest.raises(WorkerFailed, match=reason):
        worker.call(query("SELECT 1"), timeout_s=0.5 if "sleep" in start else None)
    worker.close()


def test_a_sealed_process_reaches_no_file_no_network_and_no_key(monkeypatch):
    """Seen from inside, by a program that does what a query cannot."""
    monkeypatch.setenv("SECRET_API_KEY", "canary")
    look = (
        "import os, socket, sys; from agent_env.worker import child; "
        "sys.argv[1:]; job = child.JOBS['sql']; child._confine(job); seen = []\n"
        "for attempt in (lambda: open('/etc/passwd'), lambda: socket.socket(), os.pipe):\n"
        "    try: attempt(); seen.append('open')\n"
        "    except OSError as exc: seen.append(exc.strerror)\n"
        "wire = socket.socket(fileno=int(sys.argv[1]))\n"
        "child.receive(wire, 1 << 20)\n"
        "seen.append('SECRET_API_KEY' in os.environ)\n"
        "child.send(wire, {'item': seen, 'end': 'result'})"
    )
    worker = Worker("sql", look)
    assert worker.call(query("")) == ["Too many open files"] * 3 + [False]
    worker.close()
