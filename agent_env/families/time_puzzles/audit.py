"""Audits a puzzle file of any origin: gold, closure, necessity, wording, chance of guessing.

Everything is recomputed from the facts and, if given, a table of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from agent_env.episodes.run_folder import write_whole
from agent_env.families.time_puzzles.audit_causes import Causes
from agent_env.families.time_puzzles.audit_events import (
    UNKNOWN_EVENT,
    ResolvedFacts,
    Resolver,
    read_event_dates,
)
from agent_env.families.time_puzzles.audit_solved import (
    SolvedPuzzle,
    common_days,
    solve_facts,
    window_of,
    year_bounds,
)
from agent_env.families.time_puzzles.audit_texts import TextJudge
from agent_env.families.time_puzzles.checks import Checker
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import KbEvent
from agent_env.families.time_puzzles.guessers import (
    Case,
    GuessRates,
    chance_of,
    event_of,
    gold_days,
    rates_of,
)
from agent_env.families.time_puzzles.published import identifier_of, puzzle_bytes, read_puzzles
from agent_env.families.time_puzzles.readings import Readings
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.temporal.days import PUZZLE_DAYS
from agent_env.temporal.facts.tables import EventRow, FactTables, shipped_tables

NOT_JUDGED = "not_judged"
MAX_CHANCE = 0.1
"""Largest accepted probability that a random value of the event is right."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The findings on one puzzle."""

    identifier: str | int
    wrong_gold: tuple[str, ...] = ()
    """Causes of a wrong gold set; empty for a right one."""
    defects: tuple[str, ...] = ()
    """The puzzle's other defects."""
    notes: tuple[str, ...] = ()
    """Unknown names, and limits that the puzzle declares itself."""
    solutions: tuple[str, ...] | None = None
    """Recomputed; None for a fact with an unknown name."""
    open_universe: bool = False
    event_unnecessary: bool = False
    any_unnecessary: bool = False
    readings: tuple[str, ...] = ()
    """Other readings that change the answer."""
    guess_chance: float | None = None
    """Probability that a random value of the event is right."""

    @property
    def causes(self) -> tuple[str, ...]:
        """All causes and defects, those of the gold first."""
        return tuple(dict.fromkeys((*self.wrong_gold, *self.defects)))

    def as_json(self) -> dict[str, object]:
        """The puzzle's entry in the report."""
        return {
            "identifier": self.identifier,
            "causes": list(self.causes),
            "solutions": None if self.solutions is None else list(self.solutions),
            "wrong_gold": None if NOT_JUDGED in self.notes else bool(self.wrong_gold),
            "readings": list(self.readings),
            "guess_chance": self.guess_chance,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class AuditReport:
    """All findings, in the order of the puzzles, and the guessers' rates."""

    findings: tuple[Finding, ...]
    guess_rates: GuessRates | None
    """Over the puzzles with known facts, against their stored gold; None without such puzzles, or
    if an event is unknown, because the rates would not be those of the set."""

    @property
    def judged(self) -> int:
        """Number of puzzles with known facts."""
        return sum(NOT_JUDGED not in finding.notes for finding in self.findings)

    @property
    def without_event(self) -> int:
        """Number of puzzles about an unknown event."""
        return sum(UNKNOWN_EVENT in finding.notes for finding in self.findings)

    def as_json(self) -> dict[str, object]:
        """The output of `--json`; counts are over the judged puzzles, null without any."""
        wrong = [finding.wrong_gold for finding in self.findings if finding.wrong_gold]
        by_cause = Counter(cause for causes in wrong for cause in causes)
        counts = {
            "wrong_gold": len(wrong),
            "wrong_gold_by_cause": dict(sorted(by_cause.items())),
            "open_universe": sum(finding.open_universe for finding in self.findings),
            "event_unnecessary": sum(finding.event_unnecessary for finding in self.findings),
            "any_unnecessary": sum(finding.any_unnecessary for finding in self.findings),
            "convention_dependent": sum(bool(finding.readings) for finding in self.findings),
            "guess_rates": None if self.guess_rates is None else self.guess_rates.as_json(),
        }
        return {
            "puzzles": len(self.findings),
            "judged": self.judged,
            **(counts if self.judged else dict.fromkeys(counts)),
            "per_puzzle": [finding.as_json() for finding in self.findings],
        }


def audit_file(file: Path, facts: Path | None, fix: Path | None) -> AuditReport:
    """Audits a puzzle file of either format; writes the corrected set to `fix`, if anything was
    judged."""
    puzzles = read_puzzles(file)
    events = read_event_dates(facts) if facts is not None else None
    report = audit(puzzles, shipped_tables(), events)
    if fix is not None and report.judged:
        write_whole(fix, puzzle_bytes(corrected(puzzles, report)))
    return report


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
    return AuditReport(findings, rates)


def corrected(puzzles: Sequence[TimePuzzle], report: AuditReport) -> tuple[TimePuzzle, ...]:
    """The puzzles with the right gold and count; checks and digest of changed ones are cleared."""
    pairs = zip(puzzles, report.findings, strict=True)
    return tuple(_corrected(puzzle, finding) for puzzle, finding in pairs)


def _corrected(puzzle: TimePuzzle, finding: Finding) -> TimePuzzle:
    if not finding.wrong_gold or finding.solutions is None:
        return puzzle
    changed = {"gold": finding.solutions, "solution_count": len(finding.solutions)}
    return puzzle.model_copy(update={**changed, "checks": None, "digest": ""})


class _Auditor:
    """Audits single puzzles over shared day sets."""

    def __init__(self, puzzles: Sequence[TimePuzzle], tables: FactTables) -> None:
        self.sets = DaySets(common_days(puzzles), tables)
        self._tables = tables
        self._checker = Checker(self.sets, tables)
        self._readings = Readings(self.sets)
        ranges = {year_bounds(puzzle) for puzzle in puzzles}
        ranges.add((PUZZLE_DAYS.first.year, PUZZLE_DAYS.last.year))
        self._causes = Causes(self.sets, self._readings, sorted(ranges))
        self._texts = TextJudge(tables, self.sets)
        self.cases: list[Case] = []
        """The guessers' cases of the puzzles judged so far."""

    def finding(self, puzzle: TimePuzzle, resolved: ResolvedFacts) -> Finding:
        """The findings on one puzzle."""
        notes = tuple(dict.fromkeys(resolved.notes))
        identifier = identifier_of(puzzle)
        if not resolved.judged or not puzzle.facts or self._is_out_of_reach(puzzle):
            return Finding(identifier, notes=(*notes, NOT_JUDGED))
        try:
            window = window_of(year_bounds(puzzle), self.sets.days)
            if resolved.event_cause:
                solve_facts(resolved.stated, window, self.sets)  # needed for the causes
            solution = solve_facts(resolved.facts, window, self.sets)
        except (KeyError, ValueError):  # an unknown name or number of a calendar
            return Finding(identifier, notes=(*notes, "unknown_name", NOT_JUDGED))
        return self._full_finding(puzzle, resolved, solution, notes)

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
        solution: SolvedPuzzle,
        notes: tuple[str, ...],
    ) -> Finding:
        wrong = self._causes.of(puzzle, solution, resolved)
        unnecessary = self._checker.unnecessary(solution.rests, solution.answer)
        events = [i for i, fact in enumerate(solution.facts) if isinstance(fact, KbEvent)]
        is_open = not self._checker.is_closed(solution.facts, solution.answer)
        readings = self._checker.other_answers(solution.facts, solution.rests, solution.answer)
        chance = self._chance(puzzle, solution)
        without_event = any(index in unnecessary for index in events)
        defects = {
            "event_value": resolved.event_cause == "event_value",
            "open_universe": is_open and not _is_declared_open(puzzle),
            "event_unnecessary": without_event,
            "any_unnecessary": bool(unnecessary),
            "convention_dependent": not set(readings) <= _declared_readings(puzzle),
            "guessable": chance is not None and (chance > MAX_CHANCE or without_event),
            "wording": self._texts.differ(puzzle, solution),
        }
        own = {"open_universe": is_open, "convention_dependent": bool(readings)}
        noted = tuple(name for name, holds in own.items() if holds and not defects[name])
        return Finding(
            identifier=identifier_of(puzzle),
            wrong_gold=wrong,
            defects=tuple(name for name, holds in defects.items() if holds),
            notes=(*notes, *noted),
            solutions=tuple(day.isoformat() for day in self.sets.days.dates(solution.answer)),
            open_universe=is_open,
            event_unnecessary=without_event,
            any_unnecessary=bool(unnecessary),
            readings=readings,
            guess_chance=chance,
        )

    def _chance(self, puzzle: TimePuzzle, solution: SolvedPuzzle) -> float | None:
        """Probability that a random value gives the recomputed answer."""
        event = event_of(solution.facts)
        if event is None:
            self.cases.append(Case(None, solution.answer, gold_days(puzzle, self.sets)))
            return None
        rest = solution.rests[solution.facts.index(event)]
        self.cases.append(Case(event, rest, gold_days(puzzle, self.sets)))
        return chance_of(Case(event, rest, solution.answer), self.sets)


def _is_declared_open(puzzle: TimePuzzle) -> bool:
    return puzzle.checks is not None and not puzzle.checks.closed


def _declared_readings(puzzle: TimePuzzle) -> set[str]:
    return set(puzzle.checks.readings) if puzzle.checks else set()
