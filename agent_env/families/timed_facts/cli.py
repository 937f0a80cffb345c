"""TempReason and TimeQA: look into a file, draw from it."""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from agent_env.sdk.commands import AsJson, Opt

if TYPE_CHECKING:
    from agent_env.families.timed_facts.sample import TimedQuestion

File = Annotated[Path, typer.Argument(help="Questions: our samples, or a published file.")]
MAX_SHOWN = 20


def inspect(file: File, as_json: AsJson = False) -> None:
    """Count a file's questions, list what could not be read, hold the solver against the answers.

    Exit code 1 where no answer could be judged.

    Example: agent-env questions tempreason inspect test_l2.json
    """
    # the file's counts, parse failures, and agreement of the solver with the stated answers
    from agent_env.families.timed_facts.published import solver_agrees
    from agent_env.features.extraction.solver import TIES

    questions = read_questions(file)
    neighbours = [q for q in questions if q.relation in ("before", "after")]
    by_ties: dict[str, int] = {
        ties: sum(solver_agrees(q, ties) is True for q in neighbours) for ties in TIES
    }
    solved: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    differ: list[str] = []
    for question in questions:
        verdict = solver_agrees(question)
        solved[question.cell] += verdict is not None
        agree[question.cell] += verdict is True
        if verdict is False:
            differ.append(question.id)
    result = FileReport(
        questions=len(questions),
        cells=dict(sorted(Counter(question.cell for question in questions).items())),
        facts=sum(len(question.facts) for question in questions),
        unread=tuple((question.id, text) for question in questions for text in question.unread),
        solved=dict(sorted(solved.items())),
        agree=dict(sorted(agree.items())),
        differ=tuple(differ),
        ties=by_ties if len(set(by_ties.values())) > 1 else {},
    )
    if as_json:
        print(json.dumps(result.as_json()))
    else:
        _print_report(result)
    if result.judged == 0:
        sys.exit(1)


def _print_report(result: FileReport) -> None:
    print(f"{result.questions} questions, {result.facts} facts")
    others = "" if result.judged == result.questions else "; the others have no readable facts"
    print(f"judged {result.judged} of {result.questions}{others}")
    for cell, count in result.cells.items():
        readable, agree = result.solved[cell], result.agree[cell]
        print(f"  {cell:12} {count:6}   solver agrees on {agree} of {readable} that it could read")
    for ties, count in result.ties.items():
        print(f"  before and after with ties={ties}: solver agrees on {count}")
    print(f"statements that could not be read: {len(result.unread)}")
    for sample, text in result.unread[:MAX_SHOWN]:
        print(f"  {sample}: {text}")
    if len(result.unread) > MAX_SHOWN:
        print(f"  and {len(result.unread) - MAX_SHOWN} more; --json lists all")
    if result.differ:
        print(f"solver and answer differ: {', '.join(result.differ[:MAX_SHOWN])}")


def draw(
    file: File,
    out: Annotated[Path, Opt("The file to write.")],
    per_cell: Annotated[int, Opt("Questions of each cell.", min=1)] = 100,
    seed: Annotated[int, Opt("The same seed draws the same.", min=0)] = 1,
) -> None:
    """Draw so many questions of each level and number of answers.

    Example: agent-env questions tempreason draw test_l2.json --per-cell 500 --out drawn.jsonl
    """
    # writes up to `per_cell` randomly drawn questions of each cell; returns the counts by cell
    from agent_env.sdk.trace import samples_bytes, write_whole

    cells: dict[str, list[TimedQuestion]] = defaultdict(list)
    for question in read_questions(file):
        cells[question.cell].append(question)
    rng = Random(f"draw/{seed}")
    selection = {
        cell: rng.sample(own, min(per_cell, len(own))) for cell, own in sorted(cells.items())
    }
    write_whole(out, samples_bytes([question for own in selection.values() for question in own]))
    for cell, count in {cell: len(own) for cell, own in selection.items()}.items():
        short = f", as the file has no more (wanted {per_cell})" if count < per_cell else ""
        print(f"{cell}: {count}{short}", file=sys.stderr)


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
    from agent_env.sdk.family import SampleSet
    from agent_env.sdk.run import load_family

    if (owner := owner_of(file)) is not None:
        family = load_family(owner)
        published = family.read_foreign(file, family.options())
        assert published is not None  # it is that family's file
        return published.samples  # type: ignore[return-value]  # both families make these
    return SampleSet.read(file, TimedQuestion).samples  # type: ignore[return-value]  # read as such
