"""The certificate of an imported set: what proves its golds."""

from __future__ import annotations

from agent_env.families.tdbench.sample import TdbenchSample
from agent_env.sdk.results import Cell, Column, Comparison, ResultTable, Statistic


@Statistic("certificate", order=5, in_score=True).of
def certificate(comparison: Comparison) -> ResultTable:
    """A row for each file of each folder; no rows for questions that are not imported."""
    samples = [s for s in comparison.study.samples if isinstance(s, TdbenchSample)]
    counts: dict[tuple[str, str, int, int], list[int]] = {}
    golds: set[str] = set()
    for one in (s.certificate for s in samples):
        if one is not None:
            file = f"{one.folder}/{one.file}" if one.folder else one.file
            own = counts.setdefault((file, one.reading, one.stored, one.reproduced), [0, 0])
            own[0] += 1
            own[1] += not one.agrees
            golds |= set() if one.agrees else {one.gold}
    heads = ("stored results", "that come out", "samples", "of them differing")
    columns = (Column("file"), Column("reading"), *(Column(h, 0) for h in heads))
    rest = {
        "stored": "Of a differing sample the gold is the published one.",
        "returned": "Of a differing sample the gold is what its statement returns.",
    }
    notes = (
        "A stored result comes out where the stored statement returns the stored rows.",
        *(rest[gold] for gold in sorted(golds & set(rest))),
    )
    rows: tuple[tuple[Cell, ...], ...]
    rows = tuple((*key, *own) for key, own in sorted(counts.items()))
    return ResultTable("certificate", "Certificate of the import", columns, rows, notes)
