"""Compares the MCP servers of a run, as it recorded them, with a server now."""

from __future__ import annotations

from collections.abc import Callable

from agent_env.errors import ConfigError
from agent_env.records.mcp import McpServer, mcp_changes
from agent_env.records.reach import Reach
from agent_env.runs.run import Run
from agent_env.wiring.mcp import read_servers, server_at
from agent_env.wiring.trust import own_plugins


async def mcp_diff(run: Run, command: str, note: Callable[[str], None]) -> list[str]:
    """A line for each difference; `command` is one, or a URL, with NAME= before it where the run
    has several servers. It is started with the variables of the recorded server; ConfigError
    where those are a stranger's wish."""
    name, _, rest = command.partition("=")
    servers = {server.name: server for server in run.manifest.mcp}
    if not servers:
        raise ConfigError(f"{run.path} was run without an MCP server")
    if name in servers:
        command = rest
    elif len(servers) == 1:
        name = next(iter(servers))
    else:
        raise ConfigError(
            f"{run.path} has the MCP servers {', '.join(servers)}; write NAME={command}"
        )
    before = servers[name]
    plain = McpServer(name=name, timeout_s=before.timeout_s)
    if not command.startswith(("http://", "https://")):
        for variable in before.environment:  # the folder names them, not the user
            run.permit.check(Reach.KEY, variable)
        plain = plain.model_copy(
            update={"environment": before.environment, "sandboxed": before.sandboxed}
        )
    (now,) = await read_servers([server_at(name, command, plain)], note, own_plugins())
    return mcp_changes(before, now)
