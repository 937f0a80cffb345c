"""What agents of somebody else cost: CPU of the proxy per call, the way of a stream's first piece,
and twenty agents at once of which one is killed.

The client runs in a process of its own. Run: python benchmarks/agents.py [call|stream|crowd] ...
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from agent_env.features.agents.desk import Desk
from agent_env.features.agents.process_loop import mcp_app
from agent_env.features.agents.proxy import Proxy
from agent_env.features.serve.hosting import listening, serve_app
from agent_env.graph.loop import EpisodeState
from agent_env.models.streams import LISTENER
from agent_env.protocols import Limits
from agent_env.records.schema import Message, Reply, Usage
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.run import Run
from agent_env.runs.start import Listener, start_run
from agent_env.tools.toolbox import ToolSet

CALLS = 200
CLIENT = """
import json, sys, time, http.client
port, path, calls, stream = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] == "stream"
body = json.loads(sys.stdin.read()); body.update({"stream": True} if stream else {})
headers = {"Authorization": "Bearer t", "Content-Type": "application/json",
           "anthropic-version": "2023-06-01", "x-api-key": "t", "x-goog-api-key": "t"}
line = http.client.HTTPConnection("127.0.0.1", port)
for _ in range(calls):
    line.request("POST", path, json.dumps(body), headers)
    reply = line.getresponse()
    if stream:
        reply.read1(); print(time.monotonic())
    said = reply.read()
    assert reply.status == 200, said
"""
TEXT = "Some text of a page that a tool gave back. " * 20
TURNS = [{"role": "assistant" if n % 2 else "user", "content": f"{n} {TEXT}"} for n in range(11)]
CHAT = {"model": "m", "messages": [{"role": "system", "content": TEXT}, *TURNS]}
BODIES = {
    "/v1/chat/completions": CHAT,
    "/v1/responses": {"model": "m", "instructions": TEXT, "input": TURNS},
    "/v1/messages": {"model": "m", "max_tokens": 99, "system": TEXT, "messages": TURNS},
    "/v1beta/models/m:generateContent": {
        "contents": [
            {"role": "model" if n % 2 else "user", "parts": [{"text": turn["content"]}]}
            for n, turn in enumerate(TURNS)
        ]
    },
}


class Instant:
    """Answers at once; says when its first piece of text was there."""

    name = "m"

    def __init__(self) -> None:
        self.began: list[float] = []

    async def generate(self, messages: object, tools: object, options: object = None) -> Reply:
        if (heard := LISTENER.get()) is not None:
            heard(None)
            self.began.append(time.monotonic())
            heard("It was ")
            await asyncio.sleep(0.02)
            heard("in 1982.")
        usage = Usage(input_tokens=1, output_tokens=1, source="provider")
        message = Message(role="assistant", content="It was in 1982.")
        return Reply(message=message, finish_reason="stop", usage=usage)


@asynccontextmanager
async def proxy(model: Instant) -> AsyncIterator[int]:
    """The port of a proxy before the model."""
    state = EpisodeState(
        model=model, toolbox=ToolSet([]), strategy=None, limits=Limits(steps=None, tokens=None)
    )  # type: ignore[arg-type]
    state.meter.started_s = state.meter.clock()
    desk, stop, listener = Desk(state), asyncio.Event(), listening(0)
    app = Proxy(desk, "m", "t", mcp_app(desk))
    serving = asyncio.create_task(serve_app(app, listener, stop))
    try:
        yield listener.getsockname()[1]
    finally:
        stop.set()
        await serving


async def client(port: int, path: str, calls: int, how: str) -> list[float]:
    """What the client prints, after so many calls."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", CLIENT, str(port), path, str(calls), how,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    said, _ = await process.communicate(json.dumps(BODIES[path]).encode())
    assert process.returncode == 0
    return [float(line) for line in said.split()]


async def per_call() -> None:
    """CPU of this process for each call of a conversation of 12 messages."""
    for path in BODIES:
        rounds = []
        for _ in range(3):
            async with proxy(Instant()) as port:
                await client(port, path, 20, "whole")
                before = resource.getrusage(resource.RUSAGE_SELF)
                await client(port, path, CALLS, "whole")
                after = resource.getrusage(resource.RUSAGE_SELF)
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                rounds.append(1000 * used / CALLS)
        print(f"{path}: {statistics.median(rounds):.2f} ms CPU a call, of {len(rounds)} rounds")


async def first_piece() -> None:
    """From the first piece of text in the client of the model to the agent's socket."""
    model = Instant()
    async with proxy(model) as port:
        heard = await client(port, "/v1/chat/completions", 100, "stream")
    waits = sorted(1000 * (there - here) for here, there in zip(model.began, heard, strict=True))
    print(f"first piece: median {statistics.median(waits):.2f} ms, 95 % within {waits[94]:.2f} ms")


def crowd() -> None:
    """Twenty agents at once, of which one is killed while it works."""
    agent = Path(__file__).parents[1] / "tests/features/agents/agent.py"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        options = RunOptions(
            "time-puzzles", model="reference", conditions=("web",), limit=20, out=out,
            agents=(f"{sys.executable} {agent} slow {{prompt_file}}",), concurrency=20,
        )  # fmt: skip
        silent = Listener(lambda line: None, lambda *_: None, lambda *_: None)

        async def main() -> None:
            running = asyncio.create_task(start_run(options, silent))
            found: list[int] = []
            while len(found) < 60 and not running.done():
                await asyncio.wait([running], timeout=0.2)
                found = processes(agent)
            if found:
                os.kill(max(found), signal.SIGKILL)
            await running

        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        asyncio.run(main())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        episodes = [r.episode for _, r in Run(out).recordings(print)]
        ends = [e.failure or e.stop_reason for e in episodes]
        counts = {end: ends.count(end) for end in ends}
        print(
            f"20 agents at once: {len(episodes)} traces, {counts}, left: {len(processes(agent))} "
            f"processes; {time.monotonic() - began:.0f} s, {used:.0f} CPU-s of the agents"
        )


def processes(agent: Path) -> list[int]:
    """Those that have the agent's file in their command, and are not ours."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
        except OSError:
            continue
        if str(agent).encode() in words and int(name) != os.getpid():
            found.append(int(name))
    return found


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["call", "stream", "crowd"]
    if "call" in wanted:
        asyncio.run(per_call())
    if "stream" in wanted:
        asyncio.run(first_piece())
    if "crowd" in wanted:
        crowd()
