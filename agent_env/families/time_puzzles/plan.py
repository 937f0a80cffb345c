"""Chooses a puzzle's kinds of facts: balanced over levels, no category twice (Algorithm 2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from agent_env.families.time_puzzles.candidates import FactKind
from agent_env.families.time_puzzles.facts import Level

Relation = Literal["year", "years", "month", "day"]
"""What the date has in common with the event: its year, one of its years, its month, its day."""

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
"""Kinds that a checked puzzle with such an event cannot have: they follow from the event, or make
it guessable by leaving fewer than ten values."""

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
"""Sampling weights of a checked puzzle's outline: the relation to the event, and the leading kind
("" is any). With a month or a day the leading kind bounds the years, so that the puzzle is closed;
days of the year need an event of several years. The columns are: up to 4 facts with up to 3
solutions and with more, 5 facts likewise, more facts. Narrow years and days need few facts; further
ones would be unnecessary."""

FEATURED = 0.6
"""Share of puzzles that shall have a fact of a further calendar, where the user names any."""

FEATURE_LEADS: dict[str, tuple[float, float, float, float, float]] = {
    "solar_term": (1, 1, 1, 0, 0),
    "church_day": (1, 1, 1, 1, 0),
}
"""Kinds of one day a year, which lead a puzzle with an event of several years; columns as in
OUTLINES. More facts beside such a day would be unnecessary."""

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
"""Groups of largely redundant kinds, of which a checked puzzle has at most one; but several kinds
may bound the years if none states the year."""


MANY = 5
"""From this number of further kinds on, they are drawn with equal weights, because narrow kinds
would make the others unnecessary."""


@dataclass(frozen=True, slots=True)
class Outline:
    """The core of a puzzle; kept for several plans, so that difficult outlines are as frequent as
    their weights."""

    relation: Relation
    lead: str
    """The first kind; "" is any."""
    feature: str = ""
    """A kind of another calendar that the puzzle shall have; "" is none."""


def draw_outline(
    open_: Collection[str],
    facts: int,
    solutions: int,
    checked: bool,
    failed: Collection[Outline],
    features: Sequence[str],
    rng: Random,
) -> Outline:
    """An outline randomly drawn by weight, preferring those that have not failed; without checks,
    only the relation is drawn. Most have one of the features."""
    feature = rng.choice(features) if features and rng.random() < FEATURED else ""
    if not checked:
        return Outline(rng.choice(("year", "years", "month", "day")), "", feature)
    column = 4 if facts > 5 else 2 * (max(facts, 4) - 4) + (solutions > 3)
    usual = {key: w[column] for key, w in OUTLINES.items() if not key[1] or key[1] in open_}
    weights = {outline: w for outline, w in _featuring(feature, column, usual).items() if w}
    if not weights:
        weights = {Outline(*key): w for key, w in usual.items() if w}
    untried = {outline: w for outline, w in weights.items() if outline not in failed} or weights
    (outline,) = rng.choices(list(untried), list(untried.values()))
    return outline


def _featuring(
    feature: str, column: int, usual: Mapping[tuple[Relation, str], float]
) -> dict[Outline, float]:
    """The outlines with the feature, with their weights."""
    if feature in FEATURE_LEADS:
        relations: tuple[Relation, ...] = (
            ("years", "day") if feature == "church_day" else ("years",)
        )
        weight = FEATURE_LEADS[feature][column]
        return {Outline(relation, feature): weight for relation in relations}
    return {
        Outline(relation, lead, feature): weight
        for (relation, lead), weight in usual.items()
        if feature not in UNFIT[relation]
        and feature not in _EXCLUDED.get(lead, ())
        and (lead == "" or feature != lead)
    }


_ByLevel = dict[Level, list[FactKind]]
"""The kinds that can still be drawn."""


def plan_kinds(
    kinds: Mapping[str, FactKind], outline: Outline, count: int, checked: bool, rng: Random
) -> list[FactKind]:
    """Up to `count` kinds beside the event; `checked` excludes combinations that the checks
    reject."""
    unfit = UNFIT[outline.relation] if checked else frozenset()
    open_: _ByLevel = {"year": [], "month": [], "day": []}
    for kind in kinds.values():
        if kind.name not in unfit:
            open_[kind.level].append(kind)
    event_level: Level = "year" if outline.relation == "years" else outline.relation
    level_counts: dict[Level, int] = {"year": 0, "month": 0, "day": 0}
    level_counts[event_level] += 1
    selection: list[FactKind] = []
    for name in (outline.lead, outline.feature):
        named = [kind for own in open_.values() for kind in own if kind.name == name]
        if named and len(selection) < count:
            selection.append(_take(open_, named, checked, False, rng))
            level_counts[selection[-1].level] += 1
    while len(selection) < count and any(open_.values()):
        kind = _take(open_, _least_used(open_, level_counts), checked, count >= MANY, rng)
        level_counts[kind.level] += 1
        selection.append(kind)
    return selection


def _least_used(open_: _ByLevel, level_counts: Mapping[Level, int]) -> list[FactKind]:
    """The remaining kinds of the levels with the fewest facts so far."""
    fewest = min([level_counts[level] for level, kinds in open_.items() if kinds])
    return [k for level, kinds in open_.items() if level_counts[level] == fewest for k in kinds]


def _take(
    open_: _ByLevel, among: list[FactKind], checked: bool, evenly: bool, rng: Random
) -> FactKind:
    """Draws a kind by weight; removes its category and conflicting kinds from `open_`."""
    kind = rng.choice(among) if evenly else rng.choices(among, [k.weight for k in among])[0]
    excluded = _EXCLUDED.get(kind.name, frozenset()) if checked else frozenset()
    category = kind.category
    for level, kinds in open_.items():
        open_[level] = [k for k in kinds if k.category != category and k.name not in excluded]
    return kind


def _excluded_by(name: str) -> frozenset[str]:
    """The conflicting kinds in a checked puzzle."""
    if name in _YEAR_PINS:
        return frozenset({"explicit_year"})
    return frozenset().union(*(group for group in CONFLICTS if name in group))


_EXCLUDED = {name: _excluded_by(name) for name in frozenset().union(*CONFLICTS)}
