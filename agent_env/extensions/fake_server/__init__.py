"""A server on loopback that speaks the model APIs, to rehearse a run before paying for it.

    async with FakeServer(policy, latency_s=0.5, errors={"429": 0.1}) as server:
        server.url  # http://127.0.0.1:PORT/v1

It reads and writes messages, calls and tools by the codec of the adapters; streams, usage, ids,
errors and what a provider refuses follow the documented wire formats alone. That the codec is
right, the adapters' tests show against JSON as servers write it.
"""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.extensions.fake_server.channel import parse_errors as parse_errors
    from agent_env.extensions.fake_server.conversation import Policy as Policy
    from agent_env.extensions.fake_server.conversation import Refusal as Refusal
    from agent_env.extensions.fake_server.conversation import ScriptedAnswer as ScriptedAnswer
    from agent_env.extensions.fake_server.conversation import Tokens as Tokens
    from agent_env.extensions.fake_server.conversation import tool_call as tool_call
    from agent_env.extensions.fake_server.policies import model_policy as model_policy
    from agent_env.extensions.fake_server.policies import script_policy as script_policy
    from agent_env.extensions.fake_server.server import FakeServer as FakeServer
    from agent_env.extensions.fake_server.server import Hosting as Hosting
    from agent_env.extensions.fake_server.server import serve as serve

__getattr__, __dir__ = on_demand(__file__)
