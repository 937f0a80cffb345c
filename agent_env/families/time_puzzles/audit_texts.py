"""Compares the two wordings of a puzzle.

Texts in our own wording must equal those of `wording` for the facts. From a foreign explicit text
only its dates, years, month or day are parsed: if they change the answer, the text is wrong;
without any, it is not judged.
"""

from __future__ import annotations

import re
from datetime import date
from itertools import pairwise

from agent_env.families.time_puzzles import facts as ft
from agent_env.families.time_puzzles.audit_solved import SolvedPuzzle
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.spelled_out import SPELLED_OUT
from agent_env.families.time_puzzles.wording import Wording
from agent_env.temporal.days import DaySet
from agent_env.temporal.facts.tables import FactTables

_MONTH = "|".join(ft.MONTHS)
_DATE = re.compile(
    rf"\b(?P<y>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b"
    rf"|\b(?P<m1>{_MONTH}) (?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>\d{{1,2}})(?:st|nd|rd|th)? (?P<m2>{_MONTH}),? (?P<y2>\d{{4}})\b",
    re.I,
)
_JOINED = re.compile(r"\s*(?:to|and|through|until|before|[-–—~])\s*(?:before\s*)?", re.I)
_YEARS = re.compile(r"\b([12]\d{3})\b(?:\s*(?:[-–—~]|to|through)\s*([12]\d{3})\b)?", re.I)
_SPANS = (*SPELLED_OUT, ft.PersonAlive, ft.UsPresident, ft.JapaneseEra)


class TextJudge:
    """Compares texts with facts, over shared day sets."""

    def __init__(self, tables: FactTables, sets: DaySets) -> None:
        self._sets = sets
        self._wording = Wording(tables, sets)

    def is_ours(self, puzzle: TimePuzzle) -> bool:
        """Whether at least half of the texts have our own wording."""
        pairs = zip(puzzle.facts, puzzle.constraints, strict=False)
        same = sum(self._implicit(fact) == text for fact, text in pairs)
        return 2 * same >= len(puzzle.constraints)

    def differ(self, puzzle: TimePuzzle, solution: SolvedPuzzle) -> bool:
        """Whether any text means other days than its fact."""
        if not len(puzzle.constraints) == len(puzzle.explicit_constraints) == len(solution.facts):
            return True
        if self.is_ours(puzzle):
            return self._not_as_worded(puzzle, solution)
        texts = enumerate(puzzle.explicit_constraints)
        return any(self._means_other_days(text, index, solution) for index, text in texts)

    def _not_as_worded(self, puzzle: TimePuzzle, solution: SolvedPuzzle) -> bool:
        for index, fact in enumerate(puzzle.facts):
            implicit = self._implicit(fact)
            if implicit is not None and implicit != puzzle.constraints[index]:
                return True
            text = puzzle.explicit_constraints[index]
            if self._is_misworded(text, solution.facts[index], solution.answer):
                return True
        return False

    def _implicit(self, fact: ft.Fact) -> str | None:
        try:
            return self._wording.implicit(fact)
        except KeyError:  # an unknown name
            return None

    def _is_misworded(self, text: str, fact: ft.Fact, answer: DaySet) -> bool:
        """Whether an explicit text in our wording states other days; false for an unknown name. A
        calendar fact may list any of its days, if all answers are among them."""
        listed: DaySet = 0
        try:
            if isinstance(fact, SPELLED_OUT):
                listed = next(iter(self._read_spans(text)), 0)
                if answer & ~listed or listed & ~self._sets.of(fact):
                    return True
            return self._wording.explicit(fact, listed) != text
        except KeyError:
            return False

    def _means_other_days(self, text: str, index: int, solution: SolvedPuzzle) -> bool:
        readings = self._possible_sets(text, solution.facts[index])
        return bool(readings) and all(
            solution.rests[index] & days != solution.answer for days in readings
        )

    def _possible_sets(self, text: str, fact: ft.Fact) -> list[DaySet]:
        """The possible day sets of a text; empty if it cannot be parsed."""
        if isinstance(fact, _SPANS):
            return self._read_spans(text)
        if isinstance(fact, ft.KbEvent | ft.ExplicitYear | ft.RecurringEvent):
            return self._read_values(text, fact.level if isinstance(fact, ft.KbEvent) else "year")
        return []

    def _read_spans(self, text: str) -> list[DaySet]:
        """Single dates, or pairs as spans with and without their ends."""
        days = self._sets.days
        matches = list(_DATE.finditer(text))
        dates = dates_in(text)
        if not dates or len(dates) != len(matches):
            return []
        pairs = list(zip(dates[::2], dates[1::2], strict=False))
        gaps = [text[a.end() : b.start()] for a, b in pairwise(matches)]
        if len(dates) % 2 or not all(_JOINED.fullmatch(gap) for gap in gaps[::2]):
            return [days.those(dates)]
        inner = days.spans(pairs) & ~days.those(dates)
        readings = [] if re.search(r"\bafter\b", text, re.I) else [days.spans(pairs)]
        between = re.search(r"\b(?:after|between)\b", text, re.I)
        return [*readings, inner] if between else readings

    def _read_values(self, text: str, level: str) -> list[DaySet]:
        patterns = self._sets.patterns
        dates = dates_in(text)
        if level == "year":
            years = {day.year for day in dates} or _years_in(text)
            return [patterns.years(sorted(years))] if years else []
        if level == "month":
            months = {day.month for day in dates} or _months_in(text)
            return [patterns.months(months)] if len(months) == 1 else []
        numbers = {day.day for day in dates} or _numbers_in(text)
        return [patterns.days_of_month(numbers)] if len(numbers) == 1 else []


def dates_in(text: str) -> list[date]:
    """The dates in a text in order, ISO or English with the full month."""
    dates = []
    for match in _DATE.finditer(text):
        year, month, number = (part for part in _parts(match) if part)
        try:
            dates.append(date(int(year), _month_number(month), int(number)))
        except ValueError:  # an impossible day: the text cannot be parsed
            return []
    return dates


def _parts(match: re.Match[str]) -> tuple[str | None, ...]:
    return match.group("y", "y1", "y2", "m", "m1", "m2", "d", "d1", "d2")


def _month_number(text: str) -> int:
    return int(text) if text.isdigit() else ft.MONTHS.index(text.capitalize()) + 1


def _years_in(text: str) -> set[int]:
    years: set[int] = set()
    for match in _YEARS.finditer(text):
        years |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return years


def _months_in(text: str) -> set[int]:
    return {ft.MONTHS.index(name) + 1 for name in re.findall(rf"\b(?:{_MONTH})\b", text)}


def _numbers_in(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", text)} & set(
        range(1, 32)
    )
