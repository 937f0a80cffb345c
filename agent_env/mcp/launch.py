"""Starts the process of a stdio server, with the environment that its user names and no more."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

from agent_env.errors import ConfigError
from agent_env.permits import Permit
from agent_env.records.mcp import McpServer
from agent_env.records.reach import Reach
from agent_env.sandbox.programs import Process, confine
from agent_env.sandbox.programs import start as start_program

LOG_BYTES = 4 << 20
"""Of the log of one server; what it writes beyond is dropped."""
EXIT_S = 3.0
"""From the end of its input to the end of the server, before it is killed."""


def environment_of(server: McpServer, permit: Permit) -> dict[str, str]:
    """PATH, LANG and the variables that the server was given; ConfigError for one that is unset."""
    for name in server.environment:
        permit.check(Reach.KEY, name)
        if name not in os.environ:
            raise ConfigError(f"--mcp-env {server.name}={name}: the variable {name} is not set")
    named = {name: os.environ[name] for name in server.environment}
    return {"PATH": os.environ.get("PATH", os.defpath), "LANG": "C.UTF-8", **named}


def check_command(server: McpServer) -> None:
    """ConfigError where there is no such program."""
    if server.command and shutil.which(server.command[0]) is None:
        raise ConfigError(f"--mcp {server.name}: there is no program '{server.command[0]}'")


async def start(server: McpServer, permit: Permit) -> Process:
    """Starts the server below a keeper that ends it when this process ends, however that happens.
    SandboxError where it is to run in a sandbox and cannot."""
    permit.check(Reach.COMMAND, server.launch)
    environment = environment_of(server, permit)
    program = shutil.which(server.command[0]) or server.command[0]
    command, passed = [program, *server.command[1:]], tuple[int, ...]()
    if server.sandboxed:
        confined = await confine(command, environment)
        command, passed, environment = confined.command, confined.descriptors, {}
    return await start_program(command, environment, passed)


async def copy_log(stream: asyncio.StreamReader, log: Path, name: str) -> None:
    """Appends what the server writes on stderr to its log, as far as that may grow."""
    with log.open("ab") as file:
        room = LOG_BYTES - file.tell()
        while chunk := await stream.read(1 << 16):
            file.write(chunk[: max(0, room)])
            if room > 0 >= room - len(chunk):
                file.write(f"\n[{name} wrote more than {LOG_BYTES >> 20} MB: dropped]\n".encode())
            room -= len(chunk)
            file.flush()
