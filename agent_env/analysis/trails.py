"""The trails of a run's episodes, counted by condition: for people and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from agent_env.analysis.result_tables import Column, ResultTable
from agent_env.scoring.evidence import DIAGNOSES, Lookup, Trail

STAGES = ("returned", "opened", "cited", "shown", "used")


@dataclass(frozen=True, slots=True)
class TrailSummary:
    """One condition."""

    condition: str
    episodes: int
    without: int
    """Episodes that did not finish, or whose samples say nothing of proofs: no verdict."""
    verdicts: Counter[str]
    lookups: tuple[Lookup, ...]
    """Of all episodes with a verdict."""

    def share(self, stage: str) -> float | None:
        """Part of the lookups of which the claim holds; None where there are none."""
        if not self.lookups:
            return None
        return sum(bool(getattr(lookup, stage)) for lookup in self.lookups) / len(self.lookups)

    def as_json(self) -> dict[str, object]:
        """All figures."""
        return {
            "episodes": self.episodes,
            "without_verdict": self.without,
            "verdicts": {name: self.verdicts[name] for name in DIAGNOSES},
            "lookups": len(self.lookups),
            **{stage: self.share(stage) for stage in STAGES},
        }


def summarise_trails(trails: Sequence[Trail], conditions: Sequence[str]) -> list[TrailSummary]:
    """One summary for each condition, in the order given."""
    summaries = []
    for condition in conditions:
        own = [trail for trail in trails if trail.condition == condition]
        judged = [trail for trail in own if trail.verdict is not None]
        summaries.append(
            TrailSummary(
                condition=condition,
                episodes=len(own),
                without=len(own) - len(judged),
                verdicts=Counter(trail.verdict for trail in judged if trail.verdict),
                lookups=tuple(lookup for trail in judged for lookup in trail.lookups),
            )
        )
    return summaries


def trail_table(summaries: Sequence[TrailSummary], title: str) -> ResultTable:
    """Verdicts by episode, and how far lookups came."""
    columns = (
        Column("condition"), Column("episodes", 0), *(Column(name, 0) for name in DIAGNOSES),
        Column("no verdict", 0), Column("lookups", 0), *(Column(stage) for stage in STAGES),
    )  # fmt: skip
    rows = tuple(
        (
            row.condition, row.episodes, *(row.verdicts[name] for name in DIAGNOSES), row.without,
            len(row.lookups), *(row.share(stage) for stage in STAGES),
        )
        for row in summaries
    )  # fmt: skip
    note = (
        "episodes by verdict; parts of the lookups that came so far: used means that the model "
        "wrote the right date or its answer fits it, shown to it or not"
    )
    return ResultTable("evidence", title, columns, rows, (note,))


def trail_json(trail: Trail) -> dict[str, object]:
    """One episode, with each of its lookups."""
    return asdict(trail)
