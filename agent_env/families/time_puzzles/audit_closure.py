"""Whether a puzzle has further answers outside its years, by the rules that give its gold."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.families.time_puzzles.audit_texts import JudgedText
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import Fact
from agent_env.families.time_puzzles.solver import solve
from agent_env.families.time_puzzles.texts.days import MeaningDays
from agent_env.temporal.days import CLOSURE_DAYS, DayRange, DaySet
from agent_env.temporal.facts.tables import FactTables


class Closure:
    """Solves facts over 1583 to 2400; `days` are those of the answers."""

    def __init__(self, days: DayRange, tables: FactTables) -> None:
        self._shift = CLOSURE_DAYS.index(days.first)
        self._sets = DaySets(CLOSURE_DAYS, tables)
        self._meanings = MeaningDays(self._sets)

    def is_open(
        self, facts: Sequence[Fact], rules: Sequence[JudgedText | None], answer: DaySet
    ) -> bool | None:
        """Whether further days satisfy the facts, each by the file's own rule where there is one;
        None where this depends on days on which it is unknown whether a fact holds."""
        known, possible = [], []
        for fact, rule in zip(facts, rules, strict=True):
            days = self._sets.of(fact) if rule is None else self._days_of(rule)
            known.append(days)
            possible.append(days | self._sets.unknown(fact) if rule is None else days)
        if solve(known, CLOSURE_DAYS.everything) != answer << self._shift:
            return True
        is_certain = solve(possible, CLOSURE_DAYS.everything) == answer << self._shift
        return False if is_certain else None

    def _days_of(self, rule: JudgedText) -> DaySet:
        days = None if rule.meaning is None else self._meanings.of(rule.meaning)
        assert days is not None, "a rule is a text that was judged"
        return days
