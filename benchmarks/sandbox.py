"""How long sandboxes take, what they hold, and whether they leak. Medians of many,
and the least of them in brackets, for machines that are busy with other things as well.

    python -m benchmarks.sandbox                         the backends that hold here
    python -m benchmarks.sandbox --docker-host ADDRESS   with the engine at an address
    python -m benchmarks.sandbox --episodes 1000         and 1,000 episodes in a row on each
    python -m benchmarks.sandbox --attacks 1000          and 1,000 attacks, twenty at once

The last row is what a tool without state costs: a login shell and an interpreter for each call, as
Inspect's `python` tool starts them.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from agent_env.errors import SandboxError
from agent_env.protocols import SandboxBackend
from agent_env.sandbox.choose import AUTO_ORDER, make, probe_one
from agent_env.sandbox.docker import UIDS
from agent_env.sandbox.forked import ForkedBackend
from agent_env.sandbox.limits import SandboxLimits
from agent_env.sandbox.watchdog import children_by_parent, descendants, exact
from tests.sandbox.hostile import LIMITS, Attack, escapes, host, read_attacks, run_attack

CODE = "x = 6 * 7\nx"
TARGETS = {"docker": (800, 5), "namespaces": (40, 1), "bubblewrap": (40, 1)}
"""First result and later calls, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One row."""

    name: str
    first_ms: list[float]
    later_ms: list[float]
    sessions: int = 0
    open_s: float = 0.0
    session_mb: float = 0.0


async def measure(name: str, backend: SandboxBackend, starts: int, sessions: int) -> Figures:
    """All figures of one backend."""
    async with backend:
        firsts = [await first_result_s(backend) for _ in range(starts)]
        later = await later_calls_s(backend, 200)
        async with AsyncExitStack() as stack:
            opened = await open_at_once(backend, sessions, stack)
            memory = held_bytes(backend) / sessions
    return Figures(name, in_ms(firsts), in_ms(later), sessions, opened, memory / (1 << 20))


async def first_result_s(backend: SandboxBackend) -> float:
    """From nothing to the first result of a session."""
    started = time.perf_counter()
    async with backend.session() as session:
        assert (await session.run(CODE, 30)).value == "42"
        return time.perf_counter() - started


async def later_calls_s(backend: SandboxBackend, count: int) -> list[float]:
    """Calls in one session."""
    taken = []
    async with backend.session() as session:
        await session.run(CODE, 30)
        for _ in range(count):
            started = time.perf_counter()
            assert (await session.run("x", 30)).value == "42"
            taken.append(time.perf_counter() - started)
    return taken


async def open_at_once(backend: SandboxBackend, count: int, stack: AsyncExitStack) -> float:
    """Seconds until all of so many sessions have answered; they stay open."""

    async def answer(number: int) -> None:
        session = await stack.enter_async_context(backend.session())
        assert (await session.run(f"{number} + 1", 60)).value == str(number + 1)

    started = time.perf_counter()
    await asyncio.gather(*(answer(number) for number in range(count)))
    return time.perf_counter() - started


def held_bytes(backend: SandboxBackend) -> int:
    """Memory of all processes of the backend, each shared page once."""
    if isinstance(backend, ForkedBackend):
        return exact(descendants(backend.server_pid, children_by_parent()))
    return exact([int(e.name) for e in Path("/proc").iterdir() if belongs_to(e, UIDS)])


def belongs_to(process: Path, uids: range) -> bool:
    """Whether it is a process of one of these users."""
    try:
        return process.name.isdigit() and process.stat().st_uid in uids
    except OSError:
        return False


async def run_episodes(name: str, backend: SandboxBackend, count: int) -> str:
    """So many sessions one after the other; what is held before and after."""
    async with backend:
        for _ in range(25):  # until pools of connections and threads are full
            await first_result_s(backend)
        before, started = held_by_harness(), time.perf_counter()
        for _ in range(count):
            await first_result_s(backend)
        took_s = time.perf_counter() - started
        await asyncio.sleep(1)  # the last session's processes may still be dying
        after = held_by_harness()
    return (
        f"{name}: {count} episodes in {took_s:.1f} s; descriptors {before[0]} -> {after[0]}, "
        f"processes {before[1]} -> {after[1]}, peak memory {before[2]} -> {after[2]} MB"
    )


async def run_attacks(name: str, backend: SandboxBackend, count: int) -> str:
    """So many attacks, twenty at once, with the small limits they were written for."""
    attacks, at_once = read_attacks(), asyncio.Semaphore(20)

    async def escapes_of(attack: Attack, targets: dict[str, object]) -> list[str]:
        async with at_once, backend.session() as session:
            found = escapes(attack, await run_attack(session, attack, targets))
            return [f"{attack.name}: {escape}" for escape in found]

    with host() as target:
        async with backend:
            chosen = [attacks[i % len(attacks)] for i in range(count)]
            all_found = await asyncio.gather(*(escapes_of(a, target.targets()) for a in chosen))
        found = [escape for some in all_found for escape in some] + target.harm()
    return f"{name}: {count} attacks, uncontained: {found or 'none'}"


def held_by_harness() -> tuple[int, int, int]:
    """Open descriptors, processes below us, and the most memory we ever had."""
    family = descendants(os.getpid(), children_by_parent())
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return len(os.listdir("/proc/self/fd")), len(family), peak_kb >> 10


async def login_shell(count: int) -> Figures:
    """The same code in a fresh login shell and interpreter each time."""
    taken = []
    for _ in range(count):
        started = time.perf_counter()
        child = await asyncio.create_subprocess_exec(
            *("bash", "--login", "-c", f"{sys.executable} -"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        await child.communicate(b"print(6 * 7)\n")
        taken.append(time.perf_counter() - started)
    return Figures("login shell, no state", in_ms(taken), in_ms(taken))


def in_ms(seconds: list[float]) -> list[float]:
    return [1000 * value for value in seconds]


def median_and_least(values: list[float], target: float) -> str:
    """As the table shows it."""
    text = f"{statistics.median(values):.2f} ({min(values):.2f})"
    return f"{text}, at most {target:g}" if target else text


def show(rows: list[Figures]) -> None:
    """The table."""
    table = Table("sandbox", "first result, ms", "later call, ms", "open at once", "MB each")
    for row in rows:
        first, later = TARGETS.get(row.name, (0, 0))
        table.add_row(
            row.name,
            median_and_least(row.first_ms, first),
            median_and_least(row.later_ms, later),
            f"{row.sessions} in {row.open_s:.2f} s" if row.sessions else "",
            f"{row.session_mb:.1f}" if row.sessions else "",
        )
    Console(width=110).print(table)


async def main() -> None:
    """As a program."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--docker-host", default=None)
    parser.add_argument("--episodes", type=int, default=0)
    parser.add_argument("--attacks", type=int, default=0)
    parser.add_argument("--only", choices=AUTO_ORDER, default=None)
    asked = parser.parse_args()
    limits, rows = SandboxLimits(), []
    for name in AUTO_ORDER if asked.only is None else (asked.only,):
        probe = await probe_one(name, limits, asked.docker_host)
        if not probe.ok:
            print(f"{name}: not measured: {probe.reason}")
            continue
        backend = await make(name, limits, asked.docker_host)
        many = (11, 20) if name == "docker" else (51, 100)
        try:
            rows.append(await measure(name, backend, *many))
            if asked.episodes:
                again = await make(name, limits, asked.docker_host)
                print(await run_episodes(name, again, asked.episodes))
            if asked.attacks:
                again = await make(name, LIMITS, asked.docker_host)
                print(await run_attacks(name, again, asked.attacks))
        except SandboxError as exc:
            print(f"{name}: failed: {exc}")
    show([*rows, await login_shell(21)])


if __name__ == "__main__":
    asyncio.run(main())
