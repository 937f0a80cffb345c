"""What is wrong with an answer, in terms of the question's constraints."""

from __future__ import annotations

from typing import Literal

from agent_env.records.schema import Record

Source = Literal["lookup", "calculation"]
"""Whether a constraint needs something looked up, or only computed."""


class ConstraintRef(Record):
    """One constraint of a question."""

    index: int
    """Place among the question's constraints, from 0; -1 for the range stated in the prompt."""
    type: str
    text: str
    source: Source
    pages: tuple[str, ...] = ()
    """URLs of the sample's evidence that prove this constraint, where one knows which."""


class WrongDate(Record):
    """A date of the answer that is not gold."""

    date: str
    violates: tuple[ConstraintRef, ...]


class MissedDate(Record):
    """A gold date that the answer lacks."""

    date: str
    misread: ConstraintRef | None
    """The constraint most likely misread; None where nothing points to one."""
    rule: str
    """How that was found: `violated elsewhere`, `other reading: NAME`, `left out by its value`,
    `nothing found` or `no date given`."""


class Faults(Record):
    """All wrong and missed dates of one answer; both empty for a right one."""

    wrong: tuple[WrongDate, ...] = ()
    missed: tuple[MissedDate, ...] = ()

    @property
    def blamed(self) -> tuple[ConstraintRef, ...]:
        """The constraints that the faults point to, each once, most often named first."""
        counts: dict[int, int] = {}
        refs: dict[int, ConstraintRef] = {}
        named = [ref for wrong in self.wrong for ref in wrong.violates]
        named += [missed.misread for missed in self.missed if missed.misread is not None]
        for ref in named:
            refs[ref.index] = ref
            counts[ref.index] = counts.get(ref.index, 0) + 1
        return tuple(refs[i] for i in sorted(counts, key=lambda i: (-counts[i], i)))
