"""agent-env serve fake."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_env.sdk.commands import say, with_options
from agent_env.sdk.errors import ConfigError

if TYPE_CHECKING:
    from agent_env.extensions.fake_server.conversation import Policy
    from agent_env.extensions.fake_server.server import ServerOptions

POLICIES = ("reference", "reference-static")


@with_options("agent_env.extensions.fake_server.server:ServerOptions")
def fake_server(options: ServerOptions) -> None:
    """Serve both model APIs on loopback, to rehearse a run before paying for it.

    Example: agent-env serve fake --policy reference --mode deepseek --errors 429:0.1,cut:0.02
    """
    import asyncio

    server = options.server(_policy(options))

    async def serve() -> None:
        async with server:
            print(server.url, flush=True)
            command = f"agent-env run time-puzzles --model compatible/x --base-url {server.url}"
            say(f"Ctrl-C ends it. Try: {command}")
            await asyncio.Event().wait()

    try:
        asyncio.run(serve())
    except OSError as exc:
        message = f"cannot listen on port {options.port}: {exc.strerror or exc}"
        raise ConfigError(message) from exc


def _policy(options: ServerOptions) -> Policy:
    from agent_env.extensions.fake_server import model_policy, script_policy
    from agent_env.sdk.run import make_model, own_plugins

    if options.script is not None:
        if options.policy is not None:
            raise ConfigError("--policy and --script exclude each other")
        return script_policy(options.script)
    name = options.policy or "reference"
    if name not in POLICIES:
        raise ConfigError(f"unknown policy '{name}'; known: {', '.join(POLICIES)}")
    return model_policy(make_model(name, None, {}, own_plugins()))
