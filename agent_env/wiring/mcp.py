"""The MCP servers of a run: their options; read before it begins, open while it continues."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, get_args
from urllib.parse import urlsplit

from agent_env.errors import ConfigError
from agent_env.permits import Permit
from agent_env.records.manifest import Manifest
from agent_env.records.mcp import Isolation, McpServer
from agent_env.records.options import MCP, Opt
from agent_env.records.reach import Reach
from agent_env.records.schema import ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.registry import Plugins
from agent_env.tasks.modifiers import bare_name
from agent_env.tasks.tool_registry import TOOLS, tool_names

if TYPE_CHECKING:
    from agent_env.episodes.run_folder import RunFolder
    from agent_env.mcp.hosts import Hosts, Recorded

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
"""As in records.mcp.McpServer."""
Commands = Mapping[str, str | Sequence[str]]
"""A command or a URL, by the name of the server."""


def commands_by_name(texts: Sequence[str] | Commands) -> Commands:
    """`time=mcp-server-time` and the like, by name; ConfigError where one is no such thing."""
    if isinstance(texts, Mapping):
        return dict(texts)
    commands: dict[str, str | Sequence[str]] = {}
    for text in texts:
        name, equals, command = text.partition("=")
        if not equals:
            raise ConfigError(f"--mcp {text!r}: write NAME=COMMAND or NAME=http://HOST:PORT/mcp")
        if name in commands:
            raise ConfigError(f"--mcp {name}: the name appears twice; give each server its own")
        commands[name] = command
    return commands


@dataclass(frozen=True, slots=True)
class McpOptions:
    """The MCP servers whose tools conditions may name."""

    servers: Annotated[
        Commands | tuple[str, ...],
        Opt(
            "A server whose tools conditions name as mcp:NAME or mcp:NAME/TOOL: a command that "
            "starts it, which runs with your rights, or the URL of one. Repeatable.",
            MCP,
            "--mcp",
            metavar="NAME=COMMAND|URL",
            manifest="mcp",
            typed=list[str],
            default=None,
            read=commands_by_name,
            reach=Reach.COMMAND,
        ),
    ] = ()
    """As texts NAME=COMMAND, or by name."""
    environment: Annotated[
        tuple[str, ...],
        Opt(
            "A variable of yours that the server NAME gets, beside PATH and LANG. Repeatable.",
            MCP,
            "--mcp-env",
            metavar="NAME=VARIABLE",
            manifest="mcp",
            reach=Reach.KEY,
        ),
    ] = ()
    isolation: Annotated[
        tuple[str, ...],
        Opt(
            "run (the default): all episodes share a server; episode: each has its own. "
            "Repeatable.",
            MCP,
            "--mcp-isolation",
            metavar="[NAME=]run|episode",
            manifest="mcp",
            reach=Reach.NOTHING,
        ),
    ] = ()
    sandboxed: Annotated[
        bool,
        Opt(
            "Run servers in our namespaces: no network, no files but their own.",
            MCP,
            "--mcp-sandbox",
            manifest="mcp",
            reach=Reach.COMMAND,
        ),
    ] = False


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


def unread_tools(options: McpOptions, conditions: Iterable[str]) -> dict[str, ToolTraits]:
    """Stand-ins for the tools of servers that are not asked yet, so that conditions can be checked
    by their names: one for each server, and each tool that a condition names."""
    parts = [part.strip() for text in conditions for part in bare_name(text).split("+")]
    tools: dict[str, ToolTraits] = {}
    for server in commands_by_name(options.servers):
        named = (re.fullmatch(rf"mcp:{re.escape(server)}[/.](.+)", part) for part in parts)
        for tool in (f"{server}_tools", *(match[1] for match in named if match is not None)):
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", tool)
            tools[name] = ToolTraits.model_construct(name=name, mcp=f"{server}/{tool}")
    return tools


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
    from agent_env.mcp.connection import check_sdk
    from agent_env.mcp.hosts import with_names

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
    return with_names(read, {*tool_names(), *TOOLS.names()})


async def _read(server: McpServer, permit: Permit) -> McpServer:
    from agent_env.mcp.connection import Connection, McpError
    from agent_env.mcp.hosts import read_server
    from agent_env.mcp.transport import check_command, environment_of, stdio_transport

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
    from agent_env.mcp.hosts import keep_names

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

    results: dict[tuple[str, str], ToolResult] = {}
    names: dict[str | None, tuple[str, str]] = {}
    for message in read_parent(folder).messages:
        for call in message.tool_calls:
            with suppress(ValueError):
                names[call.id] = call_key(call.name, json.loads(call.arguments or "{}"))
        if message.role == "tool" and message.tool_call_id in names:
            results[names[message.tool_call_id]] = ToolResult(output=message.content)
    return results
