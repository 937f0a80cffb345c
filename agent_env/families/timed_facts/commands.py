"""Commands on questions of timed facts: inspect a file, draw from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_env.families.timed_facts.sample import TimedQuestion


@dataclass(frozen=True, slots=True)
class FileReport:
    """The contents of a file of questions."""

    questions: int
    cells: dict[str, int]
    facts: int
    unread: tuple[tuple[str, str], ...]
    """By sample: statements with a time that could not be parsed, with the reason."""
    solved: dict[str, int]
    """By cell: questions that could be parsed with their facts."""
    agree: dict[str, int]
    """Of those, the ones where the solver's answer is the stated one."""
    differ: tuple[str, ...]
    """Ids of the others."""
    ties: dict[str, int]
    """By tie-break: questions of before and after on which the solver agrees. Empty where each
    tie-break agrees on the same."""

    @property
    def judged(self) -> int:
        """Questions whose answer the solver could hold against the file's."""
        return sum(self.solved.values())

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        return asdict(self) | {"judged": self.judged}


def read_questions(file: Path) -> tuple[TimedQuestion, ...]:
    """The questions of a file, own or published. Raises ConfigError for another file."""
    from agent_env.families.timed_facts.published import owner_of
    from agent_env.families.timed_facts.sample import TimedQuestion
    from agent_env.sdk.run import load_family
    from agent_env.sdk.trace import read_samples

    if (owner := owner_of(file)) is not None:
        family = load_family(owner)
        published = family.read_foreign(file, family.options())
        assert published is not None  # it is that family's file
        return published.samples  # type: ignore[return-value]  # both families make these
    return read_samples(file, TimedQuestion)  # type: ignore[return-value]  # read as such


def inspect_file(file: Path) -> FileReport:
    """The file's counts, parse failures, and agreement of the solver with the stated answers."""
    from agent_env.families.timed_facts.published import solver_agrees

    questions = read_questions(file)
    solved: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    differ: list[str] = []
    for question in questions:
        verdict = solver_agrees(question)
        solved[question.cell] += verdict is not None
        agree[question.cell] += verdict is True
        if verdict is False:
            differ.append(question.id)
    return FileReport(
        questions=len(questions),
        cells=dict(sorted(Counter(question.cell for question in questions).items())),
        facts=sum(len(question.facts) for question in questions),
        unread=tuple((question.id, text) for question in questions for text in question.unread),
        solved=dict(sorted(solved.items())),
        agree=dict(sorted(agree.items())),
        differ=tuple(differ),
        ties=_by_ties(questions),
    )


def _by_ties(questions: Sequence[TimedQuestion]) -> dict[str, int]:
    from agent_env.extensions.extraction.solver import TIES
    from agent_env.families.timed_facts.published import solver_agrees

    neighbours = [q for q in questions if q.relation in ("before", "after")]
    agree: dict[str, int] = {}
    for ties in TIES:
        agree[ties] = sum(solver_agrees(q, ties) is True for q in neighbours)
    return agree if len(set(agree.values())) > 1 else {}


def draw_cells(file: Path, per_cell: int, seed: int, out: Path) -> dict[str, int]:
    """Writes up to `per_cell` randomly drawn questions of each cell; returns the counts by cell."""
    from agent_env.sdk.trace import samples_bytes, write_whole

    cells: dict[str, list[TimedQuestion]] = defaultdict(list)
    for question in read_questions(file):
        cells[question.cell].append(question)
    rng = Random(f"draw/{seed}")
    selection = {
        cell: rng.sample(own, min(per_cell, len(own))) for cell, own in sorted(cells.items())
    }
    write_whole(out, samples_bytes([question for own in selection.values() for question in own]))
    return {cell: len(own) for cell, own in selection.items()}
