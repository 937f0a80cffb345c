"""The tools of a server, named so that none hides another or one of ours."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from agent_env.mcp.connection import START_S, Connection, McpError
from agent_env.records.mcp import McpServer, McpTool
from agent_env.worker.host import WorkerFailed, worker

if TYPE_CHECKING:
    from mcp_types import Tool

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
LONGEST_NAME = 64
DESCRIPTION = 8_000
"""Characters of a description that models get."""
SCHEMA = 100_000
"""Characters of a schema, as JSON."""


async def read_server(server: McpServer, connection: Connection) -> McpServer:
    """The record with what the open connection's server says of itself; names are still its own."""
    client = await connection.open() if not connection.is_open else connection.client
    try:
        async with asyncio.timeout(START_S):
            tools = [await _tool(each) for each in await connection.tools()]
    except TimeoutError as exc:
        raise McpError(f"the MCP server {server.name}: its list of tools takes too long") from exc
    twice = {name for name, count in Counter(tool.name for tool in tools).items() if count > 1}
    update = {
        "title": None if client.server_info is None else client.server_info.name,
        "version": None if client.server_info is None else client.server_info.version,
        "protocol": str(client.protocol_version),
        "tools": tuple(
            tool.model_copy(update={"problem": "its server lists the name twice"})
            if tool.name in twice
            else tool
            for tool in tools
        ),
    }
    return server.model_copy(update=update).with_digest()


async def _tool(tool: Tool) -> McpTool:
    hints = tool.annotations
    schema: dict[str, Any] = tool.input_schema
    text = tool.description or tool.title or ""
    return McpTool(
        name=tool.name,
        offered=tool.name,
        description=text if len(text) <= DESCRIPTION else f"{text[:DESCRIPTION]} […]",
        parameters=schema,
        is_repeatable=hints is not None and bool(hints.read_only_hint or hints.idempotent_hint),
        problem=await _problem(schema),
    )


async def _problem(schema: dict[str, Any]) -> str | None:
    """Why the schema is none that a model can be given."""
    if len(json.dumps(schema)) > SCHEMA:
        return f"its schema has more than {SCHEMA:,} characters"
    if schema.get("type") != "object":
        return f"its schema is not of an object, but of {schema.get('type')!r}"
    try:
        text = await worker("schemas").ask({"schema": schema})
    except WorkerFailed as exc:
        text = f"cannot be checked: the check {exc}"
    return f"its schema {text}" if text else None


def with_names(servers: Sequence[McpServer], taken: Collection[str]) -> tuple[McpServer, ...]:
    """The servers with names for models: a tool keeps its own where it is a valid name and nobody
    else has it; else it is prefixed with its server's. `taken` are the names of our tools."""
    plain = Counter(_valid(tool.name) for server in servers for tool in server.offered)
    used = set(taken)
    return tuple(
        server.model_copy(
            update={
                "tools": tuple(
                    tool.model_copy(update={"offered": _name(server, tool, plain, used)})
                    for tool in server.tools
                )
            }
        )
        for server in servers
    )


def _name(server: McpServer, tool: McpTool, plain: Counter[str], used: set[str]) -> str:
    stem = _valid(tool.name)
    if tool.problem is not None:
        return stem
    if plain[stem] > 1 or stem in used:
        stem = _valid(f"{server.name}_{stem}")
    name, number = stem, 2
    while name in used:
        end = f"_{number}"
        name, number = stem[: LONGEST_NAME - len(end)] + end, number + 1
    used.add(name)
    return name


def _valid(name: str) -> str:
    """The name with `_` for what models cannot call."""
    text = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:LONGEST_NAME].strip("_") or "tool"
    return text if NAME.fullmatch(text) else f"tool_{text}"[:LONGEST_NAME]


def keep_names(before: McpServer, now: McpServer, taken: Collection[str]) -> McpServer:
    """The server now, its tools under the names that they had in `before`."""
    old = {tool.name: tool.offered for tool in before.tools}
    rest = set(taken) | set(old.values())
    fresh = with_names([now], rest)[0]
    named = [
        tool.model_copy(update={"offered": old.get(tool.name, new.offered)})
        for tool, new in zip(now.tools, fresh.tools, strict=True)
    ]
    return now.model_copy(update={"tools": tuple(named)}).with_digest()
