"""The tools of an episode as an MCP server, for one agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import agent_env

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ListToolsResult

    from agent_env.extensions.agents.desk import Desk


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
