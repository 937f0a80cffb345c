"""Outside agents beside our own loop: one model in several harnesses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from agent_env.features.agents import AGENT
from agent_env.sdk.records import StopReason
from agent_env.sdk.results import (
    Arm,
    Cell,
    Column,
    Comparison,
    Observation,
    ResultTable,
    Statistic,
)

LIMITS = frozenset(get_args(StopReason)) - {"answered", "truncated", "refused", "repetition",
                                            "crashed", "other"}  # fmt: skip
"""Reasons to stop that are limits of an episode."""
USED = ("steps", "tool_calls", "input_tokens", "output_tokens", "cost_usd")
NOTES = (
    "First prompt: input tokens of the first model call, tools included. Added by the agent: the "
    "share of it that our own loop does not send under the same condition, to the same samples. "
    "Tool calls are those of the condition's tools; own calls those of tools that the agent has "
    "itself, whose results are not recorded. At a limit: its next call was refused, and it ended. "
    "Crashed: it ended with an error, or went on after a limit and was killed.",
)


@Statistic(
    "agents", order=24, section="Results", in_score=True,
    without_rows="No condition has somebody else's agent; --agent of run gives it one.",
).of  # fmt: skip
def agents(comparison: Comparison) -> ResultTable:
    """A row for each arm of an agent, and of our loop under the same conditions."""
    arms = comparison.study.arms
    by_agents = [arm for arm in arms if arm.condition.agent is not None]
    shown = [arm for arm in arms if arm in by_agents or any(_is_twin(arm, a) for a in by_agents)]
    rows = tuple(tuple(_cells(comparison, arm)) for arm in shown) if by_agents else ()
    columns = (
        Column("condition"), Column("agent"), Column(comparison.metric, rank=0),
        Column("steps", 1), Column("tool calls", 1), Column("own calls", 1),
        Column("tokens in", 0), Column("out", 0), Column("USD", 4, if_any=True),
        Column("first prompt", 0), Column("added by the agent"), Column("at a limit", 0),
        Column("crashed", 0), Column("n", 0),
    )  # fmt: skip
    return ResultTable("agents", "How does one model do in several agents?", columns, rows, NOTES)


def _cells(comparison: Comparison, arm: Arm) -> Iterator[Cell]:
    agent, finished = arm.condition.agent, arm.finished
    yield arm.label
    yield "loop" if agent is None else f"{agent.name} {agent.version or ''}".strip()
    yield comparison.estimates_over([arm], comparison.metric)[0].cell
    for name in USED:
        yield _mean([each.used[name] for each in finished])
        if name == "tool_calls":
            yield _mean([each.own_calls for each in arm.episodes])
    yield _mean([_first(each) for each in finished])
    yield None if agent is None else _added(arm, comparison.study.arms)
    yield sum(each.stop_reason in LIMITS for each in arm.episodes)
    yield sum(each.stop_reason == "crashed" for each in arm.episodes)
    yield len({each.sample for each in finished})


def _is_twin(ours: Arm, by_agent: Arm) -> bool:
    """Whether it is the same condition by our own loop, in the same run."""
    return (
        ours.run == by_agent.run
        and ours.condition.agent is None
        and AGENT.is_twin(ours.condition, by_agent.condition)
    )


def _added(arm: Arm, arms: tuple[Arm, ...]) -> float | None:
    """The share of its first prompts that our loop does not send; None without our loop's."""
    twin = next((each for each in arms if _is_twin(each, arm)), None)
    before = {} if twin is None else {each.sample: _first(each) for each in twin.finished}
    pairs = [(_first(each), before.get(each.sample)) for each in arm.finished]
    known = [(sent, ours) for sent, ours in pairs if sent is not None and ours is not None]
    total = sum(sent for sent, _ in known)
    return (total - sum(ours for _, ours in known)) / total if total else None


def _first(each: Observation) -> int | None:
    return None if each.episode is None else each.episode.first_input_tokens


def _mean(values: list[float | None] | list[int] | list[int | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
