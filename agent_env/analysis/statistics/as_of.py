"""What a web as of a day let through, by the flags that its guards wrote into the traces."""

from __future__ import annotations

from collections import Counter

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.intervals import wilson
from agent_env.analysis.provenance import Provenance
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.analysis.statistics.provenance import records_of
from agent_env.scoring.evidence import is_telling

SHOWN, WITHHELD = ("", "undated", "mentions-later"), ("later", "changed", "undated")
"""Flags of the pages that are counted; "" counts all."""


@Statistic(
    "as-of", order=32, section="Results", in_score=True,
    without_rows="No run has a web as of a day (--as-of).",
).of  # fmt: skip
def as_of(comparison: Comparison) -> ResultTable:
    """A row for each arm whose web was asked for pages of a day."""
    telling = {sample.id for sample in comparison.study.samples if is_telling(sample.gold)}
    asked = {
        label: [each for each in own if each.as_of is not None]
        for label, own in records_of(comparison).items()
    }
    rows = tuple(_row(label, own, telling) for label, own in asked.items() if own)
    columns = (
        Column("condition"), Column("as of"), Column("pages shown", 0),
        Column("of these undated", 0), Column("mention later days", 0),
        Column("withheld: later", 0), Column("of these changed later", 0),
        Column("withheld: undated", 0), Column("samples judged", 0),
        Column("gold on a leaking page"),
    )  # fmt: skip
    note = (
        "Pages and results, each counted once an episode. Gold on a leaking page: share of the "
        "samples judged of which an episode was shown every right answer on a page that bears no "
        "date or speaks of later days; Wilson. Judged: whose right answer is long enough, and "
        "which were shown a page."
    )
    return ResultTable("as-of", "What did the web as of a day let through?", columns, rows, (note,))


def _row(label: str, records: list[Provenance], telling: set[str]) -> tuple[Cell, ...]:
    total = sum((Counter(each.page_flags) for each in records), Counter[str]())
    judged: dict[str, bool] = {}
    for each in records:
        if each.page_flags.get("shown") and each.sample in telling:
            judged[each.sample] = judged.get(each.sample, False) or "leak" in each.page_flags
    n, leaks = len(judged), sum(judged.values())
    share: Cell = (leaks / n, *wilson(leaks / n, n)) if n else None
    shown = (total[f"shown {flag}".strip()] for flag in SHOWN)
    withheld = (total[f"withheld {flag}"] for flag in WITHHELD)
    return label, records[0].as_of, *shown, *withheld, n, share
