"""Reads the authors' own files and prints every count that is claimed beside what comes out.

    python benchmarks/published.py DIR

DIR holds a folder for each paper that you have, as its authors publish it, by these names (others
are left out, and what is missing is not counted):

    time-puzzles*   files of puzzles, and outputs/…/CONDITION/MODEL.json
    tdbench*        a repository with dataset/ and qa_pairs/
    temp-answers*   data/responses/*.csv
    tempreason*     test_l2.json, test_l3.json, TimeBench's files; plain or packed by gzip
    timeqa*         test.easy.json, test.hard.json, human_annotated_test.json, …
    fuzzylli*       data/with_event_properties, the survey behind TRAVELER's curves

Exit code 1 where a count is not the one that is claimed. tests/families/test_published_data.py does
the same with small folders in these layouts, written by hand.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from agent_env.families.tdbench.sample import tdbench_sample
from agent_env.families.time_puzzles.published import read_puzzles
from agent_env.families.timed_facts.published import read_foreign, solver_agrees
from agent_env.families.timed_facts.sample import timed
from agent_env.families.traveler.curves import Parametric, read_curves
from agent_env.families.traveler.events import HOME
from agent_env.features.audit.audit import audit
from agent_env.features.facts.tables.tables import shipped_tables
from agent_env.features.papers.tdbench.published import read_published
from agent_env.features.papers.tdbench.published_samples import published_samples
from agent_env.features.papers.tdbench.reproduction import FILTERS
from agent_env.features.papers.temp_answers.responses import read_responses
from agent_env.features.papers.time_puzzles.author_outputs import CONDITIONS, read_outputs

Counts = dict[str, int]
CLAIMED: Mapping[str, int] = {
    **{f"time-puzzles: puzzles with {n} solutions": 100 for n in range(7)},
    "time-puzzles: open puzzles": 19,
    "tdbench: results that come out of 6,095": 6070,
    "tdbench: results that come out of 4,863": 4863,
    "temp-answers: files": 36,
    "temp-answers: head questions": 1103,
    "temp-answers: tail questions": 634,
    "temp-answers: arithmetic questions": 1016,
    "fuzzylli: events of TRAVELER": 7,
}
"""What the docs and the papers say of the authors' files, by the names below."""


def time_puzzles(folder: Path) -> Counts:
    """Puzzles by number of solutions and by what the audit finds, and responses."""
    files = sorted(folder.rglob("*.json"))
    is_output = {file: file.parent.name.startswith(tuple(CONDITIONS)) for file in files}
    puzzles = [p for file in files if not is_output[file] for p in read_puzzles(file)]
    sizes = Counter(puzzle.solution_count for puzzle in puzzles)
    findings = audit(puzzles, shipped_tables()).findings
    outputs = [file for file in files if is_output[file]]
    rows = [row for file in outputs for row in read_outputs(file).rows]
    return {
        **{f"puzzles with {n} solutions": sizes[n] for n in sorted(sizes)},
        "golds with a finding": sum(bool(finding.wrong_gold) for finding in findings),
        "open puzzles": sum(finding.open_universe for finding in findings),
        "files of responses": len(outputs),
        "responses to puzzles of Table 1": sum(row.setup == "no-tools" for row in rows),
    }


def tdbench(folder: Path) -> Counts:
    """Stored results, those that come out, and questions by set."""
    published = read_published(folder, None)
    stored = sum(proof.stored for proof in published.proofs)
    reproduced = sum(proof.reproduced for proof in published.proofs)
    samples = [tdbench_sample(s) for s in published_samples(published, None, "stored").samples]
    joins = [q for q in published.questions if q.question.relation == "hops"]
    return {
        f"results that come out of {stored:,}": reproduced,
        "joins": len(joins),
        "joins that come out": sum(q.difference is None for q in joins),
        **{f"{name} questions": sum(map(fits, samples)) for name, fits in FILTERS.items()},
    }


def temp_answers(folder: Path) -> Counts:
    """Response files, and the questions of each split."""
    files = [read_responses(path) for path in sorted(folder.rglob("t*_*.csv"))]
    keys = {(row.split, row.key) for file in files for row in file.rows}
    splits = Counter(split for split, _ in keys)
    return {"files": len(files)} | {f"{name} questions": n for name, n in sorted(splits.items())}


def tempreason(folder: Path) -> Counts:
    """Questions of each file, and those for which the solver gives the published answer."""
    return _timed(folder, partial(read_foreign, "tempreason"))


def timeqa(folder: Path) -> Counts:
    """Questions of each file."""
    return _timed(folder, partial(read_foreign, "timeqa"))


def _timed(folder: Path, read: Callable[[Path], object]) -> Counts:
    counts: Counts = {}
    for file in sorted(file for file in folder.rglob("*") if ".json" in file.name):
        made = read(file)
        questions = [timed(sample) for sample in getattr(made, "samples", ())]
        counts[f"{file.name}: questions"] = len(questions)
        agreeing = [solver_agrees(question) for question in questions]
        if any(each is not None for each in agreeing):
            counts[f"{file.name}: the solver agrees"] = sum(each is True for each in agreeing)
    return counts


def fuzzylli(folder: Path) -> Counts:
    """Events with measured curves."""
    fitted = Parametric({event.name: event.offset for event in HOME.events})
    curves = read_curves(folder, "median", "pchip", "clamp", fitted).points
    events = {event for event, _ in curves}
    known = events & {event.name for event in HOME.events}
    return {"events of TRAVELER": len(known), "events": len(events), "curves": len(curves)}


READERS: Mapping[str, Callable[[Path], Counts]] = {
    "time-puzzles": time_puzzles, "tdbench": tdbench, "temp-answers": temp_answers,
    "tempreason": tempreason, "timeqa": timeqa, "fuzzylli": fuzzylli,
}  # fmt: skip


def counts_of(root: Path) -> dict[str, Counts]:
    """The counts of each folder in it that is named like a paper."""
    return {
        folder.name: READERS[name](folder)
        for folder in sorted(path for path in root.iterdir() if path.is_dir())
        for name in READERS
        if folder.name.casefold().startswith(name)
    }


def main(root: Path) -> int:
    """The number of counts that are not as claimed."""
    wrong = 0
    for folder, counts in counts_of(root).items():
        paper = next(name for name in READERS if folder.casefold().startswith(name))
        print(folder)
        for name, count in counts.items():
            claimed = CLAIMED.get(f"{paper}: {name}")
            wrong += claimed not in (None, count)
            beside = "" if claimed is None else f"   claimed {claimed:,}"
            print(f"  {name:52} {count:>8,}{beside}{'' if claimed in (None, count) else '   NO'}")
    print(f"{wrong} counts are not as claimed")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(Path(sys.argv[1]))))
