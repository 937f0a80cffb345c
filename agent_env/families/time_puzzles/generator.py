"""Generates puzzles (Time Puzzles, Algorithms 1 to 3): with an event, a hidden seed date, an exact
number of solutions, and checks.

The published generator draws facts until the number of solutions is right; this one chooses the
kinds of facts, balanced over levels and without a category twice, then a day on which all can hold,
then searches their facts.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from agent_env.families.time_puzzles.candidates import Candidates, Entry, FactKind
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.difficulty import ANY, Target, difficulty_of
from agent_env.families.time_puzzles.facts import Fact, KbEvent, Level
from agent_env.families.time_puzzles.guarantees import Guarantees, proofs_of, title_of
from agent_env.families.time_puzzles.sample import Difficulty, TimePuzzle
from agent_env.families.time_puzzles.solver import rests_of
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.facts.tables.articles import article_url
from agent_env.features.facts.tables.tables import FactTables
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.days import PUZZLE_DAYS, DayRange, DaySet

Relation = Literal["year", "years", "month", "day"]
"""What the date has in common with the event: its year, one of its years, its month, its day."""

_TABLES: Any = tomllib.loads(Path(__file__).with_name("outlines.toml").read_text(encoding="utf-8"))
OUTLINES: dict[tuple[Relation, str], list[float]] = {
    (relation, lead): weights
    for relation, leads in _TABLES["weights"].items()
    for lead, weights in leads.items()
}
"""Sampling weights by the relation to the event and the leading kind."""
UNFIT: dict[Relation, list[str]] = _TABLES["unfit"]
"""Kinds that a checked puzzle with such an event cannot have."""
FEATURED = 0.6
"""Share of puzzles that shall have a fact of a further calendar, where the user names any."""
FEATURE_LEADS: dict[str, dict[Relation, list[float]]] = _TABLES["feature_leads"]
"""Sampling weights of kinds of one day a year, which lead a puzzle, by the relations."""
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

    @property
    def is_fit(self) -> bool:
        """Whether the feature can stand beside the event and the lead."""
        others = {*UNFIT[self.relation], *_excluded_by(self.lead), self.lead}
        return not self.feature or self.feature not in others


_ByLevel = dict[Level, list[FactKind]]
"""The kinds that can still be drawn."""


def _least_used(open_: _ByLevel, level_counts: Mapping[Level, int]) -> list[FactKind]:
    """The remaining kinds of the levels with the fewest facts so far."""
    fewest = min([level_counts[level] for level, kinds in open_.items() if kinds])
    return [k for level, kinds in open_.items() if level_counts[level] == fewest for k in kinds]


def _excluded_by(name: str) -> set[str]:
    """The conflicting kinds in a checked puzzle."""
    return {kind for group in _TABLES["conflicts"] if name in group for kind in group}


MAX_TRIES = 4000
"""Plans tried for one puzzle."""
MANY_FACTS = 6
"""With more, it is their number that keeps a puzzle from being found."""
PLANS = 160
"""Plans tried with one outline before another is drawn."""
BREADTH = 8
"""Facts of one kind tried in one plan."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A puzzle's numbers of facts and solutions."""

    facts: int
    solutions: int


class Chosen(NamedTuple):
    """Facts chosen so far in a search."""

    entries: tuple[Entry, ...]
    solutions: DaySet
    """The days that all of them allow."""
    alone: tuple[DaySet, ...]
    """For each the days that it alone excludes; none: it is unnecessary, with any further facts
    too."""

    def with_fact(self, entry: Entry, solutions: DaySet, checked: bool) -> Chosen | None:
        """These facts and one more, which leaves `solutions`; None where `checked` and one of them
        is unnecessary."""
        if not checked:
            return Chosen((*self.entries, entry), solutions, ())
        last = self.solutions ^ solutions
        if not last:
            return None
        alone = []
        for days in self.alone:
            if not (own := days & entry.days):
                return None
            alone.append(own)
        return Chosen((*self.entries, entry), solutions, (*alone, last))


class NotFound(ConfigError):
    """No puzzle of a shape within the bounded search."""


def schedule(count: int, facts: Sequence[int], solutions: Sequence[int]) -> Iterator[Shape]:
    """`count` shapes, all combinations equally often, solutions varying fastest."""
    for index in range(count):
        # facts vary along with the solutions, so that a short set has all of both
        row, column = divmod(index, len(solutions))
        yield Shape(facts[(column + row) % len(facts)], solutions[column])


class Generator:
    """Draws puzzles from one set of fact tables.

    With `checked`, every puzzle is closed, necessary, robust and faithful, and its event is not
    guessable; without, only the paper's rules hold, and `checks` is None.
    """

    def __init__(
        self,
        tables: FactTables,
        days: DayRange = PUZZLE_DAYS,
        calendars: Sequence[str] = ("chinese",),
        checked: bool = True,
        target: Target = ANY,
        kinds: Sequence[str] = (),
    ) -> None:
        self._target = target
        self._days = days
        self._everything = days.everything
        self._checked = checked
        self._sets = DaySets(days, tables)
        self._wording = Wording(tables, self._sets)
        self._candidates = Candidates(tables, self._sets, calendars, kinds)
        self._open: dict[str, _ByLevel] = {}
        self._removed = {
            name: self._removed_by(kind) for name, kind in self._candidates.kinds.items()
        }
        self._guarantees = Guarantees(self._sets, tables)

    def puzzle(self, shape: Shape, rng: Random, name: str) -> TimePuzzle:
        """One puzzle of the shape. Raises NotFound after MAX_TRIES plans."""
        tried: set[Outline] = set()
        for _ in range(MAX_TRIES // PLANS):
            outline = self._outline(shape, tried, rng)
            tried.add(outline)
            for _ in range(PLANS):
                for entries, seed_date in self._draw(shape, outline, rng):
                    puzzle = self._accept(entries, seed_date, rng, name)
                    if puzzle is not None:
                        return puzzle
        advice = (
            "ask for fewer facts, which all must be necessary, or for unchecked=true"
            if shape.facts > MANY_FACTS
            else "ask for more facts or fewer solutions"
        )
        if self._target.bounds:
            advice = f"ask for less than difficulty={self._target}"
        raise NotFound(
            f"no puzzle with {shape.facts} facts and {shape.solutions} solutions was found in "
            f"{MAX_TRIES} tries; {advice}"
        )

    def _outline(self, shape: Shape, failed: Collection[Outline], rng: Random) -> Outline:
        """An outline randomly drawn by weight, preferring those that have not failed; without
        checks, only the relation is drawn. Most have one of the features."""
        features = self._candidates.features
        feature = rng.choice(features) if features and rng.random() < FEATURED else ""
        if not self._checked:
            return Outline(rng.choice(("year", "years", "month", "day")), "", feature)
        facts = shape.facts
        column = 4 if facts > 5 else 2 * (max(facts, 4) - 4) + (shape.solutions > 3)
        usual = {
            Outline(relation, lead, feature): weights[column]
            for (relation, lead), weights in OUTLINES.items()
            if (not lead or lead in self._candidates.kinds) and weights[column]
        }
        if feature in FEATURE_LEADS:
            leads = FEATURE_LEADS[feature].items()
            featuring = {
                Outline(relation, feature): w[column] for relation, w in leads if w[column]
            }
        else:
            featuring = {outline: weight for outline, weight in usual.items() if outline.is_fit}
        weights = featuring or {replace(o, feature=""): weight for o, weight in usual.items()}
        weights = {o: weight for o, weight in weights.items() if o not in failed} or weights
        (outline,) = rng.choices(list(weights), list(weights.values()))
        return outline

    def _draw(
        self, shape: Shape, outline: Outline, rng: Random
    ) -> Iterator[tuple[list[Entry], date | None]]:
        """Facts with the shape's number of solutions, for one plan; possibly none."""
        event = self._event(shape, outline, rng)
        # up to `count` kinds beside the event; `checked` excludes combinations that the checks
        # reject
        count = shape.facts - 1
        open_ = self._open_for(outline.relation)
        event_level: Level = "year" if outline.relation == "years" else outline.relation
        level_counts: dict[Level, int] = {"year": 0, "month": 0, "day": 0}
        level_counts[event_level] += 1
        kinds: list[FactKind] = []
        for name in (outline.lead, outline.feature):
            named = [kind for own in open_.values() for kind in own if kind.name == name]
            if named and len(kinds) < count:
                kinds.append(self._take(open_, named, False, rng))
                level_counts[kinds[-1].level] += 1
        while len(kinds) < count and any(open_.values()):
            kind = self._take(open_, _least_used(open_, level_counts), count >= MANY, rng)
            level_counts[kind.level] += 1
            kinds.append(kind)
        if event is None or len(kinds) < shape.facts - 1:
            return
        if self._checked and not self._target.admits_kinds([kind.name for kind in kinds]):
            return
        if shape.solutions == 0:
            yield from self._contradictions(event, kinds, rng)
            return
        domain = event.days
        for kind in kinds if self._checked else kinds[:-1]:
            domain &= kind.domain
        if domain:
            seed_date = self._days.draw(domain, rng)
            options = self._options(kinds, seed_date, rng)
            start = Chosen((event,), event.days, (self._everything ^ event.days,))
            for entries in self._search(start, options, shape.solutions):
                yield entries, seed_date

    def _removed_by(self, kind: FactKind) -> dict[Level, frozenset[str]]:
        """By level: the kinds of its category and, in a checked puzzle, those in conflict."""
        excluded = _excluded_by(kind.name) if self._checked else set()
        removed: dict[Level, frozenset[str]] = {}
        for each in self._candidates.kinds.values():
            if each.category == kind.category or each.name in excluded:
                removed[each.level] = removed.get(each.level, frozenset()) | {each.name}
        return removed

    def _take(self, open_: _ByLevel, among: list[FactKind], evenly: bool, rng: Random) -> FactKind:
        """Draws a kind by weight; removes from `open_` what cannot stand beside it."""
        kind = rng.choice(among) if evenly else rng.choices(among, [k.weight for k in among])[0]
        for level, names in self._removed[kind.name].items():
            open_[level] = [k for k in open_[level] if k.name not in names]
        return kind

    def _open_for(self, relation: Relation) -> _ByLevel:
        """The kinds that can stand beside an event with this relation."""
        if relation not in self._open:
            unfit = UNFIT[relation] if self._checked else ()
            fit = [kind for kind in self._candidates.kinds.values() if kind.name not in unfit]
            levels: tuple[Level, ...] = ("year", "month", "day")
            self._open[relation] = {
                level: [kind for kind in fit if kind.level == level] for level in levels
            }
        return dict(self._open[relation])

    def _event(self, shape: Shape, outline: Outline, rng: Random) -> Entry | None:
        """A fact about a random event; for a kind with one day a year, an event of enough years."""
        event = self._candidates.event(outline.relation, rng)
        if outline.lead not in ("day_of_year", "weekday_in_year", "solar_term", "church_day"):
            return event
        for _ in range(20):
            if event is None or event.days.bit_count() > 365 * (shape.solutions + shape.facts - 2):
                return event
            event = self._candidates.event(outline.relation, rng)
        return None

    def _options(self, kinds: Sequence[FactKind], day: date, rng: Random) -> list[Iterable[Entry]]:
        """Facts of each kind on the day, in random order; kinds with the fewest come first. By the
        paper's rules, one of each but the last, which any kind of its level can replace."""
        if not self._checked and kinds:
            singles: list[Iterable[Entry]] = [[rng.choice(k.entries(day, rng))] for k in kinds[:-1]]
            return [*singles, self._any_of_level(kinds, day, rng)]
        options = sorted((kind.entries(day, rng) for kind in kinds), key=len)
        # of the last, all that there are: one has to leave just the right number of days
        numbers = [min(BREADTH, len(entries)) for entries in options[:-1]]
        numbers += map(len, options[-1:])
        return [rng.sample(entries, n) for entries, n in zip(options, numbers, strict=True)]

    def _any_of_level(self, kinds: Sequence[FactKind], day: date, rng: Random) -> Iterator[Entry]:
        """Facts of every kind that can replace the last one, generated lazily."""
        *before, last = kinds
        categories = {kind.category for kind in before}
        others = self._candidates.kinds.values()
        free = [k for k in others if k.level == last.level and k.category not in categories]
        for kind in rng.sample(free, len(free)):
            entries = kind.entries(day, rng)
            yield from rng.sample(entries, min(BREADTH, len(entries)))

    def _search(
        self, chosen: Chosen, options: Sequence[Iterable[Entry]], solution_count: int
    ) -> Iterator[list[Entry]]:
        """Every choice of one fact from each option with `solution_count` solutions; where checked,
        without a fact that the others make unnecessary."""
        if not options:
            if chosen.solutions.bit_count() == solution_count:
                yield list(chosen.entries)
            return
        entries, *further = options
        # where checked, each further fact excludes a day
        least = solution_count + (len(further) if self._checked else 0)
        size_to = self._days.size_to
        for entry in entries:
            solutions = chosen.solutions & entry.days
            size = size_to(solutions, least)
            if size < least or (not further and size > least):
                continue
            more = chosen.with_fact(entry, solutions, self._checked)
            if more is not None:
                yield from self._search(more, further, solution_count)

    def _contradictions(
        self, event: Entry, kinds: Sequence[FactKind], rng: Random
    ) -> Iterator[tuple[list[Entry], None]]:
        """Facts that only together contradict each other: all but the last hold on one day, the
        last on other days, each of which another fact excludes."""
        *first, last = kinds
        domain = event.days
        for kind in first:
            domain &= kind.domain
        if not domain or not first:
            return
        day = self._days.draw(domain, rng)
        entries = [event, *(rng.choice(kind.entries(day, rng)) for kind in first)]
        rests = rests_of([entry.days for entry in entries], self._everything)
        common = rests[0] & entries[0].days
        for _ in range(BREADTH):
            others = rng.choice(rests) & ~common & last.domain
            if not others:
                continue
            wrong = rng.choice(last.entries(self._days.draw(others, rng), rng))
            if not common & wrong.days and all(rest & wrong.days for rest in rests):
                yield [*entries, wrong], None

    def _accept(
        self, entries: list[Entry], seed_date: date | None, rng: Random, name: str
    ) -> TimePuzzle | None:
        """The puzzle, if it has the difficulty, every check holds and it can be put in words."""
        if self._target.bounds and not self._target.admits(self._difficulty(entries)):
            return None
        facts = [entry.fact for entry in entries]
        rests = rests_of([entry.days for entry in entries], self._everything)
        answer = rests[0] & entries[0].days
        verified = self._guarantees.of(facts, rests, answer, rng, self._checked)
        if verified is None:
            return None
        checks, listed = verified
        order = rng.sample(range(len(facts)), len(facts))
        facts = [facts[i] for i in order]
        fields = self._wording.fields(facts, answer, [listed[i] for i in order])
        (event,) = (fact for fact in facts if isinstance(fact, KbEvent))
        fields |= {
            "id": name,
            "evidence": evidence_of(facts),
            "proofs": proofs_of(facts, self._sets),
            "event": event.event,
            "event_level": event.level,
            "obscurity": self._sets.events[event.event].obscurity,
            "difficulty": self._difficulty(entries),
            "seed_date": seed_date.isoformat() if seed_date else "",
            "checks": checks,
        }
        return TimePuzzle(**fields)

    def _difficulty(self, entries: Sequence[Entry]) -> Difficulty:
        return difficulty_of(entries, self._sets.events, self._everything)


def evidence_of(facts: Iterable[Fact]) -> tuple[str, ...]:
    """The articles that prove the facts with a lookup."""
    return tuple(article_url(title) for fact in facts if (title := title_of(fact)) is not None)
