"""The right answers of a puzzle, for each wording and under each reading of its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent_env.families.time_puzzles.audit_solved import SolvedPuzzle
from agent_env.families.time_puzzles.audit_texts import JudgedText
from agent_env.families.time_puzzles.solver import solve
from agent_env.temporal.days import DaySet

Readings = Sequence[Sequence[tuple[str, DaySet]]]
"""For each constraint: name and days of its other readings."""
STRICT = "strict"
"""The reading of our own wordings, whatever the file's own rules are."""


@dataclass(frozen=True, slots=True)
class RightAnswers:
    """The right answers to one wording."""

    base: DaySet
    """By the file's own rules, where it states any."""
    others: Mapping[str, DaySet]
    """By reading: other answers."""

    def explains(self, gold: DaySet | None) -> bool:
        """Whether a gold is right under any reading."""
        return gold == self.base or gold in self.others.values()


def implicit_answers(base: SolvedPuzzle, strict: SolvedPuzzle, readings: Readings) -> RightAnswers:
    """The answers to the implicit wording: `base` by the file's own rules, `strict` by ours."""
    others = _by_reading(base.sets, readings, base.window)
    if strict.answer != base.answer:
        others[STRICT] = strict.answer
    return RightAnswers(base.answer, _differing(others, base.answer))


def text_answers(texts: Sequence[JudgedText], window: DaySet) -> RightAnswers | None:
    """The answers to texts alone; None if one of them is not judged, or there is none."""
    sets = [text.days for text in texts if text.days is not None]
    if not texts or len(sets) < len(texts):
        return None
    answer = solve(sets, window)
    others = _by_reading(sets, [text.others for text in texts], window)
    return RightAnswers(answer, _differing(others, answer))


def explicit_answers(
    texts: Sequence[JudgedText], implicit: Sequence[str], base: SolvedPuzzle
) -> RightAnswers | None:
    """The answers to the explicit wording by its own texts; None if one of them is not judged. An
    unread text that stands in the implicit wording too means the days of its fact."""
    if len(texts) != len(base.sets):
        return None
    own = zip(implicit, base.sets, strict=False)
    days_of_unread = dict(own) if len(implicit) == len(texts) else {}
    filled = [
        replace(text, days=days_of_unread.get(text.text)) if text.days is None else text
        for text in texts
    ]
    return text_answers(filled, base.window)


def _by_reading(sets: Sequence[DaySet], readings: Readings, window: DaySet) -> dict[str, DaySet]:
    """The answer with all facts under a reading, where they have it."""
    names = dict.fromkeys(name for own in readings for name, _ in own)
    by_name = [dict(own) for own in readings]
    return {
        name: solve([own.get(name, days) for own, days in zip(by_name, sets, strict=True)], window)
        for name in names
    }


def _differing(answers: Mapping[str, DaySet], base: DaySet) -> dict[str, DaySet]:
    return {name: days for name, days in answers.items() if days != base}
