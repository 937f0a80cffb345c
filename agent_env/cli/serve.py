"""`agent-env serve`: episodes over HTTP."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.cli.mcp_server import WHAT, told
from agent_env.cli.options import with_options
from agent_env.cli.run import say

if TYPE_CHECKING:
    from agent_env.runs.options import RunOptions


@with_options("agent_env.runs.options:RunOptions", only=(*WHAT, "tokens", "out"))
def serve(
    options: RunOptions,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8322,
    host: Annotated[
        str, typer.Option(help="The address to listen on; others than loopback need --token-env.")
    ] = "127.0.0.1",
    token_env: Annotated[
        str | None,
        typer.Option(help="The variable with the token that clients must send.", metavar="NAME"),
    ] = None,
    agent: Annotated[str, typer.Option(help="The agents' name in tables.")] = "policy",
    idle_s: Annotated[
        float, typer.Option(min=1, help="An episode without a step for so long ends as failed.")
    ] = 900,
) -> None:
    """Serve episodes over HTTP: reset, step and score, many at once, for any trainer or agent.

    Every step is recorded in the run's folder, as of any run. An existing --out goes on.
    GET /openapi.json describes the API.

    Example: agent-env serve time-puzzles --condition base --condition web+ci --out runs/served
    """
    import asyncio

    from agent_env.runs.hosting import check_packages

    check_packages("serve", "starlette", "uvicorn")
    token = _token(host, token_env)
    asyncio.run(_serve(replace(options, model=agent), agent, host, port, token, idle_s))


async def _serve(
    options: RunOptions, agent: str, host: str, port: int, token: str | None, idle_s: float
) -> None:
    from agent_env.episodes.garbage import rarely_collected
    from agent_env.runs.environment import open_environment
    from agent_env.runs.exam import exam_folder, open_exam
    from agent_env.runs.hosting import listening, serve_app
    from agent_env.runs.http_server import EpisodeServer

    with listening(port, host) as listener:
        bound = listener.getsockname()[1]
        folder = await exam_folder(options, say)
        async with open_environment(folder, note=say) as environment, \
                open_exam(environment, told) as exam:  # fmt: skip
            only = bound if token is None else None
            server = EpisodeServer(exam, agent, token, only, idle_s)
            print(f"http://{f'[{host}]' if ':' in host else host}:{bound}", flush=True)
            say(f"Serves {folder.path} (Ctrl-C ends it); GET /openapi.json describes the API.")
            with rarely_collected():
                await serve_app(server.app(), listener)
    say(f"agent-env score {folder.path} scores the episodes; the same --out goes on.")


def _token(host: str, variable: str | None) -> str | None:
    """ConfigError where one is wanted and there is none."""
    from agent_env.errors import ConfigError

    if variable is None:
        if host in ("127.0.0.1", "localhost"):
            return None
        raise ConfigError(f"--host {host} is reached by others: name a variable with --token-env")
    token = os.environ.get(variable, "")
    if not token.isascii() or not token.strip():
        raise ConfigError(f"--token-env {variable}: the variable holds no token; set it to one")
    return token.strip()
