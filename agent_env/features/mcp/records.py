"""MCP servers as a run keeps them: how each is reached, and the tools that it offered."""

from __future__ import annotations

import hashlib
import json
import shlex
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from agent_env.sdk.inside import Address, Command, Key, OutsideSetting, Plain, ToolTraits
from agent_env.sdk.records import Reach, Record, Stored

Isolation = Literal["run", "episode"]


class McpTool(Stored):
    """A tool as its server described it."""

    name: Plain[str]
    """As the server calls it."""
    offered: Plain[str]
    """As models call it."""
    description: Plain[str] = ""
    parameters: Plain[dict[str, JsonValue]] = Field(default_factory=dict)
    """JSON schema of the arguments object."""
    is_repeatable: Plain[bool] = False
    """Whether the server says that a call may be sent twice (read-only or idempotent)."""
    problem: Plain[str | None] = None
    """Why it cannot be offered; None where it can."""

    @property
    def digest(self) -> str:
        """Of what the server says of the tool; twelve hexadecimal digits."""
        fields = self.model_dump(mode="json", exclude={"offered", "problem"})
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:12]


class McpServer(Stored):
    """A server that a run's conditions use."""

    name: Plain[str] = Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")
    """As in conditions: `mcp:NAME`; also the name of its log."""
    command: Command[tuple[str, ...]] = ()
    """What starts it; empty where it is reached by `url`."""
    url: Address[str | None] = None
    environment: Key[tuple[str, ...]] = ()
    """Names of the variables that it gets; their values are stored nowhere."""
    isolation: Plain[Isolation] = "run"
    """Whether all episodes share one process, or connection, or each has its own."""
    sandboxed: Command[bool] = False
    timeout_s: ClassVar[float] = 60.0
    """Of one call."""
    title: Plain[str | None] = None
    """What the server calls itself."""
    version: Plain[str | None] = None
    protocol: Plain[str | None] = None
    """Version of the protocol that was agreed on."""
    tools: tuple[McpTool, ...] = ()
    digest: Plain[str | None] = None
    """Of its name, version and tools; twelve hexadecimal digits."""

    @property
    def address(self) -> str:
        """For users."""
        return self.url or " ".join(self.command)

    @property
    def launch(self) -> str:
        """What is started, with what it gets, as one text that no other server has."""
        return json.dumps([self.command, self.environment, self.sandboxed])

    @property
    def offered(self) -> tuple[McpTool, ...]:
        """The tools that models can get."""
        return tuple(tool for tool in self.tools if tool.problem is None)

    def with_digest(self) -> McpServer:
        """The record with its digest computed anew."""
        parts = [self.title, self.version, *sorted(tool.name + tool.digest for tool in self.tools)]
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
        return self.model_copy(update={"digest": digest})

    @property
    def outside(self) -> OutsideSetting:
        """What the server reaches: another command, or another variable that it gets, is another
        setting."""
        value = f"{self.name}: {self.url or shlex.join(self.command)}"
        if self.environment:
            value += f" with {', '.join(self.environment)}"
        if self.url is not None:
            notice, grants = " (gets the calls of its tools)", [(Reach.ADDRESS, self.url)]
        else:
            notice = f" (runs here{', in a sandbox' if self.sandboxed else ' with your rights'})"
            value += " in a sandbox" if self.sandboxed else ""
            grants = [(Reach.COMMAND, self.launch)]
        grants += [(Reach.KEY, name) for name in self.environment]
        parts = {"server": self.name, "url": self.url, "launch": self.launch}
        names = "command", "url", "environment", "sandboxed"
        return OutsideSetting(
            "mcp server", value, notice, parts, tuple(grants),
            fields=tuple(f"servers.{name}" for name in names), gets_calls=True,
        )  # fmt: skip

    def source_of(self, tool: McpTool) -> str:
        """As `ToolTraits.source` has it."""
        return f"mcp:{self.name}/{tool.name}"

    def traits(self, tool: McpTool) -> ToolTraits:
        """What the rest of the system must know of one of its tools."""
        return ToolTraits(
            name=tool.offered,
            source=self.source_of(tool),
            keeps_state=self.isolation == "episode" and not tool.is_repeatable,
            timeout_s=self.timeout_s,
        )


class McpSettings(Record):
    """The servers that a run's conditions use, with their tools as they were listed."""

    servers: tuple[McpServer, ...]


def mcp_changes(before: McpServer, now: McpServer) -> list[str]:
    """A line for each difference between a recorded server and the same one now."""
    lines = [
        f"mcp {before.name}: {what}: {was} → {is_now}"
        for what, was, is_now in (
            ("server", before.title, now.title),
            ("version", before.version, now.version),
        )
        if was != is_now
    ]
    old, new = ({tool.name: tool for tool in server.tools} for server in (before, now))
    for name in dict.fromkeys([*old, *new]):
        if name not in new:
            lines.append(f"mcp {before.name}: tool {name}: gone")
        elif name not in old:
            lines.append(f"mcp {before.name}: tool {name}: added")
        elif old[name].digest != new[name].digest:
            lines.append(f"mcp {before.name}: tool {name}: {_difference(old[name], new[name])}")
    return lines


def _difference(old: McpTool, new: McpTool) -> str:
    parts = [
        what
        for what, is_other in (
            ("schema", old.parameters != new.parameters),
            ("description", old.description != new.description),
            ("hints", old.is_repeatable != new.is_repeatable),
        )
        if is_other
    ]
    return f"{' and '.join(parts)} changed"
