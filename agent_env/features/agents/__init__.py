"""Outside agents drive episodes: their model calls and tool calls come to us, and go into
the trace as those of our own loop do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from agent_env.sdk.commands import WHAT, Opt
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Feature, Modifier
from agent_env.sdk.records import AgentUse, Condition, Reach

if TYPE_CHECKING:
    from agent_env.sdk.run import Draft, RunOptions

OUR_LOOP = "loop"
"""Stands for our own loop among agents."""


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Whose loop it is."""

    agents: Annotated[
        tuple[str, ...],
        Opt(
            "Each condition by somebody else's agent, as web~by-codex: a name (agent-env docs "
            "agents), a file NAME.toml, or a command line with {prompt} in it; loop: ours. "
            "Repeatable.",
            WHAT,
            "--agent",
            manifest="conditions",
            reach=Reach.COMMAND,
        ),
    ] = ()


def _agent(text: str) -> AgentUse:
    from agent_env.features.agents.files import read

    name = text.removeprefix("by-")
    if not re.fullmatch("[a-z0-9-]+", name):
        raise ConfigError(f"~{text}: name an agent; --agent takes files and commands, too")
    return read(name)


AGENT = Modifier(
    "agent", ("agents",), ("by-NAME",), _agent, lambda agent: f"by-{agent.name}",
    lambda condition, _: None
    if condition.strategy == "tool-loop"
    else "strategies are of our own loop; leave them out, or the agent",
    sets=(("first_step", "auto"),),  # which an agent makes as it likes
)  # fmt: skip


def values(
    options: AgentOptions, of_run: RunOptions, conditions: Sequence[Condition]
) -> Mapping[str, Sequence[Any]]:
    """The agents that are named, None for our own loop."""
    from agent_env.features.agents.files import read

    named = dict.fromkeys(options.agents)
    found = [None if name == OUR_LOOP else read(name) for name in named]
    known = [each.name for each in found if each is not None]
    if twice := next((name for name in known if known.count(name) > 1), None):
        raise ConfigError(f"--agent: two agents are called {twice}; write each to a file NAME.toml")
    return {AGENT.key: found}


def plan(draft: Draft, options: AgentOptions) -> Draft:
    """The run, which notes that it has agents."""
    if all(each.agent is None for each in draft.conditions):
        return draft
    if not (draft.is_call_by_call or draft.is_again):
        raise ConfigError("--agent is for runs whose model answers call by call; leave it out")
    return replace(draft, settings={**draft.settings, "agents": {}})


FEATURE = Feature(
    "agents",
    options=AgentOptions,
    modifiers=(AGENT,),
    values=values,
    plan=plan,
    tables=("agent_env.features.agents.tables:agents",),
    after=("batch", "evidence"),
)
