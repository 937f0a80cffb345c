"""The certificate of an imported set, in every report: what proves its golds."""

from __future__ import annotations

from agent_env.analysis.comparison import Comparison
from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.analysis.statistics import Statistic
from agent_env.families.tdbench.sample import Certificate, TdbenchSample

COLUMNS = (
    Column("file"),
    Column("reading"),
    Column("stored results", 0, is_kept=True),
    Column("that come out", 0, is_kept=True),
    Column("samples", 0, is_kept=True),
    Column("of them differing", 0, is_kept=True),
)


def certificate(comparison: Comparison) -> ResultTable:
    """A row for each file of each folder; no rows for questions that are not imported."""
    samples = [s for s in comparison.study.samples if isinstance(s, TdbenchSample)]
    counts: dict[tuple[str, str, int, int], list[int]] = {}
    golds: set[str] = set()
    for one in (s.certificate for s in samples):
        if one is not None:
            file = f"{one.folder}/{one.file}" if one.folder else one.file
            key = file, one.reading, one.stored, one.reproduced
            own = counts.setdefault(key, [0, 0])
            own[0] += 1
            own[1] += not one.agrees
            golds |= set() if one.agrees else {one.gold}
    rows: tuple[tuple[Cell, ...], ...]
    rows = tuple((*key, *own) for key, own in sorted(counts.items()))
    return ResultTable("certificate", "Certificate of the import", COLUMNS, rows, _notes(golds))


def _notes(golds: set[str]) -> tuple[str, ...]:
    first = "A stored result comes out where the stored statement returns the stored rows."
    rest = {
        "stored": "Of a differing sample the gold is the published one.",
        "returned": "Of a differing sample the gold is what its statement returns.",
    }
    return (first, *(rest[gold] for gold in sorted(golds & set(rest))))


def certificate_note(certificates: list[Certificate]) -> str | None:
    """The same in one line; None where nothing is imported."""
    if not certificates:
        return None
    files = {(c.folder, c.file, c.reading): c for c in certificates}.values()
    stored, reproduced = (
        sum(v) for v in zip(*((c.stored, c.reproduced) for c in files), strict=True)
    )
    differing = sum(not c.agrees for c in certificates)
    return (
        f"imported: {reproduced} of {stored} stored results come out; {differing} of "
        f"{len(certificates)} answers are to questions that differ"
    )


STATISTIC = Statistic("certificate", certificate, order=5, in_score=True, is_main=True)
