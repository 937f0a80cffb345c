"""The conditions of a run, and the limits of their episodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent_env.errors import ConfigError, suggestion
from agent_env.records.schema import Condition
from agent_env.runs.options.run_options import RunOptions
from agent_env.runs.planning.draft import axes_of_features
from agent_env.tasks.answer_forms import FORMATS
from agent_env.tasks.conditions import LADDER, Tools, parse_conditions, with_first_steps
from agent_env.tasks.modifiers import FORMAT, Axis, grid
from agent_env.tasks.tool_registry import (
    needs_sandbox,
    tool_names,
)
from agent_env.wiring.sandboxes import choose_sandbox

if TYPE_CHECKING:
    from agent_env.protocols import SandboxBackend
    from agent_env.tasks.task import Task


Note = Callable[[str], None]


def conditions_of(
    options: RunOptions, default: Sequence[str | Condition], tools: Tools
) -> tuple[Condition, ...]:
    """The conditions that the options name, else those of the task, with the disturbed ones."""
    from agent_env.episodes.contexts import parse_context_options

    contexts = [option.name for option in parse_context_options(options.cited_from)]
    is_found = options.web_mode == "sealed" and "cited" in options.conditions
    if not contexts and (is_found or LADDER in options.conditions):
        contexts = ["cited"]
    parsed = parse_conditions(options.conditions or default, contexts, tools, options.permit)
    first = with_first_steps(parsed, options.first_steps, options.permit)
    if unknown := next((each for each in options.answer_formats if each not in FORMATS), None):
        raise ConfigError(f"--answer-format {unknown}: write one of {', '.join(FORMATS)}")
    formats = [each for each in FORMATS if each in (options.answer_formats or FORMATS[:1])]
    axes = (
        *axes_of_features(options, first),
        Axis(FORMAT, formats, "--answer-format"),
    )
    return grid(first, axes)


async def usable_conditions(
    options: RunOptions, task: Task, tools: Tools, note: Note
) -> tuple[tuple[Condition, ...], SandboxBackend | None]:
    """The named conditions, or those of the task that can run here; and the sandbox."""
    named = conditions_of(options, task.default_conditions, tools)
    conditions = tuple(_with_strategy(condition, options, task) for condition in named)
    if options.web_mode == "hosted" or not any(needs_sandbox(each) for each in conditions):
        return conditions, None
    try:
        return conditions, await choose_sandbox(options.sandbox, options.plugins, conditions)
    except ConfigError as exc:
        is_named = options.conditions and LADDER not in options.conditions
        if is_named or options.sandbox != "auto":
            raise
        note(f"left out the conditions with python: {exc}")
        return tuple(c for c in conditions if not needs_sandbox(c)), None


def _with_strategy(condition: Condition, options: RunOptions, task: Task) -> Condition:
    """The condition with the strategy of the options."""
    from agent_env.graph.strategies import make_strategy
    from agent_env.tasks.templates import example_turns

    name, strategy, is_hosted = condition.name, condition.strategy, options.web_mode == "hosted"
    if is_hosted and task.setup is not None and needs_sandbox(condition):
        raise ConfigError(f"condition '{name}': a provider's interpreter cannot be prepared by us")
    if options.strategy not in (None, strategy) and strategy != Condition(name=name).strategy:
        raise ConfigError(f"condition '{name}' has the strategy {strategy}; drop --strategy")
    if is_hosted and strategy == "one-round":
        raise ConfigError(f"condition '{name}': a provider's own web cannot be withdrawn")
    result = condition.model_copy(update={"strategy": options.strategy or strategy})
    make_strategy(result, task.prompt, example_turns(task), task.strategies, options.plugins)
    return result


def episode_limits(
    limits: Mapping[str, Any], task: Task, conditions: Sequence[Condition]
) -> dict[str, Any]:
    """The task's limits, overridden by these; ConfigError for a limit of a tool that there is
    not."""
    defaults: dict[str, Any] = asdict(task.limits)
    overrides = {name: limits[name] for name in defaults if name in limits}
    known = sorted({*tool_names(), *(tool for each in conditions for tool in each.tools)})
    for tool in overrides.get("per_tool") or ():
        if tool not in known:
            raise ConfigError(f"--tool-limit: no tool '{tool}'; {suggestion(tool, known)}")
    return defaults | overrides
