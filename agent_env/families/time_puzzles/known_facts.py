"""The condition `facts`: what must be looked up, given as sentences beside the implicit puzzle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import RECURRING, years_held
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.wording import GAMES
from agent_env.temporal.facts.event_names import day_of, is_clause
from agent_env.temporal.facts.tables import FactTables

HEAD = "What a look-up of these facts gives:"


def known_facts(puzzle: TimePuzzle, tables: FactTables) -> tuple[str, ...]:
    """A sentence with the dates for each constraint that takes a look-up; nothing on calendars."""
    return tuple(_sentences(puzzle, tables))


def _sentences(puzzle: TimePuzzle, tables: FactTables) -> Iterator[str]:
    if len(puzzle.facts) != len(puzzle.constraints):
        return
    for fact, text, explicit in zip(
        puzzle.facts, puzzle.constraints, puzzle.explicit_constraints, strict=True
    ):
        if isinstance(fact, ft.KbEvent | ft.PersonAlive | ft.UsPresident | ft.RecurringEvent):
            # what the tables do not have, such as an event of a published set, is said as there
            yield _sentence(fact, text, tables) or f"Where it says “{text}”: {explicit}"


def _sentence(fact: ft.Fact, text: str, tables: FactTables) -> str | None:
    match fact:
        case ft.KbEvent():
            return _of_event(fact, text, tables)
        case ft.PersonAlive(person=person):
            life = next((row for row in tables.people if row.person == person), None)
            return f"{person} was born on {life.start} and died on {life.end}." if life else None
        case ft.UsPresident(person=person):
            terms = [
                f"from {term.start} to {term.end}"
                for term in tables.presidents
                if term.person == person and term.end is not None
            ]
            return (terms and f"{person} was President of the United States {_and(terms)}.") or None
        case ft.RecurringEvent(name=name):
            words = GAMES[name][0].upper() + GAMES[name][1:]
            return f"{words} took place in {_and(RECURRING[name])}."
    return None


def _of_event(fact: ft.KbEvent, text: str, tables: FactTables) -> str | None:
    """On the event by the name that the constraint has."""
    row = next((row for row in tables.events if row.event == fact.event), None)
    if row is None:
        return None
    name = row.hint if row.hint and row.hint in text else row.event
    if fact.aspect == "multi_year":
        years = years_held(row)
        if not years:
            return None
        is_run = len(years) > 2 and years[-1] - years[0] == len(years) - 1
        when = f"all years from {years[0]} to {years[-1]}" if is_run else _and(years)
        what = f"in which {name}" if is_clause(name) else f"of {name}"
        return f"The years {what}, in whole or in part, are {when}."
    edge, bound = ("first", row.start) if fact.aspect == "start" else ("last", row.end)
    return f"T{day_of(name, edge)[1:]} was {bound}." if bound else None


def _and(values: Sequence[object]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last
