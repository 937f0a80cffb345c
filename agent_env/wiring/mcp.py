"""The MCP servers of a run: read before it begins, kept while it goes on."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.permits import Permit
from agent_env.records.manifest import Manifest
from agent_env.records.mcp import McpServer
from agent_env.records.schema import ToolResult
from agent_env.registry import Plugins
from agent_env.tasks.tool_registry import TOOLS, tool_names

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.mcp.hosts import Hosts, Recorded

LOGS = "mcp"
"""Folder of the servers' logs in a run's folder."""


async def read_servers(
    servers: Sequence[McpServer],
    note: Callable[[str], None],
    plugins: Plugins,
    taken: Collection[str] = (),
) -> tuple[McpServer, ...]:
    """The servers with what they say of themselves, asked now and left again; their tools have
    names that none of ours has, nor any of `taken`. ConfigError for one that cannot be had."""
    if not servers:
        return ()
    from agent_env.mcp.connection import check_sdk
    from agent_env.mcp.listing import with_names

    check_sdk()
    if any(server.sandboxed for server in servers):
        from agent_env.wiring.sandboxes import choose_sandbox

        await choose_sandbox("namespaces", plugins)  # refused where it does not hold here
    read = await asyncio.gather(*(_read(server, plugins.permit) for server in servers))
    for server in read:
        for tool in server.tools:
            if tool.problem is not None:
                note(f"left out mcp:{server.name}/{tool.name}: {tool.problem}")
        if not server.offered:
            raise ConfigError(f"--mcp {server.name}: the server offers no tool that can be used")
    return with_names(read, {*tool_names(), *TOOLS.names(), *taken})


async def _read(server: McpServer, permit: Permit) -> McpServer:
    from agent_env.mcp.connection import Connection, McpError
    from agent_env.mcp.launch import check_command, environment_of
    from agent_env.mcp.listing import read_server
    from agent_env.mcp.transport import stdio_transport

    check_command(server)
    environment_of(server, permit)
    with TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        connection = Connection(
            server, lambda fault: stdio_transport(server, log, fault, permit), permit
        )
        try:
            await connection.open()
            return await read_server(server, connection)
        except McpError as exc:
            raise ConfigError(f"--mcp {server.name}: {exc}{_last_line(log)}") from exc
        finally:
            await connection.close()


def _last_line(log: Path) -> str:
    """What the server wrote last on stderr, for users."""
    with suppress(OSError):
        lines = [each for each in log.read_text(errors="replace").splitlines() if each.strip()]
        return f"; it wrote last: {lines[-1].strip()[:300]}" if lines else ""
    return ""


async def servers_now(
    manifest: Manifest, note: Callable[[str], None], plugins: Plugins
) -> tuple[McpServer, ...]:
    """The manifest's servers as they are now; tools keep the names that they have in the run."""
    from agent_env.mcp.listing import keep_names

    taken = {*tool_names(), *TOOLS.names()}
    now = await read_servers(manifest.mcp, note, plugins)
    return tuple(
        keep_names(before, each, taken) for before, each in zip(manifest.mcp, now, strict=True)
    )


def open_hosts(
    folder: RunFolder,
    manifest: Manifest,
    stack: AsyncExitStack,
    note: Callable[[str], None],
    permit: Permit,
) -> Hosts | None:
    """What keeps the run's servers; they are ended with the stack. None without any."""
    if not manifest.mcp:
        return None
    from agent_env.mcp.connection import check_sdk
    from agent_env.mcp.hosts import Hosts

    check_sdk()
    logs = folder.place(LOGS)
    logs.mkdir(exist_ok=True)
    for server in manifest.mcp:
        folder.place(f"{LOGS}/{server.name}.log")
    recorded = _recorded(folder) if manifest.parent is not None else None
    hosts = Hosts(manifest.mcp, logs, note, permit, recorded)
    stack.push_async_callback(hosts.close)
    return hosts


def _recorded(folder: RunFolder) -> Recorded:
    """The calls of the episode that the run's were forked from, with what they gave."""
    from agent_env.episodes.rerun.fork import read_parent
    from agent_env.mcp.hosts import call_key

    found: dict[tuple[str, str], ToolResult] = {}
    names: dict[str | None, tuple[str, str]] = {}
    for message in read_parent(folder).messages:
        for call in message.tool_calls:
            with suppress(ValueError):
                names[call.id] = call_key(call.name, json.loads(call.arguments or "{}"))
        if message.role == "tool" and message.tool_call_id in names:
            found[names[message.tool_call_id]] = ToolResult(output=message.content)
    return found
