"""Analysis hooks of Time Puzzles: breakdowns, clusters, faults of an answer, and the sentences of
the condition `facts`.

Rules, in this order, for the constraint most probably misread where a gold date is missing:

1. the constraint that most of the answer's wrong dates violate, if one of them violates no other;
   where each violates several, none;
2. a constraint with another common reading that excludes the date and results in the answer;
3. a constraint with several values (a decade, a season, some weekdays, an event over several
   years), if no date of the answer has the missed date's value, or, for a span of years, if the
   missed date is before or after all dates of the answer; of several such constraints one with a
   lookup, else the one with the least information gain, where a narrow reading loses most;
4. none, for an answer without dates or if no rule applies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import cache

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets, Readings, years_held
from agent_env.families.time_puzzles.difficulty import LOOKED_UP
from agent_env.families.time_puzzles.generator import evidence_of
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import solve_facts, year_bounds
from agent_env.families.time_puzzles.wording import GAMES
from agent_env.features.facts.tables.event_names import day_of, is_clause
from agent_env.features.facts.tables.tables import FactTables, shipped_tables
from agent_env.sdk.family import AnalysisHooks, ConstraintRef, Faults, MissedDate, Source, WrongDate
from agent_env.sdk.records import Sample
from agent_env.temporal.days import PUZZLE_DAYS, DaySet

MANY_VALUED = {
    "decade", "year_range", "leap_year", "chinese_zodiac", "person_alive", "us_president", "event",
    "japanese_era", "season", "lunar_month", "western_zodiac", "calendar_month", "multi_weekday",
    "day_of_month",
}  # fmt: skip


SPANS = {"decade", "year_range", "person_alive", "us_president", "japanese_era", "kb_event"}
"""Those of them that hold from one day to another: a narrow reading loses an end."""
STATED = (
    ft.ExplicitYear, ft.Decade, ft.YearRange, ft.Month, ft.DayOfMonthSpecific, ft.DayOfMonthRange,
)  # fmt: skip
"""Facts that a date meets or not as it is written."""


class PuzzleFaults:
    """Finds the faults of answers to Time Puzzles; caches day sets."""

    def __init__(self, tables: FactTables) -> None:
        self._sets = DaySets(PUZZLE_DAYS, tables)
        self._readings = Readings(self._sets)

    def __call__(self, sample: Sample, answer: tuple[str, ...]) -> Faults:
        """The answer's wrong and missed dates; without constraints for a puzzle without facts or
        about an unknown event. None where a scorer of the user's own reads no dates."""
        if not isinstance(sample, TimePuzzle):
            return Faults()
        dates, gold = set(answer), set(sample.gold)
        try:
            wrong = tuple(self._wrong(sample, day) for day in sorted(dates - gold))
        except ValueError:
            return Faults()
        texts = sorted(gold - dates)
        counts = Counter(ref.index for each in wrong for ref in each.violates if ref.index >= 0)
        most = min(
            counts, key=lambda i: (-counts[i], not _is_lookup(sample.facts[i]), i), default=None
        )
        missed = []
        for text in texts:
            if most is None:
                at, rule = self._misread(sample, text, answer)
            elif not any({ref.index for ref in each.violates} == {most} for each in wrong):
                at, rule = None, "each wrong date violates several constraints"
            else:
                at, rule = most, "the wrong dates violate it"
            misread = None if at is None else _ref(sample, at)
            missed.append(MissedDate(date=text, misread=misread, rule=rule))
        return Faults(wrong=wrong, missed=tuple(missed))

    def _wrong(self, puzzle: TimePuzzle, text: str) -> WrongDate:
        day = date.fromisoformat(text)
        first, last = year_bounds(puzzle)
        broken = [
            _ref(puzzle, index)
            for index, fact in enumerate(puzzle.facts)
            if day in PUZZLE_DAYS and not self._holds(fact, day)
        ]
        if not first <= day.year <= last or day not in PUZZLE_DAYS:
            range_text = f"Only dates of {puzzle.years} count."
            broken.append(ConstraintRef(index=-1, type="range", text=range_text, source="stated"))
        return WrongDate(date=text, violates=tuple(broken))

    def _holds(self, fact: ft.Fact, day: date) -> bool:
        """Whether the fact holds on the day; true for an unknown name."""
        try:
            return bool(self._sets.of(fact) >> PUZZLE_DAYS.index(day) & 1)
        except KeyError:
            return True

    def _misread(
        self, puzzle: TimePuzzle, text: str, answer: tuple[str, ...]
    ) -> tuple[int | None, str]:
        """The constraint by the rules 2 to 4, and the rule."""
        if (other_reading := self._other_reading(puzzle, text, answer)) is not None:
            index, name = other_reading
            return index, f"other reading: {name.replace('_', ' ')}"
        if not answer:
            return None, "no date given"
        # the constraint in whose value the missed date differs from all dates of the answer
        day, answer_dates = date.fromisoformat(text), [date.fromisoformat(d) for d in answer]
        gains = puzzle.information_gain or tuple(0.0 for _ in puzzle.facts)
        order = [
            (not _is_lookup(fact), gains[index], index)
            for index, fact in enumerate(puzzle.facts)
            if _is_many_valued(fact) and _excludes_only(fact, day, answer_dates)
        ]
        if not order:
            return None, "no constraint stands out"
        return min(order)[2], "its value excludes the date"

    def _other_reading(
        self, puzzle: TimePuzzle, text: str, answer: tuple[str, ...]
    ) -> tuple[int, str] | None:
        try:
            solved = solve_facts(puzzle.facts, PUZZLE_DAYS.everything, self._sets)
            answer_days = _set(answer)
            for index, (fact, rest) in enumerate(zip(solved.facts, solved.rests, strict=True)):
                for name, days in self._readings.others(fact):
                    if rest & days == answer_days and not _set((text,)) & days:
                        return index, name
        except KeyError:
            pass
        return None


def _is_many_valued(fact: ft.Fact) -> bool:
    return fact.aspect == "multi_year" if isinstance(fact, ft.KbEvent) else fact.type in MANY_VALUED


def _excludes_only(fact: ft.Fact, day: date, answer_dates: Sequence[date]) -> bool:
    """Whether a narrow reading of the fact can exclude the day but not the answer's dates."""
    if fact.type in SPANS:
        return not min(answer_dates) < day < max(answer_dates)
    level = ft.level_of(fact)
    values = [
        each.weekday() if fact.type == "multi_weekday" else getattr(each, level)
        for each in (day, *answer_dates)
    ]
    return values[0] not in values[1:]


def _set(days: Sequence[str]) -> DaySet:
    return PUZZLE_DAYS.those(date.fromisoformat(day) for day in days)


def _is_lookup(fact: ft.Fact) -> bool:
    return isinstance(fact, LOOKED_UP)


def _words(fact: ft.Fact) -> str:
    return {"kb_event": "event", "event": "games"}.get(fact.type, fact.type.replace("_", " "))


def _ref(puzzle: TimePuzzle, index: int) -> ConstraintRef:
    fact = puzzle.facts[index]
    source: Source = "stated" if isinstance(fact, STATED) else "calculation"
    if _is_lookup(fact):
        source = "lookup"
    text = puzzle.constraints[index] if index < len(puzzle.constraints) else ""
    pages = tuple(url for url in evidence_of([fact]) if url in puzzle.evidence)
    return ConstraintRef(index=index, type=_words(fact), text=text, source=source, pages=pages)


CALENDARS = {
    "chinese_zodiac": "chinese",
    "lunar_month": "chinese",
    "solar_term": "chinese",
    "japanese_era": "japanese",
    "church_day": "church year",
}


def groups(sample: Sample) -> dict[str, tuple[str, ...]]:
    """By solution count, number of facts, fact types, calendars, event level; by the measured
    quantities of its difficulty; by obscurity and world if any."""
    if not isinstance(sample, TimePuzzle):
        return {}
    calendars = {CALENDARS.get(fact.type, getattr(fact, "calendar", "")) for fact in sample.facts}
    breakdown = {
        "solutions": (str(sample.solution_count),),
        "facts": (str(sample.fact_count),),
        "fact type": tuple(sorted({fact.type for fact in sample.facts})),
        "calendar": tuple(sorted(calendars - {""})) or ("gregorian only",),
        "event level": (sample.event_level,) if sample.event_level else (),
    }
    if (difficulty := sample.difficulty) is not None:
        counts = {name: str(getattr(difficulty, name)) for name in ("lookups", "pages", "hops")}
        low = 10 ** (len(str(difficulty.candidates)) - 1)  # the power of ten that it reaches
        counts["candidates"] = f"{low}-{10 * low - 1}" if difficulty.candidates else "0"
        breakdown |= {name: (count,) for name, count in counts.items()}
    if sample.obscurity is not None:
        breakdown["obscurity"] = (f"{sample.obscurity:.2f}",)
    if world := getattr(sample, "world", None):
        breakdown["world"] = (str(world),)
    return breakdown


def cluster(sample: Sample) -> str:
    """The event."""
    return getattr(sample, "event", "")


def chance(sample: Sample) -> float | None:
    """Of a guess among the values of the event that the other facts allow."""
    checks = sample.checks if isinstance(sample, TimePuzzle) else None
    return None if checks is None else 1 / max(1, checks.event_values)


def event_date(sample: Sample) -> str | None:
    """The last date that our table states of the puzzle's event."""
    return _last_dates().get(sample.event) if isinstance(sample, TimePuzzle) else None


@cache
def _last_dates() -> dict[str, str]:
    rows = shipped_tables().events
    return {row.event: str(row.end or row.start) for row in rows if row.end or row.start}


HOOKS = AnalysisHooks(
    groups,
    cluster,
    "event",
    lambda: PuzzleFaults(shipped_tables()),
    chance=chance,
    event_date=event_date,
)


def known_facts(puzzle: TimePuzzle, tables: FactTables) -> tuple[str, ...]:
    """A sentence with the dates for each constraint that takes a look-up; nothing on calendars.
    What the tables do not have, such as an event of a published set, is said as there."""
    wordings = zip(puzzle.facts, puzzle.constraints, puzzle.explicit_constraints, strict=False)
    return tuple(
        _sentence(fact, text, tables) or f"Where it says “{text}”: {explicit}"
        for fact, text, explicit in wordings
        if len(puzzle.facts) == len(puzzle.constraints)
        and isinstance(fact, (*LOOKED_UP, ft.RecurringEvent))
    )


def _sentence(fact: ft.Fact, text: str, tables: FactTables) -> str | None:
    match fact:
        case ft.KbEvent():
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
                return f"The years {what}, at least in part, are {when}."
            edge, bound = ("first", row.start) if fact.aspect == "start" else ("last", row.end)
            return f"T{day_of(name, edge)[1:]} was {bound}." if bound else None
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
            return f"{words} took place in {_and(ft.RECURRING[name])}."
    return None


def _and(values: Sequence[object]) -> str:
    *first, last = map(str, values)
    return f"{', '.join(first)} and {last}" if first else last
