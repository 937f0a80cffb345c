"""A server on loopback that speaks the model APIs, with the rules of their providers.

    async with FakeServer(policy, latency_s=0.5, errors={"429": 0.1}) as server:
        server.url  # http://127.0.0.1:PORT/v1

It reads and writes requests and replies by the codecs of the agents' proxy, and adds reasoning,
hosted tools, caches, errors and what a provider refuses, as documented. `python -m
tests.fake_server` is the same in a process of its own.
"""

from agent_env.features.agents.apis.exchange import tool_call
from tests.fake_server.conversation import Policy, Refusal, ScriptedAnswer
from tests.fake_server.policies import model_policy, script_policy
from tests.fake_server.server import FakeServer, serve

__all__ = [
    "FakeServer",
    "Policy",
    "Refusal",
    "ScriptedAnswer",
    "model_policy",
    "script_policy",
    "serve",
    "tool_call",
]
