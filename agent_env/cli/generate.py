"""The command `generate`: a set of any task's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_env.cli.options import with_options
from agent_env.cli.run import listening, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_env.runs.generate import GenerateOptions, SolvedByShortcut

MAX_SHOWN = 12
"""Kinds of things left out that are printed."""
SHOWN_SOLVED = 5


@with_options("agent_env.runs.generate:GenerateOptions")
def generate(options: GenerateOptions) -> None:
    """Make a set of puzzles, or of another task's questions.

    Example: agent-env questions generate time-puzzles --limit 600 --seed 7 --out puzzles.jsonl
    """
    import asyncio

    from agent_env.errors import ConfigError
    from agent_env.runs.generate import make_set

    with listening() as (listener, _):
        result = asyncio.run(make_set(options, listener))
    questions = result.sample_set
    say(f"{len(questions.samples)} questions in {options.out}; details: {result.summary}")
    if result.tier is not None:
        say(f"difficulty {result.tier}")
    skipped = sorted(questions.left_out.items(), key=lambda pair: -pair[1])
    for what, number in skipped[:MAX_SHOWN]:
        say(f"  left out: {number} {what}")
    if len(skipped) > MAX_SHOWN:
        say(f"  and {len(skipped) - MAX_SHOWN} more")
    _report_shortcuts(result.solved, len(questions.samples))
    for note in questions.notes:
        say(note)
    if questions.missing:
        raise ConfigError(f"{len(questions.missing)} questions are missing: {questions.missing[0]}")


def _report_shortcuts(solved: Sequence[SolvedByShortcut], total: int) -> None:
    """How many questions each shortcut answers rightly, and which of them are too easy."""
    if not solved or not total:
        return
    shares = [
        f"{each.name} {len(each.samples)} ({len(each.samples) / total:.1%})" for each in solved
    ]
    say(f"shortcuts answer rightly, of {total}: {', '.join(shares)}")
    for each in solved:
        if each.is_flagged and each.samples:
            first = ", ".join(each.samples[:SHOWN_SOLVED])
            more = "" if len(each.samples) <= SHOWN_SOLVED else "; the summary lists all"
            say(f"  too easy, as {each.name} answers {each.rule}: {first}{more}")
