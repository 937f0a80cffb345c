"""What a user asks of MCP servers, checked before anything is started."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, get_args
from urllib.parse import urlsplit

from agent_env.errors import ConfigError
from agent_env.records.mcp import Isolation, McpServer
from agent_env.records.options import MCP, Opt
from agent_env.records.reach import Reach
from agent_env.records.tool_traits import ToolTraits

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
            raise ConfigError(f"--mcp {name}: the name stands twice; give each server its own")
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
    timeout_s: Annotated[
        float,
        Opt(
            "Seconds for one call of their tools.",
            MCP,
            "--mcp-timeout",
            min=0.1,
            manifest="mcp",
            reach=Reach.NOTHING,
        ),
    ] = 60.0


def servers_of(options: McpOptions) -> tuple[McpServer, ...]:
    """The servers as run.json keeps them, not asked yet; ConfigError says what is wrong."""
    commands = commands_by_name(options.servers)
    environment = _by_server("--mcp-env", options.environment, commands)
    modes = _modes(options.isolation, commands)
    return tuple(
        server_at(
            name,
            command,
            McpServer(
                name=name if NAME.fullmatch(name) else _refuse(name),
                environment=tuple(environment.get(name, ())),
                isolation=modes.get(name, modes.get("", "run")),
                sandboxed=options.sandboxed,
                timeout_s=options.timeout_s,
            ),
        )
        for name, command in commands.items()
    )


def unread_tools(options: McpOptions, conditions: Iterable[str]) -> dict[str, ToolTraits]:
    """Stand-ins for the tools of servers that are not asked yet, so that conditions can be checked
    by their names: one for each server, and each tool that a condition names."""
    parts = [part.strip() for text in conditions for part in text.partition("~")[0].split("+")]
    tools: dict[str, ToolTraits] = {}
    for server in commands_by_name(options.servers):
        named = (re.fullmatch(rf"mcp:{re.escape(server)}[/.](.+)", part) for part in parts)
        for tool in (f"{server}_tools", *(match[1] for match in named if match is not None)):
            name = re.sub(r"[^A-Za-z0-9_-]+", "_", tool)
            tools[name] = ToolTraits.model_construct(name=name, mcp=f"{server}/{tool}")
    return tools


def server_at(name: str, command: str | Sequence[str], like: McpServer) -> McpServer:
    """The server `like` at a command or URL; ConfigError where it is neither."""
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
        raise ConfigError(f"--mcp {name}: {command!r} is no command: {exc}") from exc
    if not words:
        raise ConfigError(f"--mcp {name}: write NAME=COMMAND or NAME=http://HOST:PORT/mcp")
    return like.model_copy(update={"command": words, "url": None})


def _refuse(name: str) -> str:
    raise ConfigError(
        f"--mcp {name!r}: a server's name is a letter, then letters, digits, _ and -, at most 32"
    )


def _by_server(option: str, texts: Iterable[str], servers: Iterable[str]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not value or "=" in value:
            raise ConfigError(f"{option} {text!r}: write NAME=VARIABLE, its name without a value")
        _check_known(option, text, name, servers)
        values.setdefault(name, []).append(value)
    return values


def _modes(texts: Iterable[str], servers: Iterable[str]) -> dict[str, Isolation]:
    """By server; under the empty name that of all others."""
    modes: dict[str, Isolation] = {}
    for text in texts:
        name, _, mode = text.rpartition("=")
        if name:
            _check_known("--mcp-isolation", text, name, servers)
        known = next((each for each in get_args(Isolation) if each == mode), None)
        if known is None:
            raise ConfigError(f"--mcp-isolation {text}: write run or episode")
        modes[name] = known
    return modes


def _check_known(option: str, text: str, name: str, servers: Iterable[str]) -> None:
    if name not in servers:
        names = ", ".join(servers) or "none; name one by --mcp"
        raise ConfigError(f"{option} {text}: there is no MCP server '{name}', but {names}")
