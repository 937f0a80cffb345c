"""Errors of an answer, by the constraints of the question."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from agent_env.records.schema import Record

Source = Literal["lookup", "calculation", "stated"]
"""What tells whether a date meets a constraint: a lookup, a calculation, or its text alone."""


class ConstraintRef(Record):
    """One constraint of a question."""

    index: int
    """Index among the question's constraints, from 0; -1 for the range stated in the prompt."""
    type: str
    """In words."""
    text: str
    source: Source
    pages: tuple[str, ...] = ()
    """URLs of the sample's evidence that prove this constraint, if known."""


class WrongDate(Record):
    """A date of the answer that is not gold."""

    date: str
    violates: tuple[ConstraintRef, ...]


class MissedDate(Record):
    """A gold date that the answer lacks."""

    date: str
    misread: ConstraintRef | None
    """The constraint most likely misread; None if unknown."""
    rule: str
    """Why that one, or why none, in words."""


class Faults(Record):
    """All wrong and missed dates of one answer; both empty for a right one."""

    wrong: tuple[WrongDate, ...] = ()
    missed: tuple[MissedDate, ...] = ()

    @property
    def blamed(self) -> tuple[ConstraintRef, ...]:
        """The constraints of the faults without duplicates, the most frequent first."""
        all_refs = [ref for wrong in self.wrong for ref in wrong.violates]
        all_refs += [missed.misread for missed in self.missed if missed.misread is not None]
        refs = {ref.index: ref for ref in all_refs}
        counts = Counter(ref.index for ref in all_refs)
        return tuple(refs[i] for i in sorted(counts, key=lambda i: (-counts[i], i)))
