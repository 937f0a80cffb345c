"""The server by hand as a run's server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from agent_env.records.mcp import McpServer, McpTool

FILE = Path(__file__).with_name("by_hand.py")


def command(mode: str = "") -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(FILE), *([mode] if mode else []))


def by_hand(mode: str = "", **fields: Any) -> McpServer:
    return McpServer(name="hand", command=command(mode), **fields)


def listed(name: str, *tools: str, **fields: Any) -> McpServer:
    """A server that was read already."""
    own = tuple(McpTool(name=tool, offered=tool) for tool in tools)
    return McpServer(name=name, command=("server",), tools=own, **fields)
