"""Which kinds of facts a puzzle gets: balanced over levels, no category twice (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from agent_env.families.time_puzzles.candidates import FactKind
from agent_env.families.time_puzzles.facts import Level

Relation = Literal["year", "years", "month", "day"]
"""What the date shares with the event: its year, one of its years, its month, its day."""

_YEAR_PINS = {"decade", "year_range", "leap_year", "person_alive", "us_president", "event",
              "japanese_era"}  # fmt: skip
_MONTHS = {"month", "season", "lunar_month", "western_zodiac", "hebrew_month", "islamic_month",
           "persian_month", "ethiopic_month", "coptic_month", "indian-civil_month"}  # fmt: skip
_YEAR_DAYS = {"day_of_year", "weekday_in_year", "church_day", "solar_term"}
_EXACT_DAYS = {"day_of_month_specific", "first_day_of_month", "last_day_of_month"}

UNFIT: dict[Relation, frozenset[str]] = {
    "year": frozenset({"explicit_year", *_YEAR_PINS, *_YEAR_DAYS}),
    "years": frozenset({"explicit_year"}),
    "month": frozenset(_MONTHS | _YEAR_DAYS),
    "day": frozenset({*_EXACT_DAYS, "weekday_in_month", *_YEAR_DAYS} - {"church_day"}),
}
"""Kinds that cannot stand beside such an event in a checked puzzle: they follow from it, or they
leave it fewer than ten values, so that it could be guessed."""

OUTLINES: dict[tuple[Relation, str], tuple[float, float, float, float, float]] = {
    ("year", ""): (1, 1, 3, 3, 0),
    ("years", ""): (0, 1, 2, 22, 8),
    ("years", "day_of_year"): (24, 62, 2, 0, 0),
    ("years", "weekday_in_year"): (22, 52, 0, 0, 0),
    ("years", "first_day_of_month"): (1, 1, 22, 6, 0),
    ("years", "last_day_of_month"): (1, 1, 22, 6, 0),
    ("years", "day_of_month_specific"): (1, 1, 22, 4, 0),
    ("month", "first_day_of_month"): (1, 1, 11, 4, 0),
    ("month", "last_day_of_month"): (1, 1, 11, 4, 0),
    ("month", "day_of_month_specific"): (1, 1, 10, 4, 0),
    ("month", "year_range"): (0, 0, 0, 2, 2),
    ("month", "person_alive"): (0, 0, 0, 2, 2),
    ("month", "us_president"): (0, 0, 0, 2, 1),
    ("month", "event"): (0, 0, 0, 2, 2),
    ("month", "japanese_era"): (1, 1, 3, 3, 4),
    ("day", "explicit_year"): (300, 0, 0, 0, 0),
    ("day", "decade"): (1, 5, 6, 19, 4),
    ("day", "year_range"): (0, 1, 1, 8, 12),
    ("day", "person_alive"): (0, 0, 1, 6, 10),
    ("day", "us_president"): (1, 4, 4, 14, 3),
    ("day", "event"): (0, 0, 2, 8, 10),
    ("day", "japanese_era"): (1, 1, 4, 4, 4),
}
"""What a checked puzzle is built around: the relation to the event, and the kind that comes first
beside it ("" is any). Beside a month or a day it bounds the years, so that the puzzle can be
closed; days of the year can be asked for only beside an event of several years. The weights are
for up to 4 facts with up to 3 solutions and with more, for 5 facts likewise, and for more facts:
where years and days are narrow, few facts suffice and more would be idle."""

CONFLICTS = (
    frozenset({"weekday", "multi_weekday", "weekday_in_month", "weekday_in_year"}),
    frozenset({"month", "season"}),
    frozenset({*_EXACT_DAYS, "day_of_month"}),
    frozenset({"explicit_year", *_YEAR_PINS}),
    frozenset(
        {"day_of_year", "weekday_in_year", "solar_term", "month", "season", "western_zodiac"}
    ),
    frozenset({"day_of_year", *_EXACT_DAYS}),
)
"""Of each of these groups a checked puzzle has one kind at most, as one mostly says what the other
does; but several kinds that bound the years may stand together if none names the year."""


MANY = 5
"""Beside the event; so many kinds are drawn evenly, as narrow ones would make the others idle."""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a puzzle is built around; kept while several plans are tried, so that what is hard to
    build is as frequent as its weight says."""

    relation: Relation
    lead: str
    """The kind that comes first; "" is any."""


def draw_outline(
    open_: Collection[str],
    facts: int,
    solutions: int,
    checked: bool,
    failed: Collection[Outline],
    rng: Random,
) -> Outline:
    """A relation to an event and a leading kind, by weight, none that was tried in vain while
    there are others; without checks, any may lead."""
    if not checked:
        return Outline(rng.choice(("year", "years", "month", "day")), "")
    column = 4 if facts > 5 else 2 * (max(facts, 4) - 4) + (solutions > 3)
    weights = {
        Outline(*key): w[column]
        for key, w in OUTLINES.items()
        if w[column] and (not key[1] or key[1] in open_)
    }
    untried = {outline: w for outline, w in weights.items() if outline not in failed} or weights
    (outline,) = rng.choices(list(untried), list(untried.values()))
    return outline


def plan_kinds(
    kinds: Mapping[str, FactKind], outline: Outline, count: int, checked: bool, rng: Random
) -> list[FactKind]:
    """`count` kinds beside an event, fewer where there are not enough; `checked` leaves out what
    does not go together, as the checks would refuse the puzzle."""
    unfit = UNFIT[outline.relation] if checked else frozenset()
    open_ = {kind.name: kind for kind in kinds.values() if kind.name not in unfit}
    event_level: Level = "year" if outline.relation == "years" else outline.relation
    level_counts: dict[Level, int] = {"year": 0, "month": 0, "day": 0}
    level_counts[event_level] += 1
    selection: list[FactKind] = []
    if outline.lead and count:
        selection.append(_take(open_, [open_[outline.lead]], checked, False, rng))
        level_counts[selection[0].level] += 1
    while len(selection) < count and open_:
        kind = _take(open_, _least_used(open_, level_counts), checked, count >= MANY, rng)
        level_counts[kind.level] += 1
        selection.append(kind)
    return selection


def _least_used(open_: Mapping[str, FactKind], level_counts: Mapping[Level, int]) -> list[FactKind]:
    """The kinds left of those levels that have the fewest facts so far."""
    by_level: dict[Level, list[FactKind]] = {level: [] for level in level_counts}
    for kind in open_.values():
        by_level[kind.level].append(kind)
    fewest = min([level_counts[level] for level, kinds in by_level.items() if kinds])
    return [k for level, kinds in by_level.items() if level_counts[level] == fewest for k in kinds]


def _take(
    open_: dict[str, FactKind], among: list[FactKind], checked: bool, evenly: bool, rng: Random
) -> FactKind:
    """Draw one by weight, and take away its category and what does not go with it."""
    kind = rng.choice(among) if evenly else rng.choices(among, [k.weight for k in among])[0]
    excluded = _EXCLUDED.get(kind.name, frozenset()) if checked else frozenset()
    category = kind.category
    gone = [n for n, other in open_.items() if other.category == category or n in excluded]
    for name in gone:
        del open_[name]
    return kind


def _excluded_by(name: str) -> frozenset[str]:
    """What cannot stand beside a kind in a checked puzzle."""
    if name in _YEAR_PINS:
        return frozenset({"explicit_year"})
    return frozenset().union(*(group for group in CONFLICTS if name in group))


_EXCLUDED = {name: _excluded_by(name) for name in frozenset().union(*CONFLICTS)}
