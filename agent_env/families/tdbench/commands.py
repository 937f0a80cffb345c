"""What the commands on TDBench do: import a published set, lay runs out as in the paper."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from agent_env.errors import ConfigError
from agent_env.families.tdbench.published import Difference, FileProof
from agent_env.families.tdbench.published_samples import Differing
from agent_env.families.tdbench.published_sql import Columns

if TYPE_CHECKING:
    from agent_env.families.tdbench.layouts import Layout


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import."""

    tables: dict[str, int]
    """Rows by table."""
    questions: int
    """Entries with a statement."""
    equal: int
    """Those whose statement returns their stored rows."""
    differences: tuple[Difference, ...]
    by_relation: dict[str, tuple[int, int]]
    """Entries, and those of them that differ."""
    proofs: tuple[FileProof, ...]
    """By file and kind of statement: the reading that returns most of the stored rows."""
    refused: int
    """Questions that could be run and are not written, as their stored rows do not come out."""
    samples: int
    """Written: one for each phrasing of an entry that can be run, and for each gap."""
    blanks: int
    unworded: int
    """Entries that can be run and hold no `questions`; no sample is made of them."""
    ignored: tuple[str, ...]
    out: Path | None

    def as_json(self) -> dict[str, object]:
        """The object that `--json` prints."""
        relations = self.by_relation.items()
        return {
            **asdict(self),
            "different": len(self.differences),
            "proofs": [
                {"file": p.file, "kind": p.group, "reading": asdict(p.reading), "stored": p.stored,
                 "reproduced": p.reproduced, "with_rows": p.with_rows}
                for p in self.proofs
            ],
            "by_relation": {name: {"questions": n, "different": d} for name, (n, d) in relations},
            "out": str(self.out) if self.out else None,
        }  # fmt: skip


def import_published(
    folder: Path, now: date | None, out: Path | None, differing: Differing = "refuse"
) -> ImportReport:
    """Check a published set, and write its samples to `out`, where it is named, with the report
    beside them."""
    from agent_env.episodes.run_folder import materials_beside, samples_bytes, write_whole
    from agent_env.families.tdbench.published import read_published
    from agent_env.families.tdbench.published_samples import published_samples

    published = read_published(folder, now)
    made = published_samples(published, now, differing)
    questions = published.questions
    differences = tuple(q.difference for q in questions if q.difference is not None)
    entries = Counter(q.question.relation for q in questions)
    wrong = Counter(d.relation for d in differences)
    report = ImportReport(
        tables=_sizes(published.tables),
        questions=len(questions),
        equal=len(questions) - len(differences),
        differences=differences,
        by_relation={name: (entries[name], wrong[name]) for name in sorted(entries)},
        proofs=tuple(published.proofs),
        refused=sum(made.left_out.values()),
        samples=len(made.samples),
        blanks=len(published.blanks),
        unworded=sum(not q.question.questions for q in questions if q.rows is not None),
        ignored=tuple(published.ignored),
        out=out,
    )
    if out is not None:
        if made.tables:
            write_whole(materials_beside(out), samples_bytes(made.tables))
        write_whole(out, samples_bytes(made.samples))
        text = json.dumps(report.as_json(), ensure_ascii=False, indent=1) + "\n"
        write_whole(out.with_name(f"{out.stem}.import.json"), text.encode())
    return report


def _sizes(tables: Sequence[Columns]) -> dict[str, int]:
    """Rows by table; of several files of one name the later ones are numbered."""
    sizes: dict[str, int] = {}
    for table in tables:
        number = sum(name.partition(" (")[0] == table.name for name in sizes) + 1
        sizes[table.name if number == 1 else f"{table.name} ({number})"] = len(table.rows)
    return sizes


def lay_out(
    runs: Sequence[Path],
    name: str,
    domain: str | None,
    sheets: Sequence[Path],
    note: Callable[[str], None],
) -> Layout:
    """The table or figure of the paper, of any runs of this family; `sheets` are those that people
    filled in."""
    from agent_env.families.tdbench.answers import ScoredAnswer, condition_names
    from agent_env.families.tdbench.layouts import make_layout
    from agent_env.families.tdbench.sample import NAME, tdbench_sample
    from agent_env.runs.label import item_name, majority_labels
    from agent_env.runs.run import Run
    from agent_env.runs.score import score_folder
    from agent_env.tasks.family import by_digest

    answers: dict[str, ScoredAnswer] = {}
    for path in runs:
        run = Run(path)
        manifest = run.manifest()
        if manifest.task != NAME:
            raise ConfigError(f"{path} is a run of {manifest.task}; these layouts are of {NAME}")
        names, tables = condition_names(manifest), by_digest(run.materials())
        for episode, score in score_folder(run, note):
            if score.outcome in ("read", "unreadable"):
                sample = tdbench_sample(run.samples_by_id[score.sample])
                answers[f"{path}/{item_name(manifest, episode)}"] = ScoredAnswer(
                    sample, score.metrics, manifest.model, manifest.prompt,
                    names[score.condition],
                    table=tables.get(sample.materials[0]) if sample.materials else None,
                )  # fmt: skip
    labels = majority_labels(sheets, [key.rsplit("/", 1)[1] for key in answers]) if sheets else {}
    chosen = [
        replace(answer, label=labels.get(key.rsplit("/", 1)[1]))
        for key, answer in answers.items()
        if domain is None or answer.sample.domain == domain
    ]
    return make_layout(name, chosen)


def draw(layout: Layout, folder: Path) -> list[Path]:
    """The layout's figure as SVG, PNG and PDF; ConfigError for a table."""
    from agent_env.analysis.drawing import save
    from agent_env.families.tdbench.layout_figures import FIGURES, layout_figure

    if layout.name not in FIGURES:
        raise ConfigError(f"layout {layout.name} is no figure; figures are {', '.join(FIGURES)}")
    return list(save(layout_figure(layout), folder, layout.name))
