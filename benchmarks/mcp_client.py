"""MCP servers as tools: our CPU per call beside the SDK's own, replay, and many episodes at once.

    python benchmarks/mcp_client.py [EPISODES]

A server written without the SDK answers over stdio, in a process of its own, so that its work is
not ours. Calls: the same ones by the official client alone. Replay: EPISODES (60) of 4 calls,
beside as many of our own tool `calendars`. Then 50 episodes at once over one HTTP server of the
SDK; every call must be answered and in its trace.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

import agent_env as ae
from agent_env.features.mcp.hosts import Hosts
from agent_env.features.mcp.records import McpServer
from agent_env.features.mcp.servers import read_servers
from agent_env.protocols import ReplyOptions
from agent_env.records.schema import Message, Reply, ToolCall, ToolSpec
from agent_env.wiring.trust import own_call, own_plugins

CALLS, STEPS = 400, 4
SERVER = (
    sys.executable,
    "-I",
    "-S",
    str(Path(__file__).parents[1] / "tests/features/mcp/by_hand.py"),
)
CALENDAR = {"operation": "difference", "date": "2024-01-01", "other_date": "2024-03-01"}
HTTP = """
import socket, sys, asyncio, uvicorn
from mcp.server.mcpserver import MCPServer
app = MCPServer("far")
@app.tool()
def echo(text: str) -> str:
    "Says it again."
    return text
bound = socket.socket(); bound.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
served = app.streamable_http_app(stateless_http=True)
asyncio.run(uvicorn.Server(uvicorn.Config(served, log_level="warning")).serve(sockets=[bound]))
"""


class Caller:
    """Calls the first tool that it is offered, STEPS times, then answers."""

    name = "caller"

    def __init__(self, arguments: Callable[[int], dict[str, Any]]) -> None:
        self._arguments = arguments

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        options: ReplyOptions = ReplyOptions(),
    ) -> Reply:
        step = sum(message.role == "assistant" for message in messages)
        if step == STEPS:
            return Reply(message=Message(role="assistant", content="MY ANSWER: None"))
        arguments = json.dumps(self._arguments(step))
        call = ToolCall(id=f"call_{step}", name=tools[0].name, arguments=arguments)
        return Reply(message=Message(role="assistant", content="", tool_calls=(call,)))


async def cpu_ms(call: Callable[[int], Awaitable[Any]]) -> float:
    """CPU milliseconds of this process for one call, one after the other."""
    for at in range(20):
        await call(at)
    before = time.process_time()
    for at in range(CALLS):
        await call(at)
    return (time.process_time() - before) * 1000 / CALLS


async def bare() -> float:
    parameters = StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]))
    async with Client(parameters) as client:
        return await cpu_ms(lambda at: client.call_tool("echo", {"text": f"word {at}"}))


async def ours(folder: Path) -> float:
    (server,) = await read_servers([McpServer(name="hand", command=SERVER)], print, own_plugins())
    hosts = Hosts([server], folder, print, own_call())
    try:
        async with hosts.episode() as episode:
            tool = episode.tool(server.traits(server.offered[0]))
            assert tool is not None
            return await cpu_ms(lambda at: tool.run({"text": f"word {at}"}))
    finally:
        await hosts.close()


async def run_of(folder: Path, condition: str, model: Caller, limit: int, **more: Any) -> ae.Run:
    return await ae.run(
        "time-puzzles", model=model, conditions=[condition], limit=limit, out=folder,
        preflight="off", progress=False, **more,
    )  # fmt: skip


def replay_ms(run: ae.Run) -> float:
    before = time.process_time()
    verdicts = {result.verdict for result in run.replay()}
    assert verdicts == {"same"}, verdicts
    return (time.process_time() - before) * 1000


def calls_in(run: ae.Run) -> list[str]:
    """The outputs of all calls, from the traces."""
    lines = [
        json.loads(line)
        for trace in Path(run.path).glob("episodes/*/*.jsonl")
        for line in trace.read_text().splitlines()
    ]
    return [each["result"]["output"] for each in lines if each["kind"] == "tool_called"]


@contextmanager
def http_server() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", HTTP], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = next(line for line in process.stderr if re.search(r"http://\S+/mcp", line))
        yield line.strip()
    finally:
        process.terminate()
        process.wait()


async def main(episodes: int, folder: Path) -> tuple[ae.Run, ae.Run]:
    sdk, own = min([await bare() for _ in range(3)]), min([await ours(folder) for _ in range(3)])
    print(f"CPU per call over stdio: SDK {sdk:.2f} ms, ours {own:.2f} ms, {own - sdk:+.2f} ms")
    words = Caller(lambda step: {"text": f"word {step}"})
    mcp = await run_of(folder / "mcp", "mcp:hand.echo", words, episodes, mcp={"hand": list(SERVER)})
    cal = await run_of(folder / "cal", "cal", Caller(lambda step: CALENDAR), episodes)
    with http_server() as url:
        began = time.perf_counter()
        many = await run_of(folder / "many", "mcp:far", words, 50, mcp={"far": url}, concurrency=50)
        took = time.perf_counter() - began
    outputs = calls_in(many)
    answered = sum("word" in output and "Error" not in output for output in outputs)
    print(f"50 episodes at once over HTTP: {answered} of {50 * STEPS} calls answered, {took:.1f} s")
    return mcp, cal


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    with tempfile.TemporaryDirectory() as name:
        first, second = asyncio.run(main(number, Path(name)))
        for run in (first, second):
            replay_ms(run)  # what is loaded once
        pairs = [(replay_ms(first), replay_ms(second)) for _ in range(3)]
        mcp_ms, cal_ms = (min(each) / (number * STEPS) for each in zip(*pairs, strict=True))
        print(f"CPU of replay per call: mcp {mcp_ms:.2f} ms, calendars {cal_ms:.2f} ms")
