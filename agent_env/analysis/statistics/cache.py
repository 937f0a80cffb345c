"""How much of the input came from the provider's prompt cache, and how much could have."""

from __future__ import annotations

from collections.abc import Iterator

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.study import Arm
from agent_env.analysis.totals import sum_known

LEAST_CACHED = 1_024
"""Tokens from which on most providers cache a prefix."""


@Statistic(
    "cache", order=31, section="Results", in_score=True,
    without_rows="The usage of the replies names no tokens of a prompt cache.",
).of  # fmt: skip
def cache(comparison: Comparison) -> ResultTable:
    """A row for each arm whose replies all tell what the cache held."""
    rows: list[tuple[Cell, ...]] = []
    notes: list[str] = []
    for arm in comparison.study.arms:
        sent, cached = (_sum(arm, name) for name in ("input_tokens", "cached_tokens"))
        repeated = sum_known(
            [o.episode.repeated_tokens if o.episode else None for o in arm.observations]
        )
        if sent and cached is not None:
            could = None if repeated is None else repeated / sent
            rows.append((arm.label, sent, cached, cached / sent, could))
            notes += _reasons(arm, cached / sent, could, sent)
    columns = (
        Column("condition"), Column("tokens in", 0), Column("cached", 0),
        Column("cached share"), Column("could be"),
    )  # fmt: skip
    about = (
        "Could be: the share of the input that stood in the same episode's request before it, "
        "too; what one episode shares with others comes on top."
    )
    return ResultTable(
        "cache", "How much of the input was cached?", columns, tuple(rows), (about, *notes)
    )


def _sum(arm: Arm, name: str) -> float | None:
    return sum_known([each.used[name] for each in arm.observations])


def _reasons(arm: Arm, share: float, could: float | None, sent: float) -> Iterator[str]:
    if could is None or share >= 0.5 * could:
        return
    steps = _sum(arm, "steps")
    mean = sent / steps if steps else 0.0
    reason = (
        f"Providers cache prefixes of about {LEAST_CACHED:,} tokens or more; its requests have "
        f"{mean:,.0f} on average."
        if mean < LEAST_CACHED
        else "Its prefix was lost on the way, by pauses of more than five minutes, by outputs that "
        "were cut (--fit-context), or on another machine of the provider; ask fewer episodes at a "
        "time (--concurrency)."
    )
    yield f"{arm.label}: {share:.0%} of the input was cached, where {could:.0%} could be. {reason}"
