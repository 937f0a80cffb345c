"""Whether results of look-ups prove so many facts of a puzzle that its solutions are fixed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.difficulty import LOOKED_UP
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve
from agent_env.records.schema import Proof, Sample
from agent_env.scoring.evidence import stands_in
from agent_env.temporal.days import PUZZLE_DAYS
from agent_env.temporal.facts.tables import FactTables


class ProvedAnswer:
    """Solves puzzles by the facts that are known; caches day sets."""

    def __init__(self, tables: FactTables) -> None:
        self._sets = DaySets(PUZZLE_DAYS, tables)

    def __call__(self, sample: Sample, texts: Sequence[str]) -> bool | None:
        """Whether the facts that need no look-up, and those proved by the texts, leave the gold
        alone; None for a puzzle whose gold does not follow from its facts by these tables, and for
        one without facts. A text proves a fact if it has the address of a page that does, and its
        dates."""
        if not isinstance(sample, TimePuzzle) or not sample.facts:
            return None
        first, last = map(int, sample.years.split("-"))
        everything = PUZZLE_DAYS.span(date(first, 1, 1), date(last, 12, 31))
        try:
            sets = [self._sets.of(fact) for fact in sample.facts]
            gold = PUZZLE_DAYS.those(map(date.fromisoformat, sample.gold))
        except KeyError:
            return None
        if solve(sets, everything) != gold:
            return None
        proved = {p.constraint for p in sample.proofs if any(_states(text, p) for text in texts)}
        known = [
            days
            for number, (fact, days) in enumerate(zip(sample.facts, sets, strict=True))
            if number in proved or not isinstance(fact, LOOKED_UP)
        ]
        return solve(known, everything) == gold


def _states(text: str, proof: Proof) -> bool:
    has_page = any(url in text for url in proof.urls)
    return has_page and all(stands_in(day, text) for day in proof.dates)
