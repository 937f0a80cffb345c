"""Errors: whose fault it is says which one."""

from typing import TYPE_CHECKING

from agent_env.sdk import on_demand

if TYPE_CHECKING:
    from agent_env.errors import AgentEnvError as AgentEnvError
    from agent_env.errors import ConfigError as ConfigError
    from agent_env.errors import ConfigErrors as ConfigErrors
    from agent_env.errors import DatasetError as DatasetError
    from agent_env.errors import DatasetErrors as DatasetErrors
    from agent_env.errors import EpisodeError as EpisodeError
    from agent_env.errors import ModelError as ModelError
    from agent_env.errors import RunStopped as RunStopped
    from agent_env.errors import SearchError as SearchError
    from agent_env.errors import StorageError as StorageError
    from agent_env.errors import ToolError as ToolError
    from agent_env.errors import first_problem as first_problem
    from agent_env.errors import user_problem as user_problem

__getattr__, __dir__ = on_demand(__file__)
