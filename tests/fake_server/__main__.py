"""python -m tests.fake_server: the server in a process of its own; prints its address."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from agent_env.wiring.models import make_model
from agent_env.wiring.trust import own_plugins
from tests.fake_server import FakeServer, model_policy, script_policy


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", default="reference", help="a scripted model")
    parser.add_argument("--script", type=Path, help="replies, a JSON object a line")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before each reply")
    options = parser.parse_args()
    if options.script is not None:
        policy = script_policy(options.script)
    else:
        policy = model_policy(make_model(options.policy, None, {}, own_plugins()))
    async with FakeServer(policy, port=options.port, latency_s=options.latency) as server:
        print(server.url, flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
