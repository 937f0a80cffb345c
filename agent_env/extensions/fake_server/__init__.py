"""A server on loopback that speaks the model APIs, to rehearse a run before paying for it.

    async with FakeServer(policy, latency_s=0.5, errors={"429": 0.1}) as server:
        server.url  # http://127.0.0.1:PORT/v1

It is written from the documented wire formats and shares no type with the adapters or the SDK,
so that a mistake in the one does not hide a mistake in the other.
"""

from agent_env.extensions.fake_server.conversation import (
    Answer,
    Call,
    HostedCall,
    Offer,
    Policy,
    Refusal,
    Tokens,
    Turn,
)
from agent_env.extensions.fake_server.faults import parse_errors
from agent_env.extensions.fake_server.hosting import Hosting
from agent_env.extensions.fake_server.policies import model_policy, script_policy
from agent_env.extensions.fake_server.server import FakeServer, serve

__all__ = [
    "Answer",
    "Call",
    "FakeServer",
    "HostedCall",
    "Hosting",
    "Offer",
    "Policy",
    "Refusal",
    "Tokens",
    "Turn",
    "model_policy",
    "parse_errors",
    "script_policy",
    "serve",
]
