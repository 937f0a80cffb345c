"""A family's questions under one condition as a task of Inspect."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from inspect_ai import Task
from inspect_ai._util.error import PrerequisiteError  # shown in one line
from inspect_ai.dataset import MemoryDataset, Sample

from agent_env.api.waiting import wait_for
from agent_env.episodes.inspect_chat import to_inspect
from agent_env.errors import AgentEnvError, ConfigError
from agent_env.inspect_tasks.parameters import run_options
from agent_env.inspect_tasks.scorer import episode_score
from agent_env.inspect_tasks.solver import Opened, episode_solver
from agent_env.records.schema import Condition
from agent_env.runs.environment import make_environment
from agent_env.runs.options import RunOptions
from agent_env.runs.run import Run
from agent_env.tasks.conditions import sample_under
from agent_env.wiring.rooms import contexts_of, strategy_of

logger = logging.getLogger(__name__)


def make_task(family: str, parameters: Mapping[str, Any]) -> Task:
    """The task of these parameters; what cannot be is told in one line. The run that its episodes
    need lies in a temporary folder: the log has all that is worth keeping."""
    folder = TemporaryDirectory(prefix="agent-env-inspect-")
    try:
        options = run_options(family, parameters)
        run, condition = _make_run(
            options, Path(folder.name) / "run", str(parameters.get("condition", ""))
        )
        about = {"family": family, "parameters": dict(parameters)}
        samples = _samples(run, condition, {"condition": condition.name, "task": about})
        dataset = MemoryDataset(samples, name=_dataset_name(options))
    except (AgentEnvError, OSError) as exc:
        folder.cleanup()
        raise PrerequisiteError(f"agent_env/{family.replace('-', '_')}: {exc}") from None
    return Task(
        dataset=dataset,
        solver=episode_solver(Opened(run, condition, folder)),
        scorer=episode_score(),
        working_limit=_working_limit(run, options),
        metadata={"condition": condition.name, "limits": dict(run.manifest().limits)},
    )


def _make_run(options: RunOptions, path: Path, wanted: str) -> tuple[Run, Condition]:
    """The run, and the one of its conditions that has the suffixes of the one that is wanted."""
    limits = {**options.limits, "time_s": None}
    own = replace(options, out=path, limits=limits)
    run = wait_for(make_environment(own, logger.warning))
    conditions = run.manifest().conditions
    named = [each for each in conditions if _suffixes(each.name) == _suffixes(wanted)]
    if len(named) != 1:
        names = ", ".join(each.name for each in conditions)
        raise ConfigError(f"-T condition={wanted}: a log has one; name one of: {names}")
    return run, named[0]


def _working_limit(run: Run, options: RunOptions) -> int | None:
    """Our time limit as Inspect's, which knows what of it went into retries and queues."""
    time_s = options.limits.get("time_s", run.task.limits.time_s)
    return None if time_s is None else ceil(time_s)


def _suffixes(name: str) -> set[str]:
    return set(name.split("~")[1:])


def _dataset_name(options: RunOptions) -> str:
    return options.dataset.name if options.dataset else f"{options.task} seed {options.seed}"


def _samples(run: Run, condition: Condition, about: Mapping[str, Any]) -> list[Sample]:
    contexts = contexts_of(run, run.manifest())
    hooks = run.task.analysis
    result = []
    for sample in run.samples:
        strategy, _ = strategy_of(run.task, contexts, sample, condition, plugins=run.plugins)
        groups = {name: ", ".join(values) for name, values in hooks.groups(sample).items()}
        result.append(
            Sample(
                id=sample.id,
                input=[to_inspect(message) for message in strategy.start(sample)],
                target=list(sample_under(sample, condition).gold),
                metadata={
                    **groups,
                    **about,
                    "cluster": hooks.cluster(sample) or sample.id,
                    "sample": sample.model_dump(mode="json"),
                },
            )
        )
    return result
