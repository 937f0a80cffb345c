"""The server of questions over MCP."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from agent_env.sdk.commands import Opt, say, with_options
from agent_env.sdk.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.sdk.run import RunOptions


WHAT = (
    "task", "condition", "tool", "limit", "seed", "dataset", "repeats", "where", "option", "scorer",
    "metric", "prompt", "system", "web", "search", "fetcher", "pages", "as_of", "undated",
    "block_leaks", "allow_host", "sandbox", "steps", "tool_calls", "time_s", "tool_limit",
)  # fmt: skip
"""Options of `run` that ask for something else than a model of ours."""
FIRST = ("condition", "limit", "option", "dataset", "out", "token-env", "no-token", "agent")
"""What the help of both servers shows of their options."""
TokenEnv = Annotated[
    str | None,
    Opt(
        "The variable with the token that clients must send; without it one is made and printed.",
        metavar="NAME",
    ),
]
NoToken = Annotated[bool, Opt("Any program of this machine may connect.")]
Http = Annotated[
    int | None,
    Opt("Serve HTTP at this port of loopback (0: a free one) instead of stdio.", min=0, max=65535),
]


@with_options(
    "agent_env.runs.options.run_options:RunOptions",
    only=(*WHAT, "out"),
    first=(*FIRST, "http", "many", "tell-score"),
)
def serve(
    options: RunOptions,
    http: Http = None,
    token_env: TokenEnv = None,
    no_token: NoToken = False,
    agent: Annotated[str, Opt("The agent's name in tables.")] = "policy",
    many: Annotated[bool, Opt("Several open episodes, each by its handle.")] = False,
    tell_score: Annotated[bool, Opt("Tell the agent the score of its answer.")] = False,
) -> None:
    """Serve questions to an agent, which gets one condition's tools and submits answers.

    Every call is recorded in the run's folder, as of any run. An existing --out continues.

    Example: agent-env serve mcp time-puzzles --condition web+python --out runs/exam
    """
    import asyncio

    from agent_env.features.serve.hosting import LOOPBACK, token_of
    from agent_env.features.serve.mcp_server import QuestionServer, serve_http, serve_stdio
    from agent_env.features.serve.served_run import open_served_run, served_folder, tools_of
    from agent_env.sdk.run import check_sdk, open_environment

    if http is None and (no_token or token_env is not None):
        raise ConfigError("--token-env and --no-token go with --http")
    token = None if http is None else token_of(LOOPBACK, token_env, no_token)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            asked = replace(options, model=agent)
            folder = await served_folder(asked, say, has_one_condition=True)
            environment = await stack.enter_async_context(open_environment(folder, note=say))
            specs = await tools_of(environment)
            on_end = silent if http is None else told  # a client reads our stderr
            served_run = await stack.enter_async_context(
                open_served_run(environment, on_end, ended_by_agent=http is None)
            )
            server = QuestionServer(served_run, specs, many, tell_score).server()
            if http is None:
                await serve_stdio(server)
            else:
                await serve_http(server, http, token, say)
        say(f"agent-env show {folder.path} scores the answers.")

    check_sdk()
    with suppress(KeyboardInterrupt):
        asyncio.run(main())


def silent(key: Any, score: Any) -> None:
    """Tells nobody."""


def told(key: Any, score: Any) -> None:
    """Tells the user; an episode that was given up has no score."""
    first = next(iter(score.metrics.items()), None)
    say(f"{key.name}: {score.outcome if first is None else f'{first[0]} {first[1]:g}'}")
