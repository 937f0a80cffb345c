"""The MCP servers of a run: their options; read before it begins, open while it continues."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from agent_env.features.mcp.options import McpOptions, commands_by_name
from agent_env.features.mcp.records import Isolation, McpServer
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import TOOLS, Plugins, tool_names
from agent_env.sdk.records import ToolResult
from agent_env.sdk.run import Permit

if TYPE_CHECKING:
    from agent_env.features.mcp.hosts import Hosts, Recorded
    from agent_env.sdk.inside import RunFolder

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
"""As in records.McpServer."""


def servers_of(options: McpOptions) -> tuple[McpServer, ...]:
    """The servers as run.json keeps them, not asked yet; ConfigError says what is wrong."""
    commands = commands_by_name(options.servers)
    environment: dict[str, list[str]] = {}
    for text in options.environment:
        name, equals, value = text.partition("=")
        if not equals or not value or "=" in value:
            raise ConfigError(f"--mcp-env {text!r}: write NAME=VARIABLE, its name without a value")
        _check_known("--mcp-env", text, name, commands)
        environment.setdefault(name, []).append(value)
    modes: dict[str, Isolation] = {}
    for text in options.isolation:
        name, _, mode = text.rpartition("=")
        if name:
            _check_known("--mcp-isolation", text, name, commands)
        known = next((each for each in get_args(Isolation) if each == mode), None)
        if known is None:
            raise ConfigError(f"--mcp-isolation {text}: write run or episode")
        modes[name] = known
    return tuple(
        _at(
            command,
            McpServer(
                name=name if NAME.fullmatch(name) else _refuse(name),
                environment=tuple(environment.get(name, ())),
                isolation=modes.get(name, modes.get("", "run")),
                sandboxed=options.sandboxed,
            ),
        )
        for name, command in commands.items()
    )


def _at(command: str | Sequence[str], like: McpServer) -> McpServer:
    """The server `like` at a command or URL; ConfigError where it is neither."""
    name = like.name
    if isinstance(command, str) and command.startswith(("http://", "https://")):
        parts = urlsplit(command)
        if parts.username or parts.password:
            raise ConfigError(f"--mcp {name}: a URL with a password would be stored in run.json")
        if like.sandboxed or like.environment:
            raise ConfigError(
                f"--mcp {name} is a URL: --mcp-sandbox and --mcp-env are for servers that we start"
            )
        return like.model_copy(update={"url": command, "command": ()})
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as exc:
        raise ConfigError(f"--mcp {name}: {command!r} is not a command: {exc}") from exc
    if not words:
        raise ConfigError(f"--mcp {name}: write NAME=COMMAND or NAME=http://HOST:PORT/mcp")
    return like.model_copy(update={"command": words, "url": None})


def _refuse(name: str) -> str:
    raise ConfigError(
        f"--mcp {name!r}: a server's name is a letter, then letters, digits, _ and -, at most 32"
    )


def _check_known(option: str, text: str, name: str, servers: Iterable[str]) -> None:
    if name not in servers:
        names = ", ".join(servers) or "none; name one by --mcp"
        raise ConfigError(f"{option} {text}: there is no MCP server '{name}', but {names}")


LOGS = "mcp"
"""Folder of the servers' logs in a run's folder."""


async def read_servers(
    servers: Sequence[McpServer], note: Callable[[str], None], plugins: Plugins
) -> tuple[McpServer, ...]:
    """The servers with what they say of themselves, asked now and left again; their tools have
    names that none of ours has. ConfigError for one that cannot be had."""
    if not servers:
        return ()
    from agent_env.features.mcp.hosts import with_names
    from agent_env.sdk.run import check_sdk

    check_sdk()
    if any(server.sandboxed for server in servers):
        from agent_env.sdk.inside import choose_sandbox

        await choose_sandbox("namespaces", plugins)  # refused where it does not hold here
    read = await asyncio.gather(*(_read(server, plugins.permit) for server in servers))
    for server in read:
        for tool in server.tools:
            if tool.problem is not None:
                note(f"left out mcp:{server.name}/{tool.name}: {tool.problem}")
        if not server.offered:
            raise ConfigError(f"--mcp {server.name}: the server offers no tool that can be used")
    return with_names(read, {*tool_names(), *TOOLS.names()})


async def _read(server: McpServer, permit: Permit) -> McpServer:
    from agent_env.features.mcp.connection import Connection, McpError
    from agent_env.features.mcp.hosts import read_server
    from agent_env.features.mcp.transport import check_command, environment_of, stdio_transport

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
    before: Sequence[McpServer], note: Callable[[str], None], plugins: Plugins
) -> tuple[McpServer, ...]:
    """The servers of a run as they are now; tools keep the names that they have in it."""
    from agent_env.features.mcp.hosts import keep_names

    taken = {*tool_names(), *TOOLS.names()}
    now = await read_servers(before, note, plugins)
    return tuple(keep_names(was, each, taken) for was, each in zip(before, now, strict=True))


def open_hosts(
    folder: RunFolder,
    servers: Sequence[McpServer],
    stack: AsyncExitStack,
    note: Callable[[str], None],
    permit: Permit,
) -> Hosts:
    """What keeps the run's servers; they are ended with the stack."""
    from agent_env.features.mcp.hosts import Hosts
    from agent_env.sdk.run import check_sdk

    check_sdk()
    logs = folder.place(LOGS)
    logs.mkdir(exist_ok=True)
    for server in servers:
        folder.place(f"{LOGS}/{server.name}.log")
    recorded = _recorded(folder) if folder.manifest.parent is not None else None
    hosts = Hosts(servers, logs, note, permit, recorded)
    stack.push_async_callback(hosts.close)
    return hosts


def _recorded(folder: RunFolder) -> Recorded:
    """The calls of the episode that the run's were forked from, with what they gave."""
    from agent_env.features.mcp.hosts import call_key
    from agent_env.sdk.inside import read_parent

    results: dict[tuple[str, str], ToolResult] = {}
    names: dict[str | None, tuple[str, str]] = {}
    for message in read_parent(folder).messages:
        for call in message.tool_calls:
            with suppress(ValueError):
                names[call.id] = call_key(call.name, json.loads(call.arguments or "{}"))
        if message.role == "tool" and message.tool_call_id in names:
            results[names[message.tool_call_id]] = ToolResult(output=message.content)
    return results
