"""MCP: the client, which lets a run's conditions use the tools of MCP servers.

`servers` reads them for a run and opens them, `hosts` keeps them running, `connection` speaks the
protocol by the official SDK (the extra `mcp`, imported where it is used), `transport` carries
messages and bounds them, `records` is what run.json has of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from agent_env.features.mcp.options import McpOptions, commands_by_name
from agent_env.features.mcp.records import McpSettings, mcp_changes
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature
from agent_env.sdk.inside import (
    MOST_TOOLS,
    OutsideSetting,
    Plugins,
    Tools,
    ToolTraits,
    bare_name,
)
from agent_env.sdk.run import Permit

if TYPE_CHECKING:
    from agent_env.features.mcp.hosts import Hosts
    from agent_env.sdk.inside import RunFolder

PREFIX = "mcp:"
"""Begins the part of a server's tools."""


class McpTools:
    """The servers as the source of a run's tools."""

    prefix = PREFIX

    def stand_ins(self, options: McpOptions, conditions: Iterable[str]) -> dict[str, ToolTraits]:
        """One for each server, and each tool that a condition names."""
        parts = [part.strip() for text in conditions for part in bare_name(text).split("+")]
        tools: dict[str, ToolTraits] = {}
        for server in commands_by_name(options.servers):
            named = (re.fullmatch(rf"mcp:{re.escape(server)}[/.](.+)", part) for part in parts)
            for tool in (f"{server}_tools", *(match[1] for match in named if match is not None)):
                name = re.sub(r"[^A-Za-z0-9_-]+", "_", tool)
                source = f"{PREFIX}{server}/{tool}"
                tools[name] = ToolTraits.model_construct(name=name, source=source)
        return tools

    def part(self, part: str, text: str, tools: Tools) -> tuple[str, tuple[ToolTraits, ...]]:
        """`mcp:SERVER` with all its tools, or one of them by its own name or that for models:
        `mcp:SERVER/TOOL`, which is `mcp:SERVER.NAME` in the condition's name."""
        server, *rest = re.split("[/.]", part.removeprefix(PREFIX), maxsplit=1)
        traits = [each for each in tools.values() if each.origin == PREFIX + server]
        if not traits:
            origins = dict.fromkeys(each.origin for each in tools.values() if each.source)
            known = ", ".join(origins) or "none"
            raise ConfigError(
                f"condition '{text}': there is no MCP server '{server}'; known: {known}; name it "
                f"by --mcp {server}=COMMAND"
            )
        if not rest:
            if len(traits) > MOST_TOOLS:
                raise ConfigError(
                    f"condition '{text}': {server} offers {len(traits)} tools, and models take at "
                    f"most {MOST_TOOLS}; name those that you want: mcp:{server}/{traits[0].name}"
                )
            return part, tuple(traits)
        for each in traits:
            if rest[0] in (each.name, (each.source or "").partition("/")[2]):
                return f"{PREFIX}{server}.{each.name}", (each,)
        names = {each.name: None for each in traits[:20]}
        raise ConfigError(
            f"condition '{text}': the MCP server {server} offers no tool '{rest[0]}'; it offers "
            f"{', '.join(names)}{', …' if len(traits) > len(names) else ''}"
        )

    async def read(
        self, options: McpOptions, note: Callable[[str], None], plugins: Plugins
    ) -> McpSettings | None:
        """The servers with what they say of themselves, asked now and left again."""
        if options == McpOptions():
            return None
        from agent_env.features.mcp.servers import read_servers, servers_of

        servers = await read_servers(servers_of(options), note, plugins)
        return McpSettings(servers=servers) if servers else None

    def tools(self, settings: McpSettings) -> dict[str, ToolTraits]:
        """By the names that models use."""
        return {
            tool.offered: each.traits(tool) for each in settings.servers for tool in each.offered
        }

    def open(
        self,
        folder: RunFolder,
        settings: McpSettings,
        stack: AsyncExitStack,
        note: Callable[[str], None],
        permit: Permit,
    ) -> Hosts:
        """What keeps the run's servers; they are ended with the stack."""
        from agent_env.features.mcp.servers import open_hosts

        return open_hosts(folder, settings.servers, stack, note, permit)


async def read_again(
    settings: McpSettings, note: Callable[[str], None], plugins: Plugins
) -> McpSettings:
    """The servers of a run as they are now."""
    from agent_env.features.mcp.servers import servers_now

    return McpSettings(servers=await servers_now(settings.servers, note, plugins))


def changes(before: McpSettings, now: McpSettings) -> list[str]:
    """A line for each difference."""
    pairs = zip(before.servers, now.servers, strict=True)
    return [line for was, each in pairs for line in mcp_changes(was, each)]


def outside(settings: McpSettings) -> Iterator[OutsideSetting]:
    """A line for each server."""
    return (each.outside for each in settings.servers)


FEATURE = Feature(
    "mcp",
    options=McpOptions,
    settings=McpSettings,
    outside=outside,
    tools=McpTools(),
    read_again=read_again,
    changes=changes,
)
