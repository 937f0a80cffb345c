"""Models and strategies, as the loop asks them."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.models.addresses import short_name as short_name
    from agent_env.models.apis.compatible import read_reply as read_reply
    from agent_env.models.chat import chat_message as chat_message
    from agent_env.models.chat import chat_tool as chat_tool
    from agent_env.models.chat import read_arguments as read_arguments
    from agent_env.models.chat import read_message as read_message
    from agent_env.models.chat import read_tool as read_tool
    from agent_env.models.chat import text_in as text_in
    from agent_env.models.settings import ModelParameters as ModelParameters
    from agent_env.models.streams import LISTENER as LISTENER
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
    from agent_env.protocols import ToolChoice as ToolChoice

__getattr__, __dir__ = on_demand(__file__)
