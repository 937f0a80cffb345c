"""Imports a published set: what comes out of it, and its samples."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from agent_env.features.papers.tdbench.published import PublishedSet, read_published
from agent_env.features.papers.tdbench.published_samples import Differing, published_samples
from agent_env.sdk.family import SampleSet
from agent_env.sdk.trace import write_whole


@dataclass(frozen=True, slots=True)
class ImportReport:
    """A published set, and the samples that were made of it."""

    published: PublishedSet
    made: SampleSet
    summary: dict[str, Any]
    """The object that `--json` prints."""


def import_published(
    folder: Path, now: date | None, out: Path | None, differing: Differing = "refuse"
) -> ImportReport:
    """Check a published set, and write its samples to `out`, where it is named, with the report
    beside them."""
    published = read_published(folder, now)
    made = published_samples(published, now, differing)
    questions = published.questions
    differences = [each for each in (q.difference for q in questions) if each is not None]
    tables: dict[str, int] = {}
    for table in published.tables:  # of several files of one name the later ones are numbered
        number = sum(name.partition(" (")[0] == table.name for name in tables) + 1
        tables[table.name if number == 1 else f"{table.name} ({number})"] = len(table.rows)
    relations = Counter(q.question.relation for q in questions)
    wrong = Counter(each.relation for each in differences)
    summary = {
        "tables": tables,
        "questions": len(questions),
        "equal": len(questions) - len(differences),
        "differences": [asdict(each) for each in differences],
        "by_relation": {
            name: {"questions": relations[name], "different": wrong[name]}
            for name in sorted(relations)
        },
        "proofs": [
            {"file": p.file, "kind": p.group, "reading": asdict(p.reading), "stored": p.stored,
             "reproduced": p.reproduced, "with_rows": p.with_rows}
            for p in published.proofs
        ],
        "refused": sum(made.left_out.values()),
        "samples": len(made.samples),
        "blanks": len(published.blanks),
        "unworded": sum(not q.question.questions for q in questions if q.rows is not None),
        "ignored": published.ignored,
        "notes": published.notes,
        "out": str(out) if out else None,
        "different": len(differences),
    }  # fmt: skip
    if out is not None:
        made.write(out)
        text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
        write_whole(out.with_name(f"{out.stem}.import.json"), text.encode())
    return ImportReport(published, made, summary)
