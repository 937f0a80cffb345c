"""What `agent-env serve http` adds to a step, and many clients at once.

    python benchmarks/serve.py [CLIENTS]

The same episodes (10 calls of a calendar each) in this process and through HTTP, by turns; CPU is
that of this process's loop, and of the server's process. Then CLIENTS (50) clients play an episode
each at the same time while one more is killed with SIGKILL in the middle; every call must be in a
trace, and every trace must replay.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from agent_env.records.schema import Message, Sample, ToolCall
from agent_env.runs.environment import Environment, make_environment, open_environment
from agent_env.runs.options.run_options import RunOptions

ROUNDS, EPISODES, CALLS = 12, 10, 10
ARGUMENTS = json.dumps(
    {"operation": "difference", "date": "2024-01-01", "other_date": "2024-03-01"}
)
LOST_CLIENT = """
import httpx, json, sys, time
server = httpx.Client(base_url=sys.argv[1])
turn = server.post("/episodes", json={"agent": "lost"}).json()
for number in range(1000):
    server.post(f"/episodes/{turn['id']}/step", json=json.loads(sys.argv[2]))
    print("stepped", flush=True)
    time.sleep(0.02)
"""


def asks() -> dict[str, Any]:
    function = {"name": "calendars", "arguments": ARGUMENTS}
    calls = [{"id": "c", "type": "function", "function": function}]
    return {"message": {"role": "assistant", "content": None, "tool_calls": calls}}


async def in_process(environment: Environment, samples: Sequence[Sample]) -> float:
    """Milliseconds of CPU for a step."""
    spent = 0.0
    for sample in samples:
        episode = environment.episode(sample.id)
        await episode.reset()
        before = time.process_time()
        for call in range(CALLS):
            asked = ToolCall(id=f"c{call}", name="calendars", arguments=ARGUMENTS)
            await episode.step(Message(role="assistant", tool_calls=(asked,)))
        spent += time.process_time() - before
        await episode.step("MY ANSWER: None")
    return spent / EPISODES / CALLS * 1000


@contextmanager
def served(run: Path, episodes: int) -> Iterator[tuple[str, int]]:
    """The server's address and process."""
    command = [sys.executable, "-m", "agent_env", "serve", "http", "time-puzzles",
               "--condition", "cal", "--limit", str(episodes), "--steps", "100",
               "--tool-calls", "100", "--out", str(run), "--port", "0", "--no-token"]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def over_http(server: httpx.Client, pid: int) -> float:
    """The same of the server."""
    spent = 0.0
    for _ in range(EPISODES):
        turn = server.post("/episodes", json={}).json()
        before = cpu_s(pid)
        for _ in range(CALLS):
            server.post(f"/episodes/{turn['id']}/step", json=asks()).raise_for_status()
        spent += cpu_s(pid) - before
        end = {"message": {"role": "assistant", "content": "MY ANSWER: None"}}
        server.post(f"/episodes/{turn['id']}/step", json=end).raise_for_status()
    return spent / EPISODES / CALLS * 1000


async def by_turns(folder: Path) -> None:
    count = (ROUNDS + 1) * EPISODES
    options = RunOptions("time-puzzles", conditions=("cal",), limit=count, out=folder / "ours",
                         limits={"steps": 100, "tool_calls": 100})  # fmt: skip
    rounds = []
    async with open_environment(await make_environment(options)) as environment:
        with served(folder / "served", count) as (url, pid), httpx.Client(base_url=url) as server:
            for number in range(ROUNDS + 1):  # the first warms up
                samples = environment.samples[number * EPISODES : (number + 1) * EPISODES]
                rounds.append((await in_process(environment, samples), over_http(server, pid)))
                print("CPU per step: in process {:.2f} ms, served {:.2f} ms".format(*rounds[-1]))
    added = [theirs - ours for ours, theirs in rounds[1:]]
    least = min(theirs for _, theirs in rounds[1:]) - min(ours for ours, _ in rounds[1:])
    print(f"added: median {statistics.median(added):+.2f} ms, of the least of each {least:+.2f} ms")


async def play(server: httpx.AsyncClient) -> int:
    turn = (await server.post("/episodes", json={})).json()
    for _ in range(5):
        (await server.post(f"/episodes/{turn['id']}/step", json=asks())).raise_for_status()
    end = {"message": {"role": "assistant", "content": "MY ANSWER: None"}}
    answer = await server.post(f"/episodes/{turn['id']}/step", json=end)
    return int(answer.json()["done"])


async def many(url: str, clients: int) -> int:
    """How many ended, with one client killed on the way."""
    lost = await asyncio.create_subprocess_exec(
        sys.executable, "-c", LOST_CLIENT, url, json.dumps(asks()), stdout=subprocess.PIPE
    )
    assert lost.stdout is not None
    await lost.stdout.readline()
    async with httpx.AsyncClient(base_url=url, timeout=120) as server:
        playing = [asyncio.ensure_future(play(server)) for _ in range(clients)]
        await asyncio.sleep(0.2)
        lost.send_signal(signal.SIGKILL)
        await lost.wait()
        return sum(await asyncio.gather(*playing))


def main() -> None:
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(by_turns(Path(folder)))
        run = Path(folder) / "many"
        with served(run, clients + 1) as (url, _):
            print(f"{asyncio.run(many(url, clients))} of {clients} clients ended")
        lines = (line for trace in run.glob("episodes/*/*.jsonl") for line in trace.open())
        print(Counter(json.loads(line)["kind"] for line in lines))
        replayed = subprocess.run(
            [sys.executable, "-m", "agent_env", "replay", str(run), "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        print(Counter(each["verdict"] for each in json.loads(replayed.stdout)["episodes"]))


if __name__ == "__main__":
    main()
