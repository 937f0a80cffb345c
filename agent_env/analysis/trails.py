"""The trails of a run's episodes, counted by condition: for people and for machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agent_env.scoring.evidence import VERDICTS, Lookup, Trail

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
        return sum(bool(getattr(found, stage)) for found in self.lookups) / len(self.lookups)

    def as_json(self) -> dict[str, object]:
        """All figures."""
        return {
            "episodes": self.episodes,
            "without_verdict": self.without,
            "verdicts": {name: self.verdicts[name] for name in VERDICTS},
            "lookups": len(self.lookups),
            **{stage: self.share(stage) for stage in STAGES},
        }


def summarise_trails(trails: Sequence[Trail], conditions: Sequence[str]) -> list[TrailSummary]:
    """One summary for each condition, in the order given."""
    found = []
    for condition in conditions:
        own = [trail for trail in trails if trail.condition == condition]
        judged = [trail for trail in own if trail.verdict is not None]
        found.append(
            TrailSummary(
                condition=condition,
                episodes=len(own),
                without=len(own) - len(judged),
                verdicts=Counter(trail.verdict for trail in judged if trail.verdict),
                lookups=tuple(lookup for trail in judged for lookup in trail.lookups),
            )
        )
    return found


def trail_table(summaries: Sequence[TrailSummary], title: str) -> Table:
    """Verdicts by episode, and how far lookups came."""
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("condition", no_wrap=True)
    names = [name for name in VERDICTS if any(row.verdicts[name] for row in summaries)]
    for name in ("episodes", *names, "no verdict", "lookups", *STAGES):
        table.add_column(name, justify="right", no_wrap=True)
    for row in summaries:
        shares = (row.share(stage) for stage in STAGES)
        table.add_row(
            row.condition,
            str(row.episodes),
            *(str(row.verdicts[name]) for name in names),
            str(row.without),
            str(len(row.lookups)),
            *("-" if share is None else f"{share:.3f}" for share in shares),
        )
    table.caption = (
        "episodes by verdict; parts of the lookups that came so far: used means that the model "
        "wrote the right date or its answer fits it, shown to it or not"
    )
    return table


def trail_json(trail: Trail) -> dict[str, object]:
    """One episode, with each of its lookups."""
    return asdict(trail)
