"""Options of a run's MCP servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from agent_env.sdk.commands import Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.inside import MCP
from agent_env.sdk.records import Reach

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
            reach=Reach.NOTHING,
        ),
    ] = ()
    sandboxed: Annotated[
        bool,
        Opt(
            "Run servers in our namespaces: no network, no files but their own.",
            MCP,
            "--mcp-sandbox",
            reach=Reach.COMMAND,
        ),
    ] = False
