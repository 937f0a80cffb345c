"""An exam over HTTP: CPU per call above a bare SDK server, and many clients at once.

    python benchmarks/mcp_server.py [CLIENTS]

Starts `agent-env serve mcp --many --http 0` and a bare server of the official SDK with one tool
that answers at once. The official client calls both; CPU time is that of the server's process.
Then CLIENTS (50) clients sit an episode each at the same time; every call must be in a trace, and
every trace must replay.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp import Client

CALLS, CALLS_EACH = 400, 10
CALENDAR = {"operation": "difference", "date": "2024-01-01", "other_date": "2024-03-01"}
BARE = """
import asyncio, socket, sys
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool
import uvicorn
async def tools(context, params):
    return ListToolsResult(tools=[Tool(name="calendars", input_schema={"type": "object"})])
async def call(context, params):
    return CallToolResult(content=[TextContent(type="text", text="60 days")])
app = Server("bare", on_list_tools=tools, on_call_tool=call).streamable_http_app()
bound = socket.socket(); bound.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", file=sys.stderr, flush=True)
asyncio.run(uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve(sockets=[bound]))
"""


@contextmanager
def served(*command: str) -> Iterator[tuple[str, int]]:
    """The address and process of a server that tells its address on stderr."""
    process = subprocess.Popen(
        [sys.executable, *command], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://\S+/mcp", line):
                yield found[0], process.pid
                break
        else:
            raise SystemExit(f"{command} did not start")
    finally:
        process.terminate()
        process.communicate()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def begin(client: Client) -> dict[str, object]:
    question = await client.call_tool("next_question", {})
    return {"episode": question.structured_content["episode"]}


async def per_call(url: str, pid: int, is_exam: bool) -> float:
    """Milliseconds of the server's CPU for one call; the first ten calls are not counted."""
    async with Client(url) as client:
        spent = 0.0
        for episode in range(CALLS // CALLS_EACH + 1):
            handle = await begin(client) if is_exam else {}
            before = cpu_s(pid)
            for _ in range(CALLS_EACH):
                result = await client.call_tool("calendars", CALENDAR | handle)
                assert not result.is_error, result
            spent += cpu_s(pid) - before if episode else 0.0
    return spent / CALLS * 1000


async def sit(url: str) -> None:
    async with Client(url) as client:
        handle = await begin(client)
        for _ in range(5):
            await client.call_tool("calendars", CALENDAR | handle)
        await client.call_tool("submit_answer", {"answer": "MY ANSWER: None"} | handle)


async def sit_all(url: str, clients: int) -> None:
    await asyncio.gather(*(sit(url) for _ in range(clients)))


def main() -> None:
    clients = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        run = f"{folder}/run"
        exam = ("-m", "agent_env", "serve", "mcp", "time-puzzles", "--condition", "cal", "--limit",
                str(clients + CALLS), "--out", run, "--many", "--http", "0")  # fmt: skip
        with served("-c", BARE) as (url, pid):
            bare = asyncio.run(per_call(url, pid, is_exam=False))
        with served(*exam) as (url, pid):
            ours = asyncio.run(per_call(url, pid, is_exam=True))
            asyncio.run(sit_all(url, clients))
        print(f"CPU per call: bare {bare:.2f} ms, exam {ours:.2f} ms, {ours - bare:+.2f} ms")
        replayed = subprocess.run(
            [sys.executable, "-m", "agent_env", "replay", run, "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines = (line for trace in Path(run).glob("episodes/*/*.jsonl") for line in trace.open())
        kinds = Counter(json.loads(line)["kind"] for line in lines)
        print(f"{clients} clients: {kinds}")
        print(Counter(each["verdict"] for each in json.loads(replayed.stdout)["episodes"]))


if __name__ == "__main__":
    main()
