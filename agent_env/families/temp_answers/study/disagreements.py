"""Where the published reading and ours differ, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_env.families.temp_answers.responses import Response, ResponseFile
from agent_env.families.temp_answers.scoring.time_units import Amount
from agent_env.families.temp_answers.study.modes import Item


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One response that the two modes judge differently."""

    file: str
    row: Response
    paper: Amount | None
    v2: Amount | None
    paper_exact: bool
    v2_exact: bool
    cause: str


def disagreements(
    files: Sequence[ResponseFile],
    paper: Sequence[Sequence[Item]],
    v2: Sequence[Sequence[Item]],
) -> Iterator[Disagreement]:
    """In the order of the rows: those of which one mode alone reads something or says right, and
    those that are wrong by different errors."""
    for file, ours, theirs in zip(files, v2, paper, strict=True):
        for a, b in zip(theirs, ours, strict=True):
            if (why := cause(file.dataset, a, b)) is not None:
                yield Disagreement(file.path.name, a.row, a.given, b.given, a.exact, b.exact, why)


def cause(dataset: str, paper: Item, v2: Item) -> str | None:
    """Why the modes differ on an item; None where they agree."""
    if (v2.problem is None) != (paper.problem is None):
        return f"gold: {v2.problem or paper.problem}"
    if v2.problem is not None:
        return None
    reads, read = paper.given is not None, v2.outcome == "parsed"
    if reads != read:
        if read and v2.given is None:
            return "v2 alone reads it: a coarser date than asked"
        return f"v2 alone reads it: {paper.rule}" if read else f"paper alone reads it: {v2.rule}"
    if not reads or (paper.exact == v2.exact and _agree(paper, v2)):
        return None
    if paper.unit == "date":
        return _date_cause(paper, v2)
    if dataset == "tot":
        return "keys by position" if paper.rule == "keys by position" else "another value"
    return _number_cause(paper, v2)


def _agree(paper: Item, v2: Item) -> bool:
    if paper.unit == "date":  # seconds there, days here; the errors tell
        return v2.error is not None and paper.error == v2.error
    return paper.error is not None and v2.error is not None and (
        abs(paper.error - v2.error) <= 1e-9 * max(1.0, abs(v2.error))
    )  # fmt: skip


def _date_cause(paper: Item, v2: Item) -> str:
    if v2.error is None:
        return "date completed from the clock"
    if paper.error is None or abs(paper.error - v2.error) <= 1:
        return "time of day or zone"
    return "another date of the line taken"


def _number_cause(paper: Item, v2: Item) -> str:
    a, b = paper.given, v2.given
    if a is None or b is None:
        return "another value"
    digits = str(abs(int(b)))
    if b < 0:
        return "the sign is lost"
    if abs(b) >= 1000 and digits.startswith(str(int(a))) and int(a) < 1000:
        return "cut at the thousands separator"
    if isinstance(b, float) and int(b) == a:
        return "cut at the decimal point"
    if 1000 <= a <= 2999 and paper.unit != "date_years":
        return "a calendar year taken for the answer"
    if paper.unit == "date_years":
        return "another year of the line taken"
    return "another number of the line taken"
