"""A real process behind a real port: started, waited for, started again, ended.

Why a server ended, by exit code and log.
"""

import asyncio
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from agent_env.errors import ConfigError, RunStopped
from agent_env.features.local_models import process
from agent_env.features.local_models.process import ServerProcess, free_port, served_permit
from agent_env.permits import _MINT, NOTHING, Permit
from agent_env.records.reach import Reach
from agent_env.wiring.trust import own_call
from tests.alive import is_alive, left_over

TINY = Path(__file__).with_name("tiny_server.py")
MEMORY = "take a smaller model or quantisation, a shorter context, or free some memory"
NO_MEMORY = "ValueError: No available memory for the cache blocks."
CUT = (
    "tensor 'blk.11.ffn_up.weight' data is not within the file bounds, model is corrupted or "
    "incomplete"
)
SERVER = shlex.join(["exec", sys.executable, "-I", "-S", str(TINY)])


def tiny(folder, words="", before=""):
    """A server that is not started yet, its port, and what it will have told."""
    port, notes = free_port(), list[str]()
    command, url = f"{before}{SERVER} {port} {words}", f"http://127.0.0.1:{port}/v1"
    log = folder / "server.log"
    return ServerProcess(command, {}, url, log, notes.append, permit=own_call()), port, notes


def pids(log):
    return [int(line.split()[1]) for line in log.read_text().splitlines() if "pid" in line]


async def test_a_server_is_up_after_its_start_and_gone_with_all_it_started_after_its_end(tmp_path):
    server, port, _ = tiny(tmp_path, before="setsid sleep 60 & echo pid $!; ")
    await server.start()
    assert (await server.is_up(), process.is_free(port)) == (True, False)
    await server.close()
    assert [is_alive(pid) for pid in pids(tmp_path / "server.log")] == [False, False]
    assert process.is_free(port)


async def until(is_so):
    """Whether it is so within 20 seconds."""
    for _ in range(1000):
        if await is_so():
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_server_that_crashes_is_started_again_until_it_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "MOST_CRASHES", 2)
    server, _, notes = tiny(tmp_path)
    await server.start()
    log = tmp_path / "server.log"

    async def is_up_again():
        return len(pids(log)) == 2 and await server.is_up()

    async def is_given_up():
        await server.is_up()

    os.kill(pids(log)[0], 9)
    assert await until(is_up_again)
    killed = f"killed by signal 9, usually for want of memory: {MEMORY}"
    assert notes == [f"the model's server ended and is started again: {killed}"]
    os.kill(pids(log)[1], 9)
    with pytest.raises(RunStopped, match=r"server ended 2 times, the last time: killed by signal"):
        await until(is_given_up)
    await server.close()


def test_a_server_that_ends_while_it_loads_is_a_mistake_with_its_reason_and_log(tmp_path):
    server, _, _ = tiny(tmp_path, "unable to allocate 9 GB")
    with pytest.raises(ConfigError) as caught:
        asyncio.run(server.start())
    reason, _, log = str(caught.value).partition("; its log: ")
    assert reason == f"the model's server did not start: unable to allocate 9 GB; {MEMORY}"
    assert "unable to allocate" in Path(log).read_text()
    os.unlink(log)


async def test_a_server_is_not_started_where_something_answers_already(tmp_path):
    first, port, _ = tiny(tmp_path)
    await first.start()
    url, log = f"http://127.0.0.1:{port}/v1", tmp_path / "b"
    second = ServerProcess("true", {}, url, log, print, permit=own_call())
    with pytest.raises(ConfigError, match=f"something answers at {url} alre"):
        await second.start()
    assert not log.exists()
    await first.close()


def test_nothing_is_left_when_the_program_that_started_it_is_killed(tmp_path):
    port, log = free_port(), tmp_path / "server.log"
    code = f"""
import asyncio
from pathlib import Path
from agent_env.features.local_models.process import ServerProcess
from agent_env.wiring.trust import own_call
async def main():
    command = "setsid sleep 60 & echo pid $!; {SERVER} {port}"
    url, log = "http://127.0.0.1:{port}/v1", Path({str(log)!r})
    await ServerProcess(command, {{}}, url, log, print, permit=own_call()).start()
    print("up", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as ours:
        assert ours.stdout.readline() == b"up\n"
        ours.kill()
    started = pids(log)
    assert (len(started), left_over(started)) == (2, [])


def test_a_server_that_may_be_started_is_asked_on_loopback_and_elsewhere_only_where_allowed():
    with pytest.raises(ConfigError, match="the command serve is not allowed"):
        served_permit(NOTHING, "serve", "http://127.0.0.1:9/v1")
    command_alone = Permit(_MINT, [(Reach.COMMAND, "serve")], is_unlimited=False)
    near = served_permit(command_alone, "serve", "http://127.0.0.1:9/v1")
    assert near.covers(Reach.ADDRESS, "http://127.0.0.1:9/v1/models")
    assert not near.covers(Reach.ADDRESS, "http://127.0.0.1:8/v1")
    with pytest.raises(ConfigError, match=r"the address http://far\.example/v1 is not allowed"):
        served_permit(command_alone, "serve", "http://far.example/v1")


@pytest.mark.parametrize(
    ("code", "log", "reason"),
    [
        (
            1,
            "0.1 I loading\n0.00.377.468 E llama_model_load: error loading model: unknown model "
            "architecture: 'lxama'\n0.3 E srv init: exiting",
            "E llama_model_load: error loading model: unknown model architecture: 'lxama'; this "
            "server does not know it; install a newer one, or serve the model by another",
        ),
        (1, CUT, f"{CUT}; the model's file is damaged or cut off; fetch it again"),
        (1, NO_MEMORY, f"{NO_MEMORY}; {MEMORY}"),
        (137, "loading", f"killed by signal 9, usually for want of memory: {MEMORY}"),
        (-9, "", f"killed by signal 9, usually for want of memory: {MEMORY}"),
        (139, "one\ntwo", "ended by SIGSEGV, its last words: two"),
        (127, "/bin/sh: 1: vllm: not found", "/bin/sh: 1: vllm: not found; check the command of "
         "--serve"),
        (3, "an error came\nbye", "exit code 3, its last words: an error came"),
        (3, "", "exit code 3 without a word"),
        (3, "x\x1b[2J" + "y" * 300, "exit code 3, its last words: x\\u001b[2J" + "y" * 189 + "…"),
    ],
)  # fmt: skip
def test_a_reason_is_one_line_with_what_to_do(code, log, reason):
    assert process.reason_of_end(code, log) == reason
