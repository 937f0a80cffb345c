"""`agent-env serve http`: episodes over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from agent_env.features.serve.mcp_cli import FIRST, WHAT, NoToken, TokenEnv, told
from agent_env.sdk.commands import Opt, say, with_options

if TYPE_CHECKING:
    from agent_env.features.serve.http_server import EpisodeServer
    from agent_env.features.serve.served_run import ServedRun
    from agent_env.sdk.run import RunOptions


@with_options(
    "agent_env.runs.options.run_options:RunOptions",
    only=(*WHAT, "tokens", "out"),
    first=(*FIRST, "port", "host", "tries", "show-metrics"),
)
def serve(
    options: RunOptions,
    port: Annotated[int, Opt("0: any free one.", min=0, max=65535)] = 8322,
    host: Annotated[str, Opt("The address to listen on.")] = "127.0.0.1",
    token_env: TokenEnv = None,
    no_token: NoToken = False,
    tries: Annotated[
        int | None, Opt("Most episodes of one sample, under all conditions together.", min=1)
    ] = None,
    show_metrics: Annotated[
        bool,
        Opt(
            "Tell clients all metrics of an episode, not its reward alone; they can give "
            "gold answers away."
        ),
    ] = False,
    agent: Annotated[str, Opt("The agents' name in tables.")] = "policy",
    episode_idle_s: Annotated[
        float, Opt("An episode without a step for so long ends as failed.", min=1)
    ] = 900,
) -> None:
    """Serve episodes over HTTP: reset, step and score, many at once, for any trainer or agent.

    Every step is recorded in the run's folder, as of any run. An existing --out continues.
    GET /openapi.json describes the API.

    Example: agent-env serve http time-puzzles --condition web+python --out runs/served
    """
    import asyncio

    from agent_env.features.serve.hosting import token_of
    from agent_env.sdk.commands import need_extra

    need_extra("starlette", "uvicorn", extra="serve")
    token = token_of(host, token_env, no_token)

    def make_server(served_run: ServedRun, bound: int) -> EpisodeServer:
        from agent_env.features.serve.http_server import EpisodeServer

        only = bound if token is None else None
        return EpisodeServer(served_run, agent, token, only, episode_idle_s, show_metrics)

    asyncio.run(_serve(replace(options, model=agent), host, port, tries, token, make_server))


async def _serve(
    options: RunOptions, host: str, port: int, tries: int | None, token: str | None,
    make_server: Callable[[ServedRun, int], EpisodeServer],
) -> None:  # fmt: skip
    from agent_env.features.serve.hosting import listening, serve_app
    from agent_env.features.serve.served_run import open_served_run, served_folder
    from agent_env.sdk.run import open_environment

    with listening(port, host) as listener:
        bound = listener.getsockname()[1]
        folder = await served_folder(options, say)
        async with open_environment(folder, note=say) as environment, \
                open_served_run(environment, told, tries) as served_run:  # fmt: skip
            server = make_server(served_run, bound)
            print(f"http://{f'[{host}]' if ':' in host else host}:{bound}", flush=True)
            if token is not None:
                print(f"token: {token}", flush=True)
            say(f"Serves {folder.path} (Ctrl-C ends it); GET /openapi.json describes the API.")
            await serve_app(server.app(), listener)
    say(f"agent-env show {folder.path} scores the episodes; the same --out continues.")
