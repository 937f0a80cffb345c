"""Attacks on every backend that the machine has, and the host looked over after each."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.unsafe import UnsafeSubprocess
from agent_env.wiring.trust import own_call
from tests.sandbox import hostile
from tests.sandbox.hostile import LIMITS, escapes, host, read_attacks, run_attack

ATTACKS = read_attacks()
AT_ONCE = 20
FOR_MEMORY = {"take_memory_alone", "take_memory_together", "use_memfd", "fill_kernel_buffers",
              "fork_bomb_unbounded", "show_what_is_huge", "starve_in_children"}  # fmt: skip
HELD_MB = 16
"""What the harness may come to hold of a session, whatever that answers."""


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_contained_and_the_host_is_as_before(bench, attack):
    contain(bench, attack)


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a.name in FOR_MEMORY], ids=lambda attack: attack.name
)
def test_the_watchdog_contains_what_takes_memory(watched_bench, attack):
    contain(watched_bench, attack)


def contain(bench, attack):
    async def attacked(session):
        result = await run_attack(session, attack, target.targets())
        after = await session.run("6 * 7", 5)
        if after.status == "crashed":  # what the attack holds left no room for a call
            after = await session.run("6 * 7", 5)
        return result, after

    with host() as target:
        held = resident_mb(peak=False)
        result, after = bench.in_session(attacked)
        left = bench.living()
        assert escapes(attack, result) == []
        assert target.harm() == []
    assert after.value == "42", "the session, or a fresh one, goes on"
    assert left == []
    assert resident_mb(peak=True) - held < HELD_MB


def resident_mb(peak):
    """What this process holds, or the most that it held since that was last asked."""
    if not peak:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) >> 10


def test_twenty_attacked_sessions_at_once_are_contained(bench):
    async def attacked(attack, targets):
        async with bench.backend.session() as session:
            found = escapes(attack, await run_attack(session, attack, targets))
            return [f"{attack.name}: {escape}" for escape in found]

    async def all_attacked(targets):
        chosen = [ATTACKS[i % len(ATTACKS)] for i in range(0, 3 * AT_ONCE, 3)]
        results = await asyncio.gather(*(attacked(attack, targets) for attack in chosen))
        return [escape for found in results for escape in found]

    with host() as target:
        assert bench.run(all_attacked(target.targets())) == []
        assert bench.living() == []
        assert target.harm() == []


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a.unsafe == "escapes"], ids=lambda attack: attack.name
)
def test_an_attack_works_where_nothing_holds_it(attack):
    """A broken attack proves nothing: each must get somewhere in a throw-away child."""

    async def attacked(targets):
        limits = SandboxLimits(output_bytes=LIMITS.output_bytes)
        async with UnsafeSubprocess(limits, own_call()) as backend, backend.session() as session:
            return await run_attack(session, attack, targets)

    os.environ[hostile.KEY_NAME] = "a key that must not leak"
    with host() as target:
        try:
            result = asyncio.run(attacked(target.targets(unsafe=True)))
            time.sleep(0.05)
            assert escapes(attack, result) + target.harm() != []
        finally:
            for pid in hostile.marked(target.mark):
                if pid != target.victim.pid:
                    os.kill(pid, signal.SIGKILL)


def test_every_attack_says_what_contains_it_and_what_it_does_unsandboxed():
    for attack in ATTACKS:
        assert attack.ends <= {"ok", "error", "timeout", "crashed"}, attack.name
        assert attack.unsafe == "escapes" or attack.unsafe.startswith("cannot be tried: ")
    assert len(ATTACKS) == len(list((Path(__file__).parent / "attacks").glob("*.py")))
