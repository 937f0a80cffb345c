"""The constraints that a wrong date violates, and the probable cause of a missed date.

Rules, in this order, for the constraint most probably misread where a gold date is missing:

1. the constraint that most of the answer's wrong dates violate;
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

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.difficulty import LOOKED_UP
from agent_env.families.time_puzzles.generator import evidence_of
from agent_env.families.time_puzzles.readings import Readings
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import rests_of
from agent_env.records.schema import Sample
from agent_env.tasks.faults import ConstraintRef, Faults, MissedDate, Source, WrongDate
from agent_env.temporal.days import PUZZLE_DAYS, DaySet
from agent_env.temporal.facts.tables import FactTables

MANY_VALUED = {
    "decade", "year_range", "leap_year", "chinese_zodiac", "person_alive", "us_president", "event",
    "japanese_era", "season", "lunar_month", "western_zodiac", "calendar_month", "multi_weekday",
    "day_of_month", "kb_event",
}  # fmt: skip


SPANS = {"decade", "year_range", "person_alive", "us_president", "japanese_era", "kb_event"}
"""Those of them that hold from one day to another: a narrow reading loses an end."""


class PuzzleFaults:
    """Finds the faults of answers to Time Puzzles; caches day sets."""

    def __init__(self, tables: FactTables) -> None:
        self._sets = DaySets(PUZZLE_DAYS, tables)
        self._readings = Readings(self._sets)

    def __call__(self, sample: Sample, answer: tuple[str, ...]) -> Faults:
        """The answer's wrong and missed dates; without constraints for a puzzle without facts or
        about an unknown event."""
        if not isinstance(sample, TimePuzzle):
            return Faults()
        dates, gold = set(answer), set(sample.gold)
        wrong = tuple(self._wrong(sample, day) for day in sorted(dates - gold))
        missed_dates = self._missed_dates(sample, sorted(gold - dates), answer, wrong)
        return Faults(wrong=wrong, missed=missed_dates)

    def _wrong(self, puzzle: TimePuzzle, text: str) -> WrongDate:
        day = date.fromisoformat(text)
        first, last = map(int, puzzle.years.split("-"))
        broken = [
            _ref(puzzle, index)
            for index, fact in enumerate(puzzle.facts)
            if day in PUZZLE_DAYS and not self._holds(fact, day)
        ]
        if not first <= day.year <= last or day not in PUZZLE_DAYS:
            broken.append(_range(puzzle))
        return WrongDate(date=text, violates=tuple(broken))

    def _holds(self, fact: ft.Fact, day: date) -> bool:
        """Whether the fact holds on the day; true for an unknown name."""
        try:
            return bool(self._sets.of(fact) >> PUZZLE_DAYS.index(day) & 1)
        except KeyError:
            return True

    def _missed_dates(
        self,
        puzzle: TimePuzzle,
        texts: Sequence[str],
        answer: tuple[str, ...],
        wrong: tuple[WrongDate, ...],
    ) -> tuple[MissedDate, ...]:
        if not texts:
            return ()
        counts = Counter(ref.index for each in wrong for ref in each.violates if ref.index >= 0)
        if counts:
            most = min(counts, key=lambda i: (-counts[i], not _is_lookup(puzzle.facts[i]), i))
            ref = _ref(puzzle, most)
            return tuple(MissedDate(date=d, misread=ref, rule="violated elsewhere") for d in texts)
        return tuple(self._missed_date(puzzle, day, answer) for day in texts)

    def _missed_date(self, puzzle: TimePuzzle, text: str, answer: tuple[str, ...]) -> MissedDate:
        other_reading = self._other_reading(puzzle, text, answer)
        if other_reading is not None:
            index, name = other_reading
            return MissedDate(date=text, misread=_ref(puzzle, index), rule=f"other reading: {name}")
        if not answer:
            return MissedDate(date=text, misread=None, rule="no date given")
        if (index_ := _narrowed_constraint(puzzle, text, answer)) is not None:
            return MissedDate(date=text, misread=_ref(puzzle, index_), rule="left out by its value")
        return MissedDate(date=text, misread=None, rule="nothing found")

    def _other_reading(
        self, puzzle: TimePuzzle, text: str, answer: tuple[str, ...]
    ) -> tuple[int, str] | None:
        """The fact and reading that result in the answer."""
        try:
            sets = [self._sets.of(fact) for fact in puzzle.facts]
            rests = rests_of(sets, PUZZLE_DAYS.everything) if sets else []
            answer_days = _set(answer)
            for index, (fact, rest) in enumerate(zip(puzzle.facts, rests, strict=True)):
                for name, days in self._readings.others(fact):
                    if rest & days == answer_days and not _set((text,)) & days:
                        return index, name
        except KeyError:
            return None
        return None


def _narrowed_constraint(puzzle: TimePuzzle, text: str, answer: Sequence[str]) -> int | None:
    """The constraint in whose value the missed date differs from all dates of the answer."""
    day, answer_dates = date.fromisoformat(text), [date.fromisoformat(d) for d in answer]
    gains = puzzle.information_gain or tuple(0.0 for _ in puzzle.facts)
    apart = [
        index
        for index, fact in enumerate(puzzle.facts)
        if fact.type in MANY_VALUED
        and _is_many_valued(fact)
        and _excludes_only(fact, day, answer_dates)
    ]
    order = [(not _is_lookup(puzzle.facts[i]), gains[i], i) for i in apart]
    return min(order)[2] if order else None


def _excludes_only(fact: ft.Fact, day: date, answer_dates: Sequence[date]) -> bool:
    """Whether a narrow reading of the fact can exclude the day but not the answer's dates."""
    if fact.type in SPANS:
        return not min(answer_dates) < day < max(answer_dates)
    return _value(fact, day) not in {_value(fact, other) for other in answer_dates}


def _is_many_valued(fact: ft.Fact) -> bool:
    return not isinstance(fact, ft.KbEvent) or fact.aspect == "multi_year"


def _value(fact: ft.Fact, day: date) -> int:
    if fact.type == "multi_weekday":
        return day.weekday()
    level = ft.level_of(fact)
    return day.year if level == "year" else day.month if level == "month" else day.day


def _set(days: Sequence[str]) -> DaySet:
    return PUZZLE_DAYS.those(date.fromisoformat(day) for day in days)


def _is_lookup(fact: ft.Fact) -> bool:
    return isinstance(fact, LOOKED_UP)


def _ref(puzzle: TimePuzzle, index: int) -> ConstraintRef:
    fact = puzzle.facts[index]
    source: Source = "lookup" if _is_lookup(fact) else "calculation"
    text = puzzle.constraints[index] if index < len(puzzle.constraints) else ""
    pages = tuple(url for url in evidence_of([fact]) if url in puzzle.evidence)
    return ConstraintRef(index=index, type=fact.type, text=text, source=source, pages=pages)


def _range(puzzle: TimePuzzle) -> ConstraintRef:
    text = f"Only dates of {puzzle.years} count."
    return ConstraintRef(index=-1, type="range", text=text, source="calculation")
