"""The server by hand as a run's server."""

import sys
from pathlib import Path

from agent_env.features.mcp.records import McpServer, McpTool

FILE = Path(__file__).with_name("by_hand.py")


def command(mode=""):
    return (sys.executable, "-I", "-S", str(FILE), *([mode] if mode else []))


def by_hand(mode="", **fields):
    return McpServer(name="hand", command=command(mode), **fields)


def listed(name, *tools, **fields):
    """A server that was read already."""
    own = tuple(McpTool(name=tool, offered=tool) for tool in tools)
    return McpServer(name=name, command=("server",), tools=own, **fields)
