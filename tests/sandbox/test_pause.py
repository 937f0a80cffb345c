"""Between two calls nothing runs, whatever the code left behind to go on."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from tests.sandbox.hostile import LIMITS, host, read_attacks, run_attack

KEPT = "a variable of the first call"
BEAT = f"""
import os, signal, threading, time
kept = {KEPT!r}
beats = os.open("beats", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
ends = time.monotonic() + 4
def beat():
    os.write(beats, b"%.6f\\n" % time.monotonic())
def beat_until_the_end(pause_s=0.002):
    while time.monotonic() < ends:
        beat(); time.sleep(pause_s)
def between(times):
    at = [float(beat) for beat in open("beats").read().split()]
    assert at
    return [beat for beat in at if any(start < beat < end for start, end in times)]
def child(work):
    if os.fork() == 0:
        try:
            work()
        finally:
            os._exit(0)
"""
RESTLESS = {
    "a child": "child(beat_until_the_end)",
    "a thread": "threading.Thread(target=beat_until_the_end, daemon=True).start()",
    "a timer": """
signal.signal(signal.SIGALRM, lambda *_: beat())
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
""",
    "children that wake each other and the caller": """
def wake():
    caller = os.getppid()
    while time.monotonic() < ends:
        for pid in (-1, caller):
            try:
                os.kill(pid, signal.SIGCONT)
            except OSError:
                pass
for _ in range(4):
    child(wake)
child(beat_until_the_end)
threading.Thread(target=beat_until_the_end, daemon=True).start()
""",
    "a line of children, each born as the last one ends": """
def line():
    os.setsid()
    while time.monotonic() < ends:
        if os.fork():
            os._exit(0)
        beat()
for _ in range(3):
    child(line)
""",
    "a thread whose children wake it": """
def wake():
    caller = os.getppid()
    for _ in range(200):
        os.kill(caller, signal.SIGCONT)
        beat()
def breed():
    while time.monotonic() < ends:
        try:
            child(wake)
            os.waitpid(-1, os.WNOHANG)
        except OSError:
            time.sleep(0.001)
threading.Thread(target=breed, daemon=True).start()
""",
    "children that take every place for processes": """
def fill():
    while time.monotonic() < ends:
        try:
            os.fork()
            beat()
        except OSError:
            pass
child(fill)
time.sleep(0.2)
""",
    "dead children that keep every place for processes": """
try:
    while True:
        child(beat)
except OSError:
    pass
""",
    "children that wake at the death of another": """
def heir():
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, lambda *_: beat())
    LIBC.prctl(1, int(signal.SIGCONT), 0, 0, 0)
    beat()
    os.kill(os.getpid(), signal.SIGSTOP)
    beat_until_the_end()
def parent():
    os.setpgid(0, 0)
    ballast = bytearray(20_000_000)
    for _ in range(3):
        child(heir)
    time.sleep(0.02)
import ctypes
LIBC = ctypes.CDLL(None)
child(parent)
while not os.path.getsize("beats"): time.sleep(0.001)
""",
}


@pytest.mark.parametrize("restless", RESTLESS.values(), ids=RESTLESS)
def test_nothing_runs_between_calls_and_the_variables_stay(bench, restless):
    async def call(session):
        idle = []
        begun = await session.run(BEAT + restless + "\ntime.sleep(0.05)", 10)
        assert begun.status == "ok", begun
        for _ in range(3):
            since = time.monotonic()
            await asyncio.sleep(0.2)
            idle.append((since, time.monotonic()))
            kept = await session.run("kept", 10)
        return kept, await session.run(f"between({idle})", 10)

    kept, beats = bench.in_session(call)
    assert (kept.value, beats.value) == (repr(KEPT), "[]")


def test_after_an_answer_nothing_is_left_that_could_use_the_processor(bench):
    """As the host sees it: who is not one of ours is dead, and the executor stopped."""
    attack = next(attack for attack in read_attacks() if attack.name == "cpu_after_answer")
    ours = 1 if bench.name == "namespaces" else 2  # the supervisor, and the tool that started it
    wanted = ["S"] * ours + ["T"]

    def living(found):
        return sorted(state.replace("R", "S") for state in found if state != "Z")

    async def states(session):
        with host() as target:
            result = await run_attack(session, attack, target.targets())
        assert result.value == "[]"
        found = list(bench.processes().values())
        for _ in range(50):  # a container of tests beside this one goes away, ours does not
            if living(found) == wanted:
                break
            await asyncio.sleep(0.1)
            found = list(bench.processes().values())
        return found

    found = bench.in_session(states)
    assert living(found) == wanted
    assert len(found) <= LIMITS.processes
    assert bench.living() == []


def test_every_process_of_a_session_counts_against_its_memory(bench):
    if getattr(bench.backend, "memory_bound", "cgroup") != "cgroup":
        pytest.skip("no control group can be had here")
    code = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-S', '-c', 'import time; time.sleep(0.6)'])"
    )

    async def groups(session):
        call = asyncio.create_task(session.run(code, 5))
        await asyncio.sleep(0.3)
        found = [groups_of(pid) for pid in bench.living()]
        await call
        return found

    found = bench.in_session(groups)
    assert len(found) >= 3
    assert len(set(map(frozenset, found))) == 1
    mark = "docker" if bench.name == "docker" else f"agent-env-{os.getpid()}-"
    assert all(mark in path for path in found[0])


def groups_of(pid):
    """The paths of the control groups that bound its memory."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    v1 = {path for _, names, path in (li.split(":", 2) for li in lines) if "memory" in names}
    return v1 or {line.partition("::")[2] for line in lines}
