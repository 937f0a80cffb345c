"""The list of a run's episodes, filtered, with sums over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from agent_env.records.schema import StopReason
from agent_env.tasks.where import parse_where

if TYPE_CHECKING:
    from agent_env.episodes.index import EpisodeRow, Totals
    from agent_env.runs.run import Run


def list_episodes(
    run: Run, where: Sequence[str], limit: int | None
) -> tuple[list[EpisodeRow], Totals]:
    """The episodes that satisfy all filters, and sums over all of them; traces that did not change
    since the last time are not read."""
    from agent_env.episodes.index import Index

    filters = [parse_where(text) for text in where]
    known = {
        "condition": [condition.name for condition in run.manifest().conditions],
        "status": ["finished", "failed", "unfinished", "broken"],
        "stop_reason": get_args(StopReason),
    }
    index = Index(run)
    try:
        index.update()
        index.check(filters, known)
        return index.rows(filters, limit), index.totals(filters)
    finally:
        index.close()
