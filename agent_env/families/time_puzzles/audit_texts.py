"""Judges the texts of puzzles: their days by the grammar, beside those of the facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent_env.families.time_puzzles.audit_solved import SolvedPuzzle
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact, KbEvent, RecurringEvent
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.families.time_puzzles.texts.days import MeaningDays, StatedEvent
from agent_env.families.time_puzzles.texts.grammar import compile_text
from agent_env.families.time_puzzles.texts.meanings import Meaning, YearRule
from agent_env.temporal.days import DaySet


@dataclass(frozen=True, slots=True)
class JudgedText:
    """A constraint's text and its days."""

    text: str
    meaning: Meaning | None = None
    """None for an unread text."""
    days: DaySet | None = None
    """None also for a name that no table has."""
    others: tuple[tuple[str, DaySet], ...] = ()
    """Name and days of its other common readings."""

    @property
    def possible(self) -> tuple[DaySet, ...]:
        """The days by each reading; none for a text that is not judged."""
        return () if self.days is None else (self.days, *(days for _, days in self.others))


@dataclass(slots=True)
class Coverage:
    """How many texts of one wording are judged."""

    texts: int = 0
    judged: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    """By text: how often it stands there."""
    unknown_names: Counter[str] = field(default_factory=Counter)
    """Texts that are read, but name a person or an event that no table has."""

    def count(self, texts: Iterable[JudgedText]) -> None:
        """Counts these texts in."""
        for each in texts:
            self.texts += 1
            self.judged += each.days is not None
            if each.meaning is None:
                self.unread[each.text] += 1
            elif each.days is None:
                self.unknown_names[each.text] += 1

    def as_json(self) -> dict[str, object]:
        """The wording's entry in the report."""
        return {
            "texts": self.texts,
            "judged": self.judged,
            "unread": dict(self.unread.most_common()),
            "unknown_names": dict(self.unknown_names.most_common()),
        }


class TextJudge:
    """Judges texts over shared day sets, and counts what it cannot judge."""

    def __init__(self, sets: DaySets) -> None:
        self._meanings = MeaningDays(sets)
        self.implicit, self.explicit = Coverage(), Coverage()

    def judge(
        self, puzzle: TimePuzzle, resolved: Sequence[DaySet | None]
    ) -> tuple[tuple[JudgedText, ...], tuple[JudgedText, ...]]:
        """The implicit and the explicit texts; `resolved`: the days of the puzzle's facts, where
        they are known."""
        facts: list[Fact | None] = [*puzzle.facts]
        if len(facts) != len(puzzle.constraints):
            facts = [None] * len(puzzle.constraints)
        stated = [
            StatedEvent(fact, days) if isinstance(fact, KbEvent) and days is not None else None
            for fact, days in zip(facts, [*resolved, *[None] * len(facts)], strict=False)
        ]
        implicit = self._judged(puzzle.constraints, stated)
        explicit = self._judged(puzzle.explicit_constraints, stated)
        self.implicit.count(implicit)
        self.explicit.count(explicit)
        return implicit, explicit

    def _judged(
        self, texts: Sequence[str], stated: Sequence[StatedEvent | None]
    ) -> tuple[JudgedText, ...]:
        padded = [*stated, *[None] * len(texts)]
        return tuple(self._one(text, event) for text, event in zip(texts, padded, strict=False))

    def _one(self, text: str, event: StatedEvent | None) -> JudgedText:
        meaning = compile_text(text)
        if meaning is None:
            return JudgedText(text)
        days = self._meanings.of(meaning, event)
        return JudgedText(text, meaning, days, self._meanings.others(meaning))


def own_rules(
    solution: SolvedPuzzle,
    explicit: Sequence[JudgedText],
    readings: Sequence[Sequence[tuple[str, DaySet]]],
) -> list[JudgedText | None]:
    """For each fact the file's own rule: its explicit text where this states a rule for the games,
    or another of the fact's `readings`; else None."""
    rules: list[JudgedText | None] = [None] * len(solution.sets)
    if len(explicit) != len(rules):
        return rules
    for index, (fact, text) in enumerate(zip(solution.facts, explicit, strict=True)):
        if text.days is None or isinstance(fact, KbEvent):
            continue
        days = text.days & solution.window
        states_rule = isinstance(fact, RecurringEvent) and isinstance(text.meaning, YearRule)
        if states_rule or any(days == other & solution.window for _, other in readings[index]):
            rules[index] = text
    return rules


def misworded(
    texts: Sequence[JudgedText], solutions: Sequence[SolvedPuzzle]
) -> tuple[JudgedText, ...]:
    """The texts that give another answer than their facts, by every reading of the text and each
    of the solutions."""
    return tuple(
        text
        for index, text in enumerate(texts)
        if text.possible
        and not any(
            solution.rests[index] & days == solution.answer
            for solution in solutions
            for days in text.possible
        )
    )
