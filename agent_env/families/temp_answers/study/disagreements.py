"""Responses that the two modes score differently, with the cause."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent_env.families.temp_answers.responses import Response, ResponseFile
from agent_env.families.temp_answers.scoring.answer_spec import WITH_VALUE
from agent_env.families.temp_answers.scoring.time_units import Amount
from agent_env.families.temp_answers.study.modes import Item


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One response that the two modes score differently."""

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
    """In the order of the rows: responses that only one mode parses or counts as right, and those
    with different errors."""
    for file, v2_items, paper_items in zip(files, v2, paper, strict=True):
        for a, b in zip(paper_items, v2_items, strict=True):
            if (why := cause(file.dataset, a, b)) is not None:
                yield Disagreement(file.path.name, a.row, a.amount, b.amount, a.exact, b.exact, why)


def cause(dataset: str, paper: Item, v2: Item) -> str | None:
    """Why the modes differ on an item; None where they agree."""
    if (v2.problem is None) != (paper.problem is None):
        return f"gold: {v2.problem or paper.problem}"
    if v2.problem is not None:
        return None
    paper_parsed, v2_parsed = paper.amount is not None, v2.outcome in WITH_VALUE
    if paper_parsed != v2_parsed:
        if v2_parsed and v2.amount is None:
            return "v2 alone reads it: a coarser date than asked"
        mode, other = ("v2", paper) if v2_parsed else ("paper", v2)
        return f"{mode} alone reads it: {other.rule}"
    if not paper_parsed or (paper.exact == v2.exact and _agree(paper, v2)):
        return None
    if paper.unit == "date":
        return _date_cause(paper, v2)
    if dataset == "tot":
        return "keys by position" if paper.rule == "keys by position" else "another value"
    return _number_cause(paper, v2)


def _agree(paper: Item, v2: Item) -> bool:
    if paper.unit == "date":  # the amounts have different units
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
    a, b = paper.amount, v2.amount
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
