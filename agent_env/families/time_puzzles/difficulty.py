"""How difficult a puzzle is, as quantities that can be counted, and targets for them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.candidates import CALENDAR_KINDS, Entry
from agent_env.families.time_puzzles.guarantees import SPELLED_OUT
from agent_env.families.time_puzzles.sample import Difficulty
from agent_env.families.time_puzzles.solver import solve
from agent_env.features.facts.tables.tables import EventRow
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import DaySet

LOOKED_UP = (ft.KbEvent, ft.PersonAlive, ft.UsPresident)
"""Facts whose dates are on a page."""
OTHER_CALENDARS = (*SPELLED_OUT, ft.JapaneseEra)
OTHER_CALENDAR_KINDS = frozenset(kind for kinds in CALENDAR_KINDS.values() for kind in kinds)
QUANTITIES = tuple(Difficulty.model_fields)


def difficulty_of(
    entries: Sequence[Entry], events: Mapping[str, EventRow], everything: DaySet
) -> Difficulty:
    """The quantities of a puzzle with these facts."""
    facts = [entry.fact for entry in entries]
    looked_up = [fact for fact in facts if isinstance(fact, LOOKED_UP)]
    described = [f for f in looked_up if isinstance(f, ft.KbEvent) and events[f.event].hint]
    cheap = [e.days for e in entries if not isinstance(e.fact, (*LOOKED_UP, *OTHER_CALENDARS))]
    return Difficulty(
        lookups=len(looked_up),
        pages=len(looked_up) + len(described),
        hops=sum(isinstance(fact, OTHER_CALENDARS) for fact in facts),
        candidates=solve(cheap, everything).bit_count(),
    )


@dataclass(frozen=True, slots=True)
class Target:
    """Bounds of the quantities that puzzles shall have; hashable."""

    bounds: tuple[tuple[str, int, int], ...] = ()
    """Quantity, least and most value."""

    def admits(self, difficulty: Difficulty) -> bool:
        """Whether all quantities lie within their bounds."""
        return all(low <= getattr(difficulty, name) <= high for name, low, high in self.bounds)

    def admits_kinds(self, names: Sequence[str]) -> bool:
        """Whether an event and facts of these kinds have the look-ups and hops."""
        lookups = 1 + len(frozenset({"person_alive", "us_president"}).intersection(names))
        hops = len(OTHER_CALENDAR_KINDS.intersection(names))
        counts = {"lookups": lookups, "hops": hops}
        return all(low <= counts.get(name, low) <= high for name, low, high in self.bounds)

    def __str__(self) -> str:
        return ",".join(f"{name}={low}-{high}" for name, low, high in self.bounds)


ANY = Target()
"""Any difficulty."""


def parse_target(texts: Sequence[str]) -> Target:
    """From texts such as `lookups=2`, `candidates=100-5000`; ConfigError for an invalid one."""
    bounds: dict[str, tuple[str, int, int]] = {}
    for text in texts:
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
        known = f"write QUANTITY=A-B; quantities: {', '.join(QUANTITIES)}"
        if match is None:
            raise ConfigError(f"--option difficulty: '{text}' is not a target; {known}")
        name, low, high = match[1], int(match[2]), int(match[3] or match[2])
        if name not in QUANTITIES:
            raise ConfigError(f"--option difficulty: no quantity '{name}'; {known}")
        if low > high:
            raise ConfigError(f"--option difficulty: '{text}' is reversed; write {high}-{low}")
        if name in bounds:
            raise ConfigError(f"--option difficulty: {name} is given twice")
        bounds[name] = (name, low, high)
    return Target(tuple(bounds.values()))
