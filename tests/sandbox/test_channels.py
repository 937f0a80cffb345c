"""Two sessions at once cannot talk: an answer must not pass from one episode to another."""

import asyncio
import os

import pytest

from agent_env.sandbox.docker import MASKED
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call
from tests.sandbox.channels import AT_ONCE, CHANNELS, ONLY_HELD, PREAMBLE
from tests.sandbox.conftest import BACKENDS

BITS = (1, 0, 1, 1, 0)
FIRST, *OTHERS = BACKENDS
ONE_BACKEND = [FIRST, *(pytest.param(name, marks=pytest.mark.channels) for name in OTHERS)]
BY_UID = {"descriptors on their way", "sizes of pipes"}
"""Counted by the kernel for each user of the host."""


async def hearings(backend, name):
    """What is heard where 0 and where 1 was said."""
    heard = {0: set(), 1: set()}
    async with backend.session() as sender, backend.session() as receiver:
        for session in (sender, receiver):
            ready = await session.run(PREAMBLE + CHANNELS[name], 10)
            assert ready.status == "ok", ready
        for bit in BITS:
            said = run(sender, f"try: say({bit})\nexcept Exception as exc: print(repr(exc))")
            if name not in AT_ONCE:
                await said
                heard[bit].add(text_of(await run(receiver, "hear()")))
            else:
                _, result = await asyncio.gather(said, run(receiver, "hear()"))
                heard[bit].add(text_of(result))
    return heard


async def run(session, code):
    return await session.run(code, 10)


def text_of(result):
    """The value, or the last line of the error."""
    return result.value or (result.error or "None").splitlines()[-1]


@pytest.mark.parametrize("bench", ONE_BACKEND, indirect=True)
@pytest.mark.parametrize("name", CHANNELS)
def test_no_bit_passes_between_sessions(bench, name):
    if name in BY_UID and bench.name != "docker" and os.geteuid() != 0:
        pytest.skip("only root can lend each session a uid of its own")
    heard = bench.run(hearings(bench.backend, name))
    assert heard[0] & heard[1], f"0 is heard as {heard[0]}, 1 as {heard[1]}"


@pytest.mark.parametrize("name", [name for name in CHANNELS if name not in ONLY_HELD])
def test_bits_pass_where_nothing_holds_them(name, tmp_path, monkeypatch):
    """A broken channel proves nothing."""

    if name == "pages in memory" and os.geteuid() != 0:
        pytest.skip("the kernel tells it only to who may write the file")
    monkeypatch.chdir(tmp_path)  # code without a sandbox writes where we stand

    async def unheld():
        async with UnsafeSubprocess(SandboxLimits(), own_call()) as backend:
            return await hearings(backend, name)

    tries = (asyncio.run(unheld()) for _ in range(5))  # a busy machine hides some bits
    assert any(heard[0] != heard[1] for heard in tries)


def test_docker_shows_no_counts_of_the_machine(bench):
    code = f"""
import os
found = []
for path in {MASKED!r}:
    try:
        found += os.listdir(path) if os.path.isdir(path) else open(path).read(100)
    except OSError:
        pass
found
"""
    assert bench.calls(code)[0].value == "[]"


@pytest.mark.parametrize("journal", ["delete", "persist", "wal"])
def test_sqlite_works_in_the_work_directory(bench, journal):
    code = f"""
import sqlite3, subprocess, sys
one = sqlite3.connect("days.db", isolation_level=None)
print(one.execute("PRAGMA journal_mode={journal}").fetchone()[0])
one.execute("CREATE TABLE days (day TEXT)")
two = sqlite3.connect("days.db", isolation_level=None, timeout=0)
one.execute("BEGIN IMMEDIATE")
one.execute("INSERT INTO days VALUES ('2001-02-28')")
print(two.execute("SELECT count(*) FROM days").fetchone()[0])
try:
    two.execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as exc:
    print(exc)
one.execute("COMMIT")
two.execute("INSERT INTO days VALUES ('2001-03-01')")
one.execute("BEGIN"); one.execute("DELETE FROM days"); one.execute("ROLLBACK")
ask = "import sqlite3; print(sqlite3.connect('days.db').execute('SELECT * FROM days').fetchall())"
print(subprocess.check_output([sys.executable, "-c", ask], text=True).strip())
print(one.execute("PRAGMA integrity_check").fetchone()[0])
"""
    (result,) = bench.calls(code)
    assert result.error is None
    assert result.stdout.splitlines() == [
        *(journal, "0", "database is locked"),
        *("[('2001-02-28',), ('2001-03-01',)]", "ok"),
    ]
