"""Audits a puzzle file of any origin: gold, closure, necessity, wording, chance of guessing, and
the probable cause of a wrong gold set.

Everything is recomputed from the facts and, if given, a table of events. A cause is a hypothesis:
the first mistake that results in exactly the stored set, together with the event's wrong date if
that contributes. docs/time-puzzles.md explains them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from random import Random
from typing import Any, Literal

from agent_env.families.time_puzzles.day_sets import DaySets, Readings
from agent_env.families.time_puzzles.facts import ChineseZodiac, Fact, KbEvent, LunarMonth
from agent_env.families.time_puzzles.guarantees import Checker
from agent_env.families.time_puzzles.guessers import event_of
from agent_env.families.time_puzzles.published import identifier_of, puzzle_bytes, read_puzzles
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.solver import (
    SolvedPuzzle,
    common_days,
    solve,
    solve_facts,
    solve_sets,
    window_of,
    year_bounds,
)
from agent_env.features.audit.audit_texts import (
    UNKNOWN_EVENT,
    Closure,
    Coverage,
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
from agent_env.features.audit.guess_rates import (
    Case,
    GuessRates,
    chance_of,
    few_days,
    gold_days,
    rates_of,
)
from agent_env.features.facts.tables.tables import EventRow, FactTables, shipped_tables
from agent_env.sdk.records import Wording
from agent_env.sdk.trace import write_whole
from agent_env.temporal.days import PUZZLE_DAYS, DaySet

FindingClass = Literal["error", "own_rule", "debatable"]
_ERRORS = (
    "event_value", "event_in_several_years", "lunar_calendar", "year_range", "solution_count",
    "other", "wording", "explicit_gold",
)  # fmt: skip
_OWN_RULES = ("file_rule", "open_universe")
NOT_JUDGED = "not_judged"
CLOSURE_UNKNOWN = "closure_unknown"


def class_of(cause: str) -> FindingClass:
    """Whether a cause is an error, the file's own rule, or debatable: a convention on which sources
    differ, or a property that no puzzle promises."""
    return "error" if cause in _ERRORS else "own_rule" if cause in _OWN_RULES else "debatable"


def gold_class(causes: Iterable[str]) -> Literal["right", "error", "own_rule", "debatable"]:
    classes = {class_of(cause) for cause in causes}
    return next((name for name in ("error", "debatable", "own_rule") if name in classes), "right")


@dataclass(frozen=True, slots=True)
class Finding:
    identifier: str | int
    wrong_gold: tuple[str, ...] = ()
    """Causes of a gold that is not simply right; `class_of` says whether they are errors."""
    explicit_is_wrong: bool = False
    """Whether the gold of the explicit wording is right under no reading of its texts."""
    defects: tuple[str, ...] = ()
    """The puzzle's other defects."""
    notes: tuple[str, ...] = ()
    """Unknown names, and limits that the puzzle declares itself."""
    solutions: tuple[str, ...] | None = None
    """Recomputed; None for a fact with an unknown name."""
    explicit_solutions: tuple[str, ...] | None = None
    """Recomputed from the explicit texts; None if one of them is not judged."""
    other_golds: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    """By wording and reading: further answers, right under that reading."""
    readings: tuple[str, ...] = ()
    """Other readings that change the answer."""
    guess_chance: float | None = None
    """Probability that a random value of the event is right."""
    misworded: tuple[str, ...] = ()
    """The texts that mean other days than their facts."""

    @property
    def causes(self) -> tuple[str, ...]:
        """All causes and defects, those of the gold first."""
        return tuple(dict.fromkeys((*self.wrong_gold, *self.defects)))

    @property
    def is_judged(self) -> bool:
        """Whether the puzzle's facts are all known."""
        return NOT_JUDGED not in self.notes

    @property
    def open_universe(self) -> bool:
        """Whether more dates fit outside the puzzle's years; that is no defect where it says so."""
        return "open_universe" in (*self.defects, *self.notes)

    def right_gold(self, wording: Wording) -> tuple[str, ...] | None:
        """The recomputed answer to a wording; None where it is not judged."""
        return self.solutions if wording == "implicit" else self.explicit_solutions

    def as_json(self) -> dict[str, object]:
        """The puzzle's entry in the report."""
        golds = (self.solutions, self.explicit_solutions)
        solutions, explicit = (None if gold is None else list(gold) for gold in golds)
        return {
            "identifier": self.identifier,
            "causes": {cause: class_of(cause) for cause in self.causes},
            "gold": gold_class(self.wrong_gold) if self.is_judged else None,
            "solutions": solutions,
            "explicit_solutions": explicit,
            "other_golds": {
                wording: {name: list(gold) for name, gold in own.items()}
                for wording, own in self.other_golds.items()
            },
            "readings": list(self.readings),
            "guess_chance": self.guess_chance,
            "misworded": list(self.misworded),
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class AuditReport:
    findings: tuple[Finding, ...]
    guess_rates: GuessRates | None
    """Over the puzzles with known facts, against their stored gold; None without such puzzles, or
    if an event is unknown, because the rates would not be those of the set."""
    texts: Mapping[str, Coverage]
    """By wording: how many constraint texts are judged."""

    @property
    def judged(self) -> int:
        """Number of puzzles with known facts."""
        return sum(finding.is_judged for finding in self.findings)

    @property
    def without_event(self) -> int:
        """Number of puzzles about an unknown event."""
        return sum(UNKNOWN_EVENT in finding.notes for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The output of `--json`; counts are over the judged puzzles, null without any, those of
        explicit golds over the puzzles whose explicit texts are all judged."""
        counts = self._counts()
        return {
            "puzzles": len(self.findings),
            "judged": self.judged,
            **(counts if self.judged else dict.fromkeys(counts)),
            "texts": {wording: coverage.as_json() for wording, coverage in self.texts.items()},
            "per_puzzle": [finding.as_json() for finding in self.findings],
        }

    def _counts(self) -> dict[str, object]:
        judged = [finding for finding in self.findings if finding.is_judged]
        golds = Counter(gold_class(finding.wrong_gold) for finding in judged)
        causes = Counter(cause for finding in self.findings for cause in finding.causes)
        needless = [finding for finding in judged if "event_unnecessary" in finding.defects]
        explicit = [finding for finding in self.findings if finding.explicit_solutions is not None]
        return {
            "gold": {name: golds[name] for name in ("right", "own_rule", "debatable", "error")},
            "wrong_gold": golds["error"],
            "explicit_judged": len(explicit),
            "wrong_explicit_gold": sum(finding.explicit_is_wrong for finding in explicit),
            "golds_differ": sum(
                f.is_judged and f.solutions != f.explicit_solutions for f in explicit
            ),
            "ledger": {
                cause: {"class": class_of(cause), "puzzles": causes[cause]}
                for cause in sorted(causes, key=lambda cause: (class_of(cause), cause))
            },
            "open_universe": sum(finding.open_universe for finding in judged),
            "closure_unknown": sum(CLOSURE_UNKNOWN in finding.notes for finding in judged),
            "event_unnecessary": len(needless),
            "event_unnecessary_without_solution": sum(not f.solutions for f in needless),
            "any_unnecessary": sum("any_unnecessary" in finding.defects for finding in judged),
            "convention_dependent": sum(bool(finding.readings) for finding in judged),
            "guess_rates": None if self.guess_rates is None else self.guess_rates.as_json(),
        }


def corrected_puzzle(puzzle: TimePuzzle, finding: Finding) -> TimePuzzle:
    """The puzzle with each wording's gold mended, where it is an error; its checks and digest are
    cleared if it changes."""
    gold, explicit = puzzle.gold, puzzle.worded("explicit").gold
    if gold_class(finding.wrong_gold) == "error" and finding.solutions is not None:
        gold = finding.solutions
    if finding.explicit_is_wrong and finding.explicit_solutions is not None:
        explicit = finding.explicit_solutions
    mended = with_golds(puzzle, gold, explicit)
    if mended == puzzle and puzzle.solution_count == len(gold):
        return puzzle
    return mended.model_copy(update={"solution_count": len(gold), "checks": None, "digest": ""})


def with_golds(puzzle: TimePuzzle, gold: Sequence[str], explicit: Sequence[str]) -> TimePuzzle:
    own = None if set(explicit) == set(gold) else explicit
    return puzzle.model_copy(update={"gold": gold, "explicit_gold": own})


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
    puzzles: Sequence[TimePuzzle], tables: FactTables, events: Sequence[EventRow] | None = None
) -> AuditReport:
    """The audit of all puzzles; `events` precede the tables' own."""
    resolver = Resolver(tables, events)
    resolved = [resolver.resolve(puzzle) for puzzle in puzzles]
    auditor = _Auditor(puzzles, resolver.extended_tables())
    findings = tuple(map(auditor.finding, puzzles, resolved))
    are_events_known = not any(UNKNOWN_EVENT in finding.notes for finding in findings)
    is_rated = are_events_known and auditor.cases
    rates = rates_of(auditor.cases, auditor.sets, Random(0)) if is_rated else None
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
        self._checker = Checker(self.sets, tables)
        self._closure = Closure(self._checker.wide, self.sets.days)
        self._readings = Readings(self.sets)
        ranges = {year_bounds(puzzle) for puzzle in puzzles}
        ranges.add((PUZZLE_DAYS.first.year, PUZZLE_DAYS.last.year))
        self._causes = Causes(self.sets, self._readings, sorted(ranges))
        self.texts = TextJudge(self.sets)
        self.cases: list[Case] = []
        """The guessers' cases of the puzzles judged so far."""

    def finding(self, puzzle: TimePuzzle, resolved: ResolvedFacts) -> Finding:
        notes = tuple(dict.fromkeys(resolved.notes))
        texts = self.texts.judge(puzzle, [self._days(fact) for fact in resolved.facts])
        if self._is_out_of_reach(puzzle):
            return Finding(identifier_of(puzzle), notes=(*notes, NOT_JUDGED))
        if not resolved.judged:
            return self._finding_by_texts(puzzle, texts, notes)
        if not puzzle.facts:
            return self._finding_by_texts(puzzle, texts, ("no_facts",))
        try:
            window = window_of(year_bounds(puzzle), self.sets.days)
            stated = solve_facts(resolved.stated, window, self.sets)
            strict = solve_facts(resolved.facts, window, self.sets)
        except (KeyError, ValueError):  # an unknown name or number of a calendar
            return self._finding_by_texts(puzzle, texts, (*notes, "unknown_name"))
        readings = [self._readings.others(fact) for fact in strict.facts]
        rules = own_rules(strict, texts[1], readings)
        days = [
            own if rule is None or rule.days is None else rule.days
            for own, rule in zip(strict.sets, rules, strict=True)
        ]
        base = solve_sets(strict.facts, days, strict.window)  # by the file's own rules
        implicit = implicit_answers(base, strict, readings)
        explicit = explicit_answers(texts[1], puzzle.constraints, base)
        wrong_texts = [t.text for own in texts for t in misworded(own, (base, strict, stated))]
        if len(puzzle.facts) != len(puzzle.constraints) or len(texts[0]) != len(texts[1]):
            wrong_texts.append("")
        is_open = self._closure.is_open(base.facts, rules, base.answer)
        own_defects, noted, figures = self._defects(puzzle, resolved, base, is_open)
        wrong_gold = self._causes.of(puzzle, base, strict.answer, resolved)
        finding = self._finding(puzzle, (implicit, explicit))
        if finding.explicit_is_wrong and explicit is not None:
            is_same = explicit.base == base.answer and gold_class(wrong_gold) == "error"
            own_defects = own_defects if is_same else ["explicit_gold", *own_defects]
        return replace(
            finding,
            wrong_gold=wrong_gold,
            defects=(*own_defects, *(["wording"] if wrong_texts else [])),
            notes=(*notes, *noted),
            misworded=tuple(filter(None, wrong_texts)),
            **figures,
        )

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

    def _finding_by_texts(
        self, puzzle: TimePuzzle, texts: JudgedTexts, notes: tuple[str, ...]
    ) -> Finding:
        """The finding on a puzzle without facts, or with unknown ones: the gold of each wording
        whose texts are all judged. The implicit wording of unknown facts is not judged."""
        window = window_of(year_bounds(puzzle), self.sets.days)
        implicit = None if puzzle.facts else text_answers(texts[0], window)
        finding = self._finding(puzzle, (implicit, text_answers(texts[1], window)))
        causes: tuple[str, ...] = ()
        if implicit is not None and (stored := gold_days(puzzle, self.sets)) != implicit.base:
            by_reading = [name for name, days in implicit.others.items() if days == stored]
            causes = tuple((by_reading or ["other"])[:1])
        is_wrong = finding.explicit_is_wrong and causes != ("other",)
        return replace(
            finding,
            wrong_gold=causes,
            defects=("explicit_gold",) if is_wrong else (),
            notes=notes if implicit is not None else (*notes, NOT_JUDGED),
        )

    def _finding(
        self, puzzle: TimePuzzle, answers: tuple[RightAnswers | None, RightAnswers | None]
    ) -> Finding:
        """The right answers to both wordings, and whether the explicit gold is one."""
        implicit, explicit = answers
        stored = gold_days(puzzle.worded("explicit"), self.sets)
        return Finding(
            identifier_of(puzzle),
            explicit_is_wrong=explicit is not None and not explicit.explains(stored),
            solutions=None if implicit is None else self._dates(implicit.base),
            explicit_solutions=None if explicit is None else self._dates(explicit.base),
            other_golds={
                wording: {name: self._dates(days) for name, days in right.others.items()}
                for wording, right in zip(("implicit", "explicit"), answers, strict=True)
                if right is not None
            },
        )

    def _defects(
        self,
        puzzle: TimePuzzle,
        resolved: ResolvedFacts,
        solution: SolvedPuzzle,
        is_open: bool | None,
    ) -> tuple[list[str], tuple[str, ...], dict[str, Any]]:
        """Which defects it has apart from golds and texts, those that the puzzle declares itself,
        and the finding's further fields."""
        checks = puzzle.checks
        unnecessary = self._checker.unnecessary(solution.rests, solution.answer)
        readings = self._checker.other_answers(solution.facts, solution.rests, solution.answer)
        without_event = any(isinstance(solution.facts[i], KbEvent) for i in unnecessary)
        chance = self._chance(puzzle, solution)
        defects = {
            "event_value": resolved.event_cause == "event_value",
            "open_universe": bool(is_open) and (checks is None or checks.closed),
            "event_unnecessary": without_event,
            "any_unnecessary": bool(unnecessary),
            "convention_dependent": not set(readings) <= set(checks.readings if checks else ()),
            "guessable": chance is not None and (chance > MAX_CHANCE or without_event),
        }
        own = {"open_universe": bool(is_open), "convention_dependent": bool(readings)}
        noted = tuple(name for name, holds in own.items() if holds and not defects[name])
        notes = (CLOSURE_UNKNOWN, *noted) if is_open is None else noted
        figures = {"readings": readings, "guess_chance": chance}
        return [name for name, holds in defects.items() if holds], notes, figures

    def _dates(self, days: DaySet) -> tuple[str, ...]:
        return tuple(day.isoformat() for day in self.sets.days.dates(days))

    def _chance(self, puzzle: TimePuzzle, solution: SolvedPuzzle) -> float | None:
        """Probability that a random value gives the recomputed answer; keeps the guessers' case."""
        event, gold = event_of(solution.facts), gold_days(puzzle, self.sets)
        if event is None:
            self.cases.append(Case(None, solution.answer, gold))
            return None
        case = Case(event, solution.rests[solution.facts.index(event)], gold)
        self.cases.append(case)
        return chance_of(replace(case, gold=solution.answer), self.sets)


JudgedTexts = tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]]
"""Those of the implicit and of the explicit wording."""
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
        self, puzzle: TimePuzzle, solution: SolvedPuzzle, strict: DaySet, resolved: ResolvedFacts
    ) -> tuple[str, ...]:
        """The causes, empty for a right gold; `solution` is that of `resolved.facts` by the file's
        own rules, `strict` the answer without them."""
        first, last = year_bounds(puzzle)
        dates = set(map(date.fromisoformat, puzzle.gold))
        inside = few_days((day for day in dates if first <= day.year <= last), self._sets.days)
        causes = []
        if inside.bit_count() < len(dates):
            causes.append("year_range")
        if not inside == solution.answer == strict:
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
        for fact, rest in zip(solution.facts, solution.rests, strict=True):
            for name, days in self._readings.others(fact):
                if rest & days == gold:
                    yield name
        if self._is_lunar(gold, solution) and gold & ~solution.answer:
            yield "lunar_calendar"
        if any(gold == solve(solution.sets, window) for window in self._windows):
            yield "year_range"

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
