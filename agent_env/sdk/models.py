"""Models and strategies, as the loop asks them."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.models.addresses import COMPATIBLE as COMPATIBLE
    from agent_env.models.addresses import LOCAL as LOCAL
    from agent_env.models.addresses import served_name as served_name
    from agent_env.models.api import Exchange as Exchange
    from agent_env.models.api import Fault as Fault
    from agent_env.models.apis.compatible import API as API
    from agent_env.models.parameters import ModelParameters as ModelParameters
    from agent_env.models.prices import cost_usd as cost_usd
    from agent_env.models.tokenizers import Estimate as Estimate
    from agent_env.protocols import Answer as Answer
    from agent_env.protocols import CallTool as CallTool
    from agent_env.protocols import Limits as Limits
    from agent_env.protocols import Model as Model
    from agent_env.protocols import ReplyOptions as ReplyOptions
    from agent_env.protocols import RunTools as RunTools
    from agent_env.protocols import Say as Say
    from agent_env.protocols import Scorer as Scorer
    from agent_env.protocols import Strategy as Strategy

__getattr__, __dir__ = on_demand(__file__)
