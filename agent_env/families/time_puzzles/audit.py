"""Audits a puzzle file of any origin: gold, closure, necessity, wording, chance of guessing, and
the probable cause of a wrong gold set.

Everything is recomputed from the facts and, if given, a table of events. A cause is a hypothesis:
the first mistake that results in exactly the stored set, together with the event's wrong date if
that contributes. docs/audit.md explains them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

from agent_env.extensions.facts.tables.tables import EventRow, FactTables, shipped_tables
from agent_env.families.time_puzzles.audit_report import (
    CLOSURE_UNKNOWN,
    NOT_JUDGED,
    AuditReport,
    Finding,
    corrected_puzzle,
    gold_class,
)
from agent_env.families.time_puzzles.audit_texts import (
    UNKNOWN_EVENT,
    Closure,
    JudgedText,
    ResolvedFacts,
    Resolver,
    RightAnswers,
    TextJudge,
    explicit_answers,
    implicit_answers,
    misworded,
    own_rules,
    read_event_dates,
    text_answers,
)
from agent_env.families.time_puzzles.day_sets import DaySets, Readings
from agent_env.families.time_puzzles.facts import ChineseZodiac, Fact, KbEvent, LunarMonth
from agent_env.families.time_puzzles.guarantees import Checker
from agent_env.families.time_puzzles.guessers import (
    Case,
    chance_of,
    event_of,
    gold_days,
    rates_of,
)
from agent_env.families.time_puzzles.published import identifier_of, puzzle_bytes, read_puzzles
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import (
    SolvedPuzzle,
    common_days,
    few_days,
    solve,
    solve_facts,
    solve_sets,
    window_of,
    year_bounds,
)
from agent_env.sdk.trace import write_whole
from agent_env.temporal.days import PUZZLE_DAYS, DaySet

MAX_CHANCE = 0.1
"""Largest accepted probability that a random value of the event is right."""


def audit_file(
    file: Path, facts: Path | None, fix: Path | None
) -> tuple[tuple[TimePuzzle, ...], AuditReport]:
    """The puzzles of a file of either format, and their audit; writes the corrected set to `fix`,
    if anything was judged."""
    puzzles = read_puzzles(file)
    events = read_event_dates(facts) if facts is not None else None
    report = audit(puzzles, shipped_tables(), events)
    if fix is not None and report.judged:
        write_whole(fix, puzzle_bytes(corrected(puzzles, report)))
    return puzzles, report


def audit(
    puzzles: Sequence[TimePuzzle],
    tables: FactTables,
    events: Sequence[EventRow] | None = None,
    rng: Random | None = None,
) -> AuditReport:
    """The audit of all puzzles; `events` precede the tables' own, `rng` draws the guesses."""
    resolver = Resolver(tables, events)
    resolved = [resolver.resolve(puzzle) for puzzle in puzzles]
    auditor = _Auditor(puzzles, resolver.extended_tables())
    findings = tuple(map(auditor.finding, puzzles, resolved))
    are_events_known = not any(UNKNOWN_EVENT in finding.notes for finding in findings)
    rates = (
        rates_of(auditor.cases, auditor.sets, rng or Random(0))
        if are_events_known and auditor.cases
        else None
    )
    texts = {"implicit": auditor.texts.implicit, "explicit": auditor.texts.explicit}
    return AuditReport(findings, rates, texts)


def corrected(puzzles: Sequence[TimePuzzle], report: AuditReport) -> tuple[TimePuzzle, ...]:
    """The puzzles with the errors of their golds mended, each wording's by its own text; rules of
    the file and debatable golds stay. Checks and digest of changed ones are cleared."""
    return tuple(map(corrected_puzzle, puzzles, report.findings))


class _Auditor:
    """Audits single puzzles over shared day sets."""

    def __init__(self, puzzles: Sequence[TimePuzzle], tables: FactTables) -> None:
        self.sets = DaySets(common_days(puzzles), tables)
        self._tables = tables
        self._checker = Checker(self.sets, tables)
        self._closure = Closure(self.sets.days, tables)
        self._readings = Readings(self.sets)
        ranges = {year_bounds(puzzle) for puzzle in puzzles}
        ranges.add((PUZZLE_DAYS.first.year, PUZZLE_DAYS.last.year))
        self._causes = Causes(self.sets, self._readings, sorted(ranges))
        self.texts = TextJudge(self.sets)
        self.cases: list[Case] = []
        """The guessers' cases of the puzzles judged so far."""

    def finding(self, puzzle: TimePuzzle, resolved: ResolvedFacts) -> Finding:
        """The findings on one puzzle."""
        notes = tuple(dict.fromkeys(resolved.notes))
        identifier = identifier_of(puzzle)
        texts = self.texts.judge(puzzle, [self._days(fact) for fact in resolved.facts])
        if self._is_out_of_reach(puzzle):
            return Finding(identifier, notes=(*notes, NOT_JUDGED))
        if not resolved.judged:
            return self._finding_by_texts(puzzle, texts, notes)
        if not puzzle.facts:
            return self._finding_by_texts(puzzle, texts, ("no_facts",))
        try:
            window = window_of(year_bounds(puzzle), self.sets.days)
            stated = solve_facts(resolved.stated, window, self.sets)
            solution = solve_facts(resolved.facts, window, self.sets)
        except (KeyError, ValueError):  # an unknown name or number of a calendar
            return self._finding_by_texts(puzzle, texts, (*notes, "unknown_name"))
        return self._full_finding(puzzle, resolved, (solution, stated), texts, notes)

    def _days(self, fact: Fact) -> DaySet | None:
        try:
            return self.sets.of(fact)
        except (KeyError, ValueError):
            return None

    def _is_out_of_reach(self, puzzle: TimePuzzle) -> bool:
        """Whether the puzzle's years, and its gold, exceed the years that can be judged."""
        first, last = year_bounds(puzzle)
        days = self.sets.days
        if window_of((first, last), days) == 0:
            return True
        years = [int(text[:4]) for text in puzzle.gold if text[:4].isdigit()]
        return any(first <= year <= last and year not in days.years for year in years)

    def _full_finding(
        self,
        puzzle: TimePuzzle,
        resolved: ResolvedFacts,
        solutions: tuple[SolvedPuzzle, SolvedPuzzle],
        texts: tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]],
        notes: tuple[str, ...],
    ) -> Finding:
        strict, stated = solutions
        readings = [self._readings.others(fact) for fact in strict.facts]
        rules = own_rules(strict, texts[1], readings)
        base = _by_rules(strict, rules)
        implicit = implicit_answers(base, strict, readings)
        explicit = explicit_answers(texts[1], puzzle.constraints, base)
        wrong_texts = [t.text for own in texts for t in misworded(own, (base, strict, stated))]
        stored = gold_days(puzzle.worded("explicit"), self.sets)
        explicit_is_wrong = explicit is not None and not explicit.explains(stored)
        is_open = self._closure.is_open(base.facts, rules, base.answer)
        defects, noted, figures = self._defects(puzzle, resolved, base, is_open)
        if len(puzzle.facts) != len(puzzle.constraints) or len(texts[0]) != len(texts[1]):
            wrong_texts.append("")
        wrong_gold = self._causes.of(puzzle, base, strict.answer, resolved)
        if explicit_is_wrong and explicit is not None:
            is_same = explicit.base == base.answer and gold_class(wrong_gold) == "error"
            defects = defects if is_same else ("explicit_gold", *defects)
        return Finding(
            identifier=identifier_of(puzzle),
            wrong_gold=wrong_gold,
            explicit_is_wrong=explicit_is_wrong,
            defects=(*defects, "wording") if wrong_texts else defects,
            notes=(*notes, *noted),
            solutions=self._dates(base.answer),
            explicit_solutions=None if explicit is None else self._dates(explicit.base),
            other_golds=self._other_golds(implicit, explicit),
            misworded=tuple(filter(None, wrong_texts)),
            **figures,
        )

    def _finding_by_texts(
        self,
        puzzle: TimePuzzle,
        texts: tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]],
        notes: tuple[str, ...],
    ) -> Finding:
        """The finding on a puzzle without facts, or with unknown ones: the gold of each wording
        whose texts are all judged. The implicit wording of unknown facts is not judged."""
        window = window_of(year_bounds(puzzle), self.sets.days)
        implicit = None if puzzle.facts else text_answers(texts[0], window)
        explicit = text_answers(texts[1], window)
        own = gold_days(puzzle.worded("explicit"), self.sets)
        is_wrong = explicit is not None and not explicit.explains(own)
        causes: tuple[str, ...] = ()
        if implicit is not None and (stored := gold_days(puzzle, self.sets)) != implicit.base:
            by_reading = [name for name, days in implicit.others.items() if days == stored]
            causes = tuple((by_reading or ["other"])[:1])
        return Finding(
            identifier=identifier_of(puzzle),
            wrong_gold=causes,
            explicit_is_wrong=is_wrong,
            defects=("explicit_gold",) if is_wrong and causes != ("other",) else (),
            notes=notes if implicit is not None else (*notes, NOT_JUDGED),
            solutions=None if implicit is None else self._dates(implicit.base),
            explicit_solutions=None if explicit is None else self._dates(explicit.base),
            other_golds=self._other_golds(implicit, explicit),
        )

    def _other_golds(
        self, implicit: RightAnswers | None, explicit: RightAnswers | None
    ) -> dict[str, dict[str, tuple[str, ...]]]:
        answers = {"implicit": implicit, "explicit": explicit}
        return {
            wording: {name: self._dates(days) for name, days in right.others.items()}
            for wording, right in answers.items()
            if right is not None
        }

    def _defects(
        self,
        puzzle: TimePuzzle,
        resolved: ResolvedFacts,
        solution: SolvedPuzzle,
        is_open: bool | None,
    ) -> tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]:
        """The defects apart from golds and texts, those that the puzzle declares itself, and the
        finding's further fields."""
        unnecessary = self._checker.unnecessary(solution.rests, solution.answer)
        events = [i for i, fact in enumerate(solution.facts) if isinstance(fact, KbEvent)]
        readings = self._checker.other_answers(solution.facts, solution.rests, solution.answer)
        chance = self._chance(puzzle, solution)
        without_event = any(index in unnecessary for index in events)
        defects = {
            "event_value": resolved.event_cause == "event_value",
            "open_universe": bool(is_open) and not _is_declared_open(puzzle),
            "event_unnecessary": without_event,
            "any_unnecessary": bool(unnecessary),
            "convention_dependent": not set(readings) <= _declared_readings(puzzle),
            "guessable": chance is not None and (chance > MAX_CHANCE or without_event),
        }
        own = {"open_universe": bool(is_open), "convention_dependent": bool(readings)}
        noted = tuple(name for name, holds in own.items() if holds and not defects[name])
        if is_open is None:
            noted = (CLOSURE_UNKNOWN, *noted)
        figures = {
            "open_universe": bool(is_open),
            "event_unnecessary": without_event,
            "any_unnecessary": bool(unnecessary),
            "readings": readings,
            "guess_chance": chance,
        }
        return tuple(name for name, holds in defects.items() if holds), noted, figures

    def _dates(self, days: DaySet) -> tuple[str, ...]:
        return tuple(day.isoformat() for day in self.sets.days.dates(days))

    def _chance(self, puzzle: TimePuzzle, solution: SolvedPuzzle) -> float | None:
        """Probability that a random value gives the recomputed answer."""
        event = event_of(solution.facts)
        if event is None:
            self.cases.append(Case(None, solution.answer, gold_days(puzzle, self.sets)))
            return None
        rest = solution.rests[solution.facts.index(event)]
        self.cases.append(Case(event, rest, gold_days(puzzle, self.sets)))
        return chance_of(Case(event, rest, solution.answer), self.sets)


def _by_rules(strict: SolvedPuzzle, rules: Sequence[JudgedText | None]) -> SolvedPuzzle:
    """The puzzle with the days of a fact by the file's own rule, where it has one."""
    days = [
        own if rule is None or rule.days is None else rule.days
        for own, rule in zip(strict.sets, rules, strict=True)
    ]
    return solve_sets(strict.facts, days, strict.window)


def _is_declared_open(puzzle: TimePuzzle) -> bool:
    return puzzle.checks is not None and not puzzle.checks.closed


def _declared_readings(puzzle: TimePuzzle) -> set[str]:
    return set(puzzle.checks.readings) if puzzle.checks else set()


LUNAR = (LunarMonth, ChineseZodiac)
LIBRARIES_RIGHT_FROM = date(1900, 1, 31)
"""Widespread lunar libraries are silently wrong before 1888-02-12 or before this day."""


class Causes:
    """Finds the causes of wrong gold sets, over shared day sets."""

    def __init__(
        self, sets: DaySets, readings: Readings, ranges: Sequence[tuple[int, int]]
    ) -> None:
        self._sets = sets
        self._readings = readings
        self._windows = [window_of(bounds, sets.days) for bounds in ranges]
        self._early = sets.days.span(sets.days.first, LIBRARIES_RIGHT_FROM)

    def of(
        self,
        puzzle: TimePuzzle,
        solution: SolvedPuzzle,
        strict: DaySet,
        resolved: ResolvedFacts,
    ) -> tuple[str, ...]:
        """The causes, empty for a right gold; `solution` is that of `resolved.facts` by the file's
        own rules, `strict` the answer without them."""
        dates, readable = _dates(puzzle.gold)
        first, last = year_bounds(puzzle)
        inside = few_days((day for day in dates if first <= day.year <= last), self._sets.days)
        causes = []
        if inside.bit_count() < len(dates):
            causes.append("year_range")
        if not readable:
            causes.append("other")
        elif not inside == solution.answer == strict:
            convention = self._by_convention(inside, solution, strict)
            causes += [convention] if convention else self._explained(inside, solution, resolved)
        if puzzle.solution_count != len(puzzle.gold):
            causes.append("solution_count")
        return tuple(dict.fromkeys(causes))

    def _by_convention(self, gold: DaySet, base: SolvedPuzzle, strict: DaySet) -> str | None:
        """The convention by which the gold is right, other than our own; None for no such one."""
        if gold == base.answer:
            return "file_rule"
        if gold == strict:
            return "strict"
        open_days = 0
        for fact, rest in zip(base.facts, base.rests, strict=True):
            open_days |= rest & self._sets.open_end(fact)
        return "open_end" if gold & ~(open_days & ~base.answer) == base.answer else None

    def _explained(
        self, gold: DaySet, solution: SolvedPuzzle, resolved: ResolvedFacts
    ) -> list[str]:
        """The causes of `gold`: the file's date of the event, another mistake, or both."""
        mistakes = [*self._hypotheses(gold, solution)]
        if self._is_one_of_several_years(gold, solution):
            # unlikely for a file that states all years of the event
            mistakes.insert(len(mistakes) if resolved.years_stated else 0, "event_in_several_years")
        cause = resolved.event_cause
        if cause is None:
            return [*mistakes, "other"][:1]
        pairs = zip(resolved.stated, solution.facts, solution.sets, strict=True)
        days = [own if fact == ours else self._sets.of(fact) for fact, ours, own in pairs]
        by_file = solve_sets(resolved.stated, days, solution.window)
        if gold == by_file.answer:
            return [cause]
        return mistakes[:1] or [cause, *self._hypotheses(gold, by_file), "other"][:2]

    def _hypotheses(self, gold: DaySet, solution: SolvedPuzzle) -> Iterator[str]:
        differing = gold ^ solution.answer
        if self._is_lunar(gold, solution) and not differing & ~self._early:
            yield "lunar_calendar"
        yield from self._by_reading(gold, solution)
        if self._is_lunar(gold, solution) and gold & ~solution.answer:
            yield "lunar_calendar"
        if any(gold == solve(solution.sets, window) for window in self._windows):
            yield "year_range"

    def _by_reading(self, gold: DaySet, solution: SolvedPuzzle) -> Iterator[str]:
        for fact, rest in zip(solution.facts, solution.rests, strict=True):
            for name, days in self._readings.others(fact):
                if rest & days == gold:
                    yield name

    def _is_one_of_several_years(self, gold: DaySet, solution: SolvedPuzzle) -> bool:
        """Whether the gold is the answer for a single year of the event."""
        for fact, rest in zip(solution.facts, solution.rests, strict=True):
            if isinstance(fact, KbEvent) and fact.aspect == "multi_year" and gold:
                year = self._sets.days.day(gold.bit_length() - 1).year
                return rest & self._sets.days.year(year) == gold
        return False

    def _is_lunar(self, gold: DaySet, solution: SolvedPuzzle) -> bool:
        """Whether the gold satisfies all facts except perhaps the lunar ones."""
        others = [
            days
            for fact, days in zip(solution.facts, solution.sets, strict=True)
            if not isinstance(fact, LUNAR)
        ]
        if len(others) == len(solution.sets):
            return False
        return not gold & ~solve(others, solution.window)


def _dates(gold: Sequence[str]) -> tuple[set[date], bool]:
    """The gold days, and whether all of them are dates."""
    dates = set()
    for text in gold:
        try:
            dates.add(date.fromisoformat(text))
        except ValueError:
            return dates, False
    return dates, True
