"""The command `generate`: a set of any task's questions."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from agent_env.cli.options import with_options
from agent_env.cli.run import listening, say

if TYPE_CHECKING:
    from agent_env.runs.generate import GenerateOptions, Wording

SHOWN = 12
"""Kinds of things left out that are printed."""


@with_options("agent_env.runs.generate:GenerateOptions")
def generate(options: GenerateOptions) -> None:
    """Make a set of puzzles, or of another task's questions.

    Example: agent-env generate time-puzzles --count 600 --seed 7 --out puzzles.jsonl
    """
    from agent_env.errors import ConfigError
    from agent_env.runs.generate import make_set

    with listening() as (listener, _):
        done = asyncio.run(make_set(options, listener))
    made = done.made
    say(f"{len(made.samples)} questions in {options.out}; told in full in {done.summary}")
    left_out = sorted(made.left_out.items(), key=lambda pair: -pair[1])
    for what, number in left_out[:SHOWN]:
        say(f"  left out: {number} {what}")
    if len(left_out) > SHOWN:
        say(f"  and {len(left_out) - SHOWN} more")
    for remark in done.remarks:
        say(remark)
    if done.wording is not None:
        _tell_wording(done.wording)
    if made.missing:
        raise ConfigError(f"{len(made.missing)} questions are missing: {made.missing[0]}")


def _tell_wording(done: Wording) -> None:
    """How many questions are in the model's words, why others are not, and what it cost."""
    kept = done.questions - done.worded
    say(
        f"{done.worded} of {done.questions} questions in the words of {done.model}; "
        f"{kept} ({kept / done.questions:.1%}) keep the template's:"
    )
    for reason, number in done.refused.items():
        say(f"  {number} {reason}")
    cost = done.totals
    tokens = [f"{_count(cost.input_tokens)} in", f"{_count(cost.output_tokens)} out"]
    say(f"tokens: {', '.join(tokens)}; {cost.calls} calls, {cost.failed_calls} of them failed")
    if done.answered < done.queries:
        why = f": {done.stopped}" if done.stopped else ""
        say(f"{done.answered} of {done.queries} queries had a reply{why}; the same command asks on")
    if not done.answered:
        sys.exit(1)


def _count(tokens: int | None) -> str:
    return "unknown" if tokens is None else f"{tokens:,}"
