"""An evaluation environment for temporal reasoning with tools.

    import agent_env as ae

    task = ae.task("time-puzzles", limit=50)
    run = await ae.run(task, model="openai/gpt-5", conditions=["base", "web"])

The names below are public, each documented where it is defined (docs/python.md); all else may
change. They are imported when they are asked for: `import agent_env` alone loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agent_env.version import __version__ as __version__

if TYPE_CHECKING:
    from agent_env.analysis.result_tables import ResultTable as ResultTable
    from agent_env.api.comparisons import Comparison as Comparison
    from agent_env.api.run import Episode as Episode
    from agent_env.api.run import Run as Run
    from agent_env.api.runs import compare as compare
    from agent_env.api.runs import import_log as import_log
    from agent_env.api.runs import open as open
    from agent_env.api.runs import run as run
    from agent_env.api.runs import run_sync as run_sync
    from agent_env.episodes.rerun.replay import ReplayResult as ReplayResult
    from agent_env.errors import AgentEnvError as AgentEnvError
    from agent_env.errors import ConfigError as ConfigError
    from agent_env.errors import DatasetError as DatasetError
    from agent_env.errors import RunStopped as RunStopped
    from agent_env.errors import StorageError as StorageError
    from agent_env.errors import ToolError as ToolError
    from agent_env.features.studies.api import Study as Study
    from agent_env.records.schema import Message as Message
    from agent_env.records.schema import Reply as Reply
    from agent_env.records.schema import Sample as Sample
    from agent_env.records.schema import Score as Score
    from agent_env.records.schema import ToolCall as ToolCall
    from agent_env.records.schema import ToolResult as ToolResult
    from agent_env.records.schema import ToolSpec as ToolSpec
    from agent_env.records.schema import Usage as Usage
    from agent_env.runs.planning.objects import Condition as Condition
    from agent_env.runs.planning.objects import TaskOptions as TaskOptions
    from agent_env.runs.planning.objects import task as task
    from agent_env.scoring.sample_means import episode_score as episode_score
    from agent_env.tasks.family import Family as Family
    from agent_env.tasks.family import SampleSet as SampleSet
    from agent_env.tasks.task import Task as Task
    from agent_env.tools.function import tool as tool

PUBLIC = {
    "agent_env.analysis.result_tables": ("ResultTable",),
    "agent_env.api.comparisons": ("Comparison",),
    "agent_env.features.studies.api": ("Study",),
    "agent_env.runs.planning.objects": ("Condition", "TaskOptions", "task"),
    "agent_env.api.run": ("Episode", "Run"),
    "agent_env.api.runs": ("compare", "import_log", "open", "run", "run_sync"),
    "agent_env.episodes.rerun.replay": ("ReplayResult",),
    "agent_env.errors": (
        "AgentEnvError", "ConfigError", "DatasetError", "RunStopped", "StorageError",
        "ToolError",
    ),
    "agent_env.records.schema": (
        "Message", "Reply", "Sample", "Score", "ToolCall", "ToolResult", "ToolSpec", "Usage",
    ),
    "agent_env.scoring.sample_means": ("episode_score",),
    "agent_env.tasks.family": ("Family", "SampleSet"),
    "agent_env.tasks.task": ("Task",),
    "agent_env.tools.function": ("tool",),
}  # fmt: skip
"""The public names by the modules that define them; editors and mypy read those above."""


def __getattr__(name: str) -> Any:
    for module, names in PUBLIC.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module 'agent_env' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(("__version__", *(name for names in PUBLIC.values() for name in names)))
