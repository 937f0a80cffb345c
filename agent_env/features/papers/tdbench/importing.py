"""Imports a published set: what comes out of it, and its samples."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from agent_env.features.papers.tdbench.published import Difference, PublishedSet, read_published
from agent_env.features.papers.tdbench.published_samples import Differing, published_samples
from agent_env.sdk.family import SampleSet
from agent_env.sdk.trace import write_whole


@dataclass(frozen=True, slots=True)
class ImportReport:
    """A published set, and the samples that were made of it."""

    published: PublishedSet
    made: SampleSet
    out: Path | None

    @property
    def tables(self) -> dict[str, int]:
        """Rows by table; of several files of one name the later ones are numbered."""
        sizes: dict[str, int] = {}
        for table in self.published.tables:
            number = sum(name.partition(" (")[0] == table.name for name in sizes) + 1
            sizes[table.name if number == 1 else f"{table.name} ({number})"] = len(table.rows)
        return sizes

    @property
    def differences(self) -> list[Difference]:
        return [q.difference for q in self.published.questions if q.difference is not None]

    @property
    def by_relation(self) -> dict[str, tuple[int, int]]:
        """Entries, and those of them that differ."""
        entries = Counter(q.question.relation for q in self.published.questions)
        wrong = Counter(d.relation for d in self.differences)
        return {name: (entries[name], wrong[name]) for name in sorted(entries)}

    @property
    def refused(self) -> int:
        """Questions that could be run and are not written, as their stored rows do not come out."""
        return sum(self.made.left_out.values())

    @property
    def unworded(self) -> int:
        """Entries that can be run and hold no `questions`; no sample is made of them."""
        own = self.published.questions
        return sum(not q.question.questions for q in own if q.rows is not None)

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        own, differences = self.published, self.differences
        relations = self.by_relation.items()
        return {
            "tables": self.tables,
            "questions": len(own.questions),
            "equal": len(own.questions) - len(differences),
            "differences": [asdict(each) for each in differences],
            "by_relation": {name: {"questions": n, "different": d} for name, (n, d) in relations},
            "proofs": [
                {"file": p.file, "kind": p.group, "reading": asdict(p.reading), "stored": p.stored,
                 "reproduced": p.reproduced, "with_rows": p.with_rows}
                for p in own.proofs
            ],
            "refused": self.refused,
            "samples": len(self.made.samples),
            "blanks": len(own.blanks),
            "unworded": self.unworded,
            "ignored": own.ignored,
            "notes": own.notes,
            "out": str(self.out) if self.out else None,
            "different": len(differences),
        }  # fmt: skip


def import_published(
    folder: Path, now: date | None, out: Path | None, differing: Differing = "refuse"
) -> ImportReport:
    """Check a published set, and write its samples to `out`, where it is named, with the report
    beside them."""
    published = read_published(folder, now)
    report = ImportReport(published, published_samples(published, now, differing), out)
    if out is not None:
        report.made.write(out)
        text = json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n"
        write_whole(out.with_name(f"{out.stem}.import.json"), text.encode())
    return report
