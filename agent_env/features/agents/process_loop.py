"""Drives an episode by an agent's process: starts it shut in, answers its calls, reads its answer.

The agent sees its own installation, its home with the files that its description names, and one
address. All of it is killed at the end of the episode, however that comes. An agent that asks
nothing for IDLE_S, or goes on for REFUSED_S after a limit was reached, has ended too.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import agent_env
from agent_env.features.agents.desk import Desk
from agent_env.features.agents.proxy import Proxy, Room
from agent_env.features.serve.hosting import serve_app
from agent_env.sdk.models import short_name
from agent_env.sdk.records import Message, replace_file
from agent_env.sdk.run import (
    AGENT_PORT,
    AgentEnding,
    ConfinedAgent,
    EpisodeState,
    Outcome,
    start_agent,
)

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ListToolsResult

    from agent_env.features.agents.desk import Desk


def mcp_app(desk: Desk) -> Any:
    """An ASGI app with the server at /mcp. ConfigError where the extra `mcp` is not installed."""
    from agent_env.sdk.run import check_sdk

    check_sdk()
    from mcp.server.lowlevel import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        specs = desk.attempt.toolbox.specs
        return ListToolsResult(
            tools=[
                Tool(name=each.name, description=each.description, input_schema=each.parameters)
                for each in specs
            ]
        )

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        arguments = json.dumps(dict(params.arguments or {}), ensure_ascii=False)
        result = await desk.call(params.name, arguments)
        content = TextContent(type="text", text=result.output)
        return CallToolResult(content=[content], is_error=result.error is not None)

    server = Server(
        "env", version=agent_env.__version__, on_list_tools=list_tools, on_call_tool=call_tool
    )
    return server.streamable_http_app()


def in_words(desk: Desk, post: str) -> str:
    """How an agent that has a shell and no MCP calls the tools; empty where there are none."""
    specs = desk.attempt.toolbox.specs
    if not specs:
        return ""
    lines = [f"You have these tools in the shell. Call one by: {post} NAME 'JSON of arguments'"]
    for spec in specs:
        lines.append(f"\n{spec.name}: {spec.description}\nArguments: {json.dumps(spec.parameters)}")
    return "\n".join(lines)


if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from agent_env.sdk.records import AgentUse, Sample, StopReason
    from agent_env.sdk.run import Loop

IDLE_S = 600.0
REFUSED_S = 20.0
MOST_PRINTED = 4 << 20
"""Bytes kept of what an agent prints, the last ones."""
PROMPT, HOME = "prompt.txt", "/sandbox/home"
TOOL = """\
#!/usr/bin/env python3
import sys, urllib.error, urllib.request
key = {{"Authorization": "Bearer {token}"}}
request = urllib.request.Request("{url}/tools/" + sys.argv[1], sys.argv[2].encode(), key)
try:
    print(urllib.request.urlopen(request).read().decode())
except urllib.error.HTTPError as error:
    print(error.read().decode())
    sys.exit(1)
"""
"""The program `tool` of agents that have a shell and no MCP."""


def loop(use: AgentUse, model: str, logs: Path | None) -> Loop:
    """What drives the agent's episodes; it calls the model by a short form of this name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", short_name(model))
    return ProcessLoop(use, name, logs)


@dataclass(frozen=True, slots=True)
class ProcessLoop:
    """The agent in place of our own loop; one for all of its episodes."""

    use: AgentUse
    model: str
    logs: Path | None
    room: Room = field(default_factory=Room)

    async def run(self, sample: Sample, attempt: EpisodeState) -> Outcome:
        """Drive one episode to its end; what the seams raise passes through."""
        start = tuple(attempt.strategy.start(sample))
        attempt.messages.extend(start)
        attempt.meter.started_s = attempt.meter.clock()
        desk = Desk(attempt, self.use.is_bare)
        printed, errors = bytearray(), bytearray()
        ending: AgentEnding | None = None
        try:
            async with asyncio.timeout(attempt.seconds_left()) as timer:
                with attempt.meter.timed(timer):
                    ending = await self._drive(desk, start, printed, errors)
        except TimeoutError:
            reason: StopReason = "time"
        else:
            reason = "answered" if ending.code == 0 else "crashed"
            if desk.refused is not None and ending.code is not None:
                reason = desk.refused
        finally:
            self._log(attempt, bytes(errors + printed))
        answer = self._answer(ending, printed, attempt)
        return Outcome(answer, reason, tuple(dict.fromkeys(attempt.citations)))

    async def _drive(
        self, desk: Desk, start: Sequence[Message], printed: bytearray, errors: bytearray
    ) -> AgentEnding:
        """The agent from its start to its end; TimeoutError where it does not end by itself."""
        token = secrets.token_hex(16)
        command, variables, files = self._filled(desk, start, token)
        answer = self.use.answer if self.use.answer not in ("reply", "stdout") else None
        agent = await start_agent(command, variables, files, answer, self.use.reads)
        try:
            app = Proxy(desk, self.model, token, mcp_app(desk), self.room)
            async with _served(app, agent), _collected(agent, printed, errors):
                ended = asyncio.create_task(agent.ended())
                try:
                    return await self._watched(desk, ended)
                finally:
                    ended.cancel()
        finally:
            await agent.close()
            agent.listener.close()

    async def _watched(self, desk: Desk, ended: asyncio.Task[AgentEnding]) -> AgentEnding:
        while True:
            waits = (ended, desk.failed)
            await asyncio.wait(waits, timeout=1.0, return_when=asyncio.FIRST_COMPLETED)
            if desk.failed.done():
                desk.failed.result()
            if ended.done():
                return ended.result()
            now = time.monotonic()
            if desk.refused_s is not None and now - desk.refused_s > REFUSED_S:
                return AgentEnding(code=None, answer=None)
            if not desk.asking and now - desk.heard_s > IDLE_S:
                raise TimeoutError

    def _filled(
        self, desk: Desk, start: Sequence[Message], token: str
    ) -> tuple[list[str], dict[str, str], dict[str, str]]:
        """Command, environment and files of this episode."""
        url = f"http://127.0.0.1:{AGENT_PORT}"
        prompt = "\n\n".join(message.content for message in start)
        values = {
            "url": url,
            "openai_url": f"{url}/v1",
            "mcp_url": f"{url}/mcp",
            "token": token,
            "model": self.model,
            "home": HOME,
            "prompt_file": f"{HOME}/{PROMPT}",
            "tools": in_words(desk, f"python3 {HOME}/tool"),
            "prompt": prompt,
        }
        use = self.use
        names = {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", "NO_COLOR": "1"}
        variables = names | {name: _fill(text, values) for name, text in use.variables.items()}
        files = {name: _fill(text, values) for name, text in use.files.items()}
        files |= {PROMPT: prompt, "tool": TOOL.format(url=url, token=token)}
        command = [_fill(word, values) for word in use.command]
        return [shutil.which(command[0]) or command[0], *command[1:]], variables, files

    def _answer(
        self, ending: AgentEnding | None, printed: bytearray, attempt: EpisodeState
    ) -> str | None:
        """Where the description says that it is; else the text of the last reply."""
        text = None if ending is None else ending.answer
        if self.use.answer == "stdout":
            text = printed.decode(errors="replace")
        if text is not None and text.strip():
            return text
        texts = (m.content for m in reversed(attempt.messages) if m.role == "assistant")
        return next(filter(None, texts), None)

    def _log(self, attempt: EpisodeState, printed: bytes) -> None:
        if self.logs is not None and printed:
            self.logs.mkdir(exist_ok=True)
            file = self.logs / f"{attempt.name.replace('/', '.')}.txt"
            replace_file(file, printed, mode=0o600)


def _fill(text: str, values: dict[str, str]) -> str:
    """The text with `{name}` replaced, the prompt last: what is in it is not a placeholder."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@asynccontextmanager
async def _served(app: Any, agent: ConfinedAgent) -> AsyncIterator[None]:
    """The app answers on the agent's socket."""
    stop = asyncio.Event()
    serving = asyncio.create_task(serve_app(app, agent.listener, stop))
    try:
        yield
    finally:
        stop.set()
        await serving


@asynccontextmanager
async def _collected(
    agent: ConfinedAgent, printed: bytearray, errors: bytearray
) -> AsyncIterator[None]:
    async def collect(stream: asyncio.StreamReader | None, keeps: bytearray) -> None:
        while stream is not None and (piece := await stream.read(1 << 16)):
            keeps += piece
            del keeps[:-MOST_PRINTED]

    inner = agent.process.inner
    reading = [
        asyncio.create_task(collect(inner.stdout, printed)),
        asyncio.create_task(collect(inner.stderr, errors)),
    ]
    try:
        yield
    finally:
        await agent.close()
        await asyncio.gather(*reading)
