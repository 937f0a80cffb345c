"""A puzzle's shifted world: its event at other dates, on every page that speaks of it.

Only the event moves, which every puzzle has to look up; names, lives, terms in office and all other
events stay. Gold and explicit wording are solved anew, and the twin has the guarantees of its
puzzle: as checked, with one to six answers (or as many as the puzzle) and none of its gold alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from random import Random
from typing import Any

from agent_env.families.time_puzzles.day_sets import DaySets, years_held
from agent_env.families.time_puzzles.facts import KbEvent
from agent_env.families.time_puzzles.guarantees import Guarantees, proofs_of
from agent_env.families.time_puzzles.guessers import event_of, rest_of, values_of
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import rests_of, year_bounds
from agent_env.families.time_puzzles.wording import Wording
from agent_env.features.facts.site.render import render_changed
from agent_env.features.facts.site.sheet import LIKELY_FIRST
from agent_env.features.facts.tables.tables import EventRow, FactTables
from agent_env.sdk.family import CannotShift
from agent_env.sdk.web import ChangedPage, ShiftedWorld
from agent_env.temporal.days import DayRange, PartialDate

TextAt = Callable[[str], str | None]
MOST = 6
"""Answers of a twin, unless its puzzle has more."""
TRIES = 200
NEAR = 40
"""Years from the event's own within which other years are tried first."""
FIRST, LAST = 1583, 2024
"""Years to which events move."""


def shifted_world(
    puzzle: TimePuzzle, tables: FactTables, rng: Random, text_at: TextAt
) -> ShiftedWorld:
    """The puzzle's `Task.shift`; `tables` are those that the run's web was rendered from."""
    event = event_of(puzzle.facts)
    name = None if event is None else event.event
    row = next((row for row in tables.events if row.event == name), None)
    if row is None or len(puzzle.facts) != len(puzzle.constraints):
        raise CannotShift("the tables of the run do not have its event")
    # a year of the event that is in its name or in what is written of it
    years = {str(year) for year in (*row.years, *(each.year for each in _bounds(row)))}
    at = next(i for i, fact in enumerate(puzzle.facts) if isinstance(fact, KbEvent))
    text = "\n".join((row.event, row.hint, row.summary, puzzle.constraints[at]))
    for year in re.findall(r"(?<!\d)\d{4}(?!\d)", text):
        if year in years:
            raise CannotShift(f"its words state the year {year}")
    twin, moved = shifted_twin(puzzle, row, tables, rng)
    there = partial(with_event, row=moved)
    plain, shifted = (each.model_dump(mode="json") for each in (puzzle, twin))
    plain.setdefault("explicit_gold", None)
    fields = {name: value for name, value in shifted.items() if plain.get(name) != value}
    return ShiftedWorld(
        sample=fields | ({"explicit_gold": None} if plain["explicit_gold"] is not None else {}),
        pages=_changed_pages(tables, there, text_at),
    )


def shifted_twin(
    puzzle: TimePuzzle, row: EventRow, tables: FactTables, rng: Random
) -> tuple[TimePuzzle, EventRow]:
    """The puzzle in a world where its event has other dates, and the event there; CannotShift where
    none was found."""
    days, event = DayRange.of_years(*year_bounds(puzzle)), event_of(puzzle.facts)
    sets = DaySets(days, tables)
    assert event is not None
    values = values_of(event, rest_of(puzzle, sets), sets)
    for moved in _moved_rows(event, row, values, rng):
        twin = _twin(puzzle, event, moved, tables, days, rng)
        if twin is not None:
            return twin, moved
    raise CannotShift(f"no other dates of its event were found in {TRIES} tries")


def _moved_rows(
    event: KbEvent, row: EventRow, values: list[int], rng: Random
) -> Iterator[EventRow]:
    """The event at other dates, at random, near ones first."""
    latest = max([LAST, *(bound.year for bound in _bounds(row)), *row.years[-1:]])
    if event.aspect == "multi_year":
        steps = [n for n in range(-NEAR * 2, NEAR * 2 + 1) if n]
        for step in sorted(steps, key=lambda n: (abs(n) > NEAR, rng.random()))[:TRIES]:
            moved = moved_by_years(row, step)
            held = years_held(moved) if moved is not None else ()
            if moved is not None and held and held[0] >= FIRST and held[-1] <= latest:
                yield moved
        return
    bound = row.start if event.aspect == "start" else row.end
    if bound is None:
        return
    other = [value for value in values if value != event.value]
    if event.level == "year":
        other.sort(key=lambda year: (abs(year - bound.year) > NEAR, rng.random()))
    else:
        other = [rng.choice(other) for _ in range(TRIES)] if other else []
    for value in other[:TRIES]:
        target = _target(event, bound, value, rng)
        moved = None if target is None else _moved(row, target - bound.first)
        if moved is not None and all(FIRST <= each.year <= latest for each in _bounds(moved)):
            yield moved


def _bounds(row: EventRow) -> list[PartialDate]:
    return [each for each in (row.start, row.end) if each is not None]


def _target(event: KbEvent, bound: PartialDate, value: int, rng: Random) -> date | None:
    """A day in the year, month or day of the month; None where the draw is not a day."""
    near = bound.year + rng.choice((-1, 1)) * rng.randint(1, NEAR)
    parts = {"year": near, "month": rng.randint(1, 12), "day": rng.randint(1, 28)}
    parts[event.level] = value
    try:
        return date(
            parts["year"], parts["month"] if bound.month else 1, parts["day"] if bound.day else 1
        )
    except ValueError:
        return None


def moved_by_years(row: EventRow, step: int) -> EventRow | None:
    """The event so many years later; None where a date of it is none there."""
    if any((each.month, each.day) == (2, 29) for each in _bounds(row)):
        return None
    start, end = (each and replace(each, year=each.year + step) for each in (row.start, row.end))
    return replace(row, start=start, end=end, years=tuple(year + step for year in row.years))


def _moved(row: EventRow, by: timedelta) -> EventRow | None:
    """The event with both ends and its listed years moved; None outside the calendar."""

    def later(bound: PartialDate | None) -> PartialDate | None:
        if bound is None:
            return None
        day = bound.first + by
        return PartialDate(day.year, bound.month and day.month, bound.day and day.day)

    try:
        start, end = later(row.start), later(row.end)
    except OverflowError:
        return None
    was, now = (row.start or row.end), (start or end)
    step = now.year - was.year if was and now else 0
    return replace(row, start=start, end=end, years=tuple(year + step for year in row.years))


def _twin(
    puzzle: TimePuzzle,
    event: KbEvent,
    moved: EventRow,
    tables: FactTables,
    days: DayRange,
    rng: Random,
) -> TimePuzzle | None:
    """The puzzle with its event there; None where a guarantee does not hold."""
    world = with_event(tables, moved)
    sets = DaySets(days, world)
    facts = [_fact(event, moved) if fact is event else fact for fact in puzzle.facts]
    rests = rests_of([sets.of(fact) for fact in facts], days.everything)
    answer = rests[0] & sets.of(facts[0])
    if not 1 <= answer.bit_count() <= max(MOST, len(puzzle.gold)):
        return None
    if set(map(str, days.dates(answer))) == set(puzzle.gold):
        return None
    verified = Guarantees(sets, world).of(facts, rests, answer, rng, puzzle.checks is not None)
    if verified is None:
        return None
    checks, listed = verified
    fields = Wording(world, sets).fields(facts, answer, listed, puzzle.constraints)
    own = {"explicit_gold": None, "proofs": proofs_of(facts, sets), "checks": checks}
    return puzzle.model_copy(update=fields | own)


def _fact(event: KbEvent, moved: EventRow) -> KbEvent:
    """What the puzzle says of the event, there."""
    if event.aspect == "multi_year":
        return event.model_copy(update={"years": years_held(moved)})
    bound = moved.start if event.aspect == "start" else moved.end
    assert bound is not None  # `_moved_rows` has none without it
    return event.model_copy(update={"value": getattr(bound, event.level)})


def with_event(tables: FactTables, row: EventRow) -> FactTables:
    events = tuple(row if each.event == row.event else each for each in tables.events)
    return replace(tables, events=events)


# Pages ------------------------------------------------------------------------------------------


def retold_pages(
    tables: FactTables, puzzle: TimePuzzle, at: int, text_at: TextAt, change: Callable[[str], str]
) -> tuple[ChangedPage, ...]:
    """The puzzle's `Task.retell`."""
    fact = puzzle.facts[at]
    rows = {"kb_event": "events", "person_alive": "people"}.get(fact.type, "presidents")
    key = "event" if rows == "events" else "person"
    parse: Callable[[str], Any] = PartialDate.parse if rows == "events" else date.fromisoformat

    def changed(row: Any) -> Any:
        known = {name: day for name in ("start", "end") if (day := getattr(row, name))}
        dates = {name: parse(change(str(day))) for name, day in known.items()}
        years = (int(change(str(year))) for year in getattr(row, "years", ()))
        return replace(row, **dates, **({"years": tuple(years)} if rows == "events" else {}))

    def there(world: FactTables) -> FactTables:
        own = ((row, getattr(row, key) == getattr(fact, key)) for row in getattr(world, rows))
        told: Any = {rows: tuple(changed(row) if is_its else row for row, is_its in own)}
        return replace(world, **told)

    return _changed_pages(tables, there, text_at)


def _changed_pages(
    tables: FactTables, there: Callable[[FactTables], FactTables], text_at: TextAt
) -> tuple[ChangedPage, ...]:
    """The pages that are others there, rendered as the run's web renders them; CannotShift where
    that web was not rendered from these tables."""
    for level in LIKELY_FIRST:
        for invented in (tables.invented, not tables.invented):
            same = invented == tables.invented
            world = tables if same else replace(tables, invented=invented)
            plain, shifted = (
                [(s.url, s.title, s.text) for s in sheets]
                for sheets in render_changed(world, there(world), level)
            )
            if all(text_at(url) == text for url, _, text in plain):
                return ChangedPage.between(plain, shifted)
    raise CannotShift("the run's web has other pages of its event than its tables give")
