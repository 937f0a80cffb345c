"""Every question family as a task of Inspect: `inspect eval agent_env/time_puzzles`.

Inspect finds this module by its entry point. It asks the model, retries, counts and writes the log;
prompts, tools, limits and scores are those of `agent-env run` (docs/features/interop.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inspect_ai import Task, task

from agent_env.features.interop.inspect_tasks.scorer import (
    episode_score as episode_score,  # registered with Inspect
)
from agent_env.sdk.run import FAMILIES


def _registered(family: str) -> Callable[..., Task]:
    def make(**parameters: Any) -> Task:
        from agent_env.features.interop.inspect_tasks.task import make_task

        return make_task(family, parameters)

    make.__doc__ = f"The questions of {family}."
    return task(name=family.replace("-", "_"))(make)


TASKS: Mapping[str, Callable[..., Task]] = {
    family: _registered(family) for family in FAMILIES.names()
}
"""The task of each family, built in or installed, from parameters as `-T` gives them."""
