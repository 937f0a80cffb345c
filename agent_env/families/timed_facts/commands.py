"""Compares strategies on questions of timed facts, in the layouts of the paper's tables.

SEM over finished episodes, in percent, by level and number of answers; also F1 for several answers.
Single- and multiple-answer questions are never averaged together.

Commands on questions of timed facts: inspect a file, sample from it, tabulate runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

from agent_env.analysis import result_tables
from agent_env.analysis.intervals import Estimate, Grouped, mean_interval
from agent_env.analysis.result_tables import ResultTable
from agent_env.errors import ConfigError
from agent_env.families.timed_facts.score import EXTRACTION_METRICS

if TYPE_CHECKING:
    from agent_env.families.timed_facts.sample import TimedQuestion

Column = tuple[str, str]
"""A cell and a metric."""
LAYOUTS: dict[str, tuple[Column, ...]] = {
    "3": (
        ("easy-single", "sem"), ("easy-multi", "sem"), ("easy-multi", "answer_f1"),
        ("hard-single", "sem"), ("hard-multi", "sem"), ("hard-multi", "answer_f1"),
    ),
    "4": (
        ("L2-single", "sem"), ("L3-single", "sem"), ("L2-multi", "sem"), ("L2-multi", "answer_f1"),
    ),
    "7": (("L2-single", "sem"), ("L2-multi", "sem")),
}  # fmt: skip
"""The paper's tables by number."""
PAPER_VALUES: dict[str, dict[str, tuple[float, ...]]] = {
    "3": {
        "standard": (80.0, 49.0, 81.24, 58.0, 33.0, 72.59),
        "cot-qcra": (79.0, 58.0, 83.99, 43.0, 25.0, 76.43),
        "cot-cqra": (79.0, 29.0, 73.03, 54.0, 44.0, 67.88),
        "cot-qcar": (77.0, 3.0, 62.05, 44.0, 1.0, 49.37),
        "cot-cqar": (80.0, 35.0, 75.99, 56.0, 9.0, 60.12),
        "extract-run": (84.0, 75.0, 89.91, 67.0, 56.0, 76.08),
    },
    "4": {
        "standard": (72.6, 52.6, 21.0, 59.38),
        "cot-qcra": (71.4, 51.8, 16.2, 43.19),
        "cot-cqra": (68.4, 38.8, 19.8, 47.08),
        "cot-qcar": (64.0, 33.0, 0.2, 42.99),
        "cot-cqar": (60.6, 54.6, 2.2, 48.21),
        "extract-run": (93.8, 91.6, 76.4, 91.55),
    },
    "7": {
        "standard": (72.6, 21.0),
        "extract-run": (93.8, 76.4),
        "extract-simulate": (61.2, 33.8),
    },
}
"""The paper's results (PAPER_MODEL, one worked example), by table and strategy."""


Row = tuple[str, str, str]
"""Strategy, condition and model."""
PAPER_MODEL = "text-davinci-003"


@dataclass(frozen=True, slots=True)
class CellScore:
    """One scored finished episode."""

    row: Row
    sample: str
    cell: str
    metrics: dict[str, float]


def every_cell(scores: Sequence[CellScore]) -> tuple[Column, ...]:
    """SEM of each cell with episodes, and F1 for several answers."""
    columns: list[Column] = []
    for cell in sorted({score.cell for score in scores}):
        columns.append((cell, "sem"))
        if cell.endswith("-multi"):
            columns.append((cell, "answer_f1"))
    return tuple(columns)


def means(
    scores: Sequence[CellScore], columns: Sequence[Column]
) -> dict[Row, dict[Column, Estimate]]:
    """By row, in the order of their first episode, then by column; shares of 1."""
    by_column = {
        (cell, metric): _by_row([s for s in scores if s.cell == cell], metric)
        for cell, metric in columns
    }
    nothing = Estimate(None, method="no finished episode")
    rows = dict.fromkeys(score.row for score in scores)
    return {row: {c: own.get(row, nothing) for c, own in by_column.items()} for row in rows}


def extraction_means(scores: Sequence[CellScore]) -> dict[Row, dict[str, Estimate]]:
    """Separate figures of extraction and reasoning, over the episodes with an extraction."""
    own = [score for score in scores if EXTRACTION_METRICS[0] in score.metrics]
    by_metric = {name: _by_row(own, name) for name in EXTRACTION_METRICS}
    rows = dict.fromkeys(score.row for score in own)
    return {row: {name: each[row] for name, each in by_metric.items()} for row in rows}


def _by_row(scores: Sequence[CellScore], metric: str) -> dict[Row, Estimate]:
    """The mean of each row; it is a share where all rows' values are 0 or 1."""
    values: dict[Row, list[tuple[str, float]]] = {}
    for score in scores:
        values.setdefault(score.row, []).append((score.sample, score.metrics[metric]))
    share = all(value in (0, 1) for own in values.values() for _, value in own)
    return {row: _estimate(own, share) for row, own in values.items()}


def _estimate(values: Grouped, share: bool) -> Estimate:
    low, high = mean_interval(values, share) or (None, None)
    questions = len({sample for sample, _ in values})
    return Estimate(fmean(value for _, value in values), low, high, samples=questions)


def timed_table(
    figures: Mapping[Row, Mapping[Column, Estimate]], columns: Sequence[Column], layout: str | None
) -> ResultTable:
    """Rows by strategy, condition and model, in percent; the paper's below where a layout is
    given."""
    rows = [
        (*row, *(_percent(cells[column]) for column in columns)) for row, cells in figures.items()
    ]
    for name, values in PAPER_VALUES.get(layout or "", {}).items():
        rows.append((f"paper: {name}", "–", PAPER_MODEL, *(f"{value:.2f}" for value in values)))
    return _table("scores", "percent", [heading(column) for column in columns], rows)


def heading(column: Column) -> str:
    """Such as `L2-multi SEM`."""
    cell, metric = column
    return f"{cell} {'SEM' if metric == 'sem' else 'F1'}"


def extraction_table(figures: Mapping[Row, Mapping[str, Estimate]]) -> ResultTable:
    """Extraction and reasoning apart, in percent."""
    heads = [name.replace("_", " ") for name in EXTRACTION_METRICS]
    rows = [
        (*row, *(_percent(cells[name]) for name in EXTRACTION_METRICS))
        for row, cells in figures.items()
    ]
    return _table("extraction", "extraction, percent", heads, rows)


def _table(
    name: str, title: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]]
) -> ResultTable:
    columns = tuple(map(result_tables.Column, ("strategy", "condition", "model", *heads)))
    note = "In brackets the 95 % confidence interval, in parentheses the number of questions."
    return ResultTable(name, title, columns, tuple(rows), (note,))


def _percent(estimate: Estimate) -> str:
    """Such as `72.60 [60.12, 82.31] (40)`; the interval where there is one."""
    if estimate.value is None:
        return "–"
    low, high = estimate.low, estimate.high
    interval = "" if low is None or high is None else f" [{100 * low:.2f}, {100 * high:.2f}]"
    return f"{100 * estimate.value:.2f}{interval} ({estimate.samples})"


def as_object(
    figures: Mapping[Row, Mapping[Column, Estimate]],
    extraction: Mapping[Row, Mapping[str, Estimate]],
) -> dict[str, object]:
    """The output of `--json`: a row each, with shares by `CELL METRIC`."""
    scores = {
        row: {f"{cell} {metric}": mean for (cell, metric), mean in cells.items()}
        for row, cells in figures.items()
    }
    return {"rows": _objects(scores), "extraction": _objects(extraction)}


def _objects(figures: Mapping[Row, Mapping[str, Estimate]]) -> list[dict[str, object]]:
    return [
        {
            "strategy": strategy, "condition": condition, "model": model,
            "figures": {
                name: {"value": e.value, "low": e.low, "high": e.high, "n": e.samples}
                for name, e in cells.items()
            },
        }
        for (strategy, condition, model), cells in figures.items()
    ]  # fmt: skip


FAMILIES = ("tempreason", "timeqa")


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
    from agent_env.episodes.run_folder import read_samples
    from agent_env.families.timed_facts.published import owner_of
    from agent_env.families.timed_facts.sample import TimedQuestion
    from agent_env.wiring.registry import load_family

    if (owner := owner_of(file)) is not None:
        family = load_family(owner)
        published = family.read_foreign(file, family.options())
        assert published is not None  # it is that family's file
        return published.samples  # type: ignore[return-value]  # both families make these
    return read_samples(file, TimedQuestion)  # type: ignore[return-value]  # read as such


def inspect_file(file: Path) -> FileReport:
    """The file's counts, parse failures, and agreement of the solver with the stated answers."""
    from agent_env.families.timed_facts.published import solver_agrees

    questions = read_questions(file)
    solved: Counter[str] = Counter()
    agree: Counter[str] = Counter()
    differ: list[str] = []
    for question in questions:
        verdict = solver_agrees(question)
        solved[question.cell] += verdict is not None
        agree[question.cell] += verdict is True
        if verdict is False:
            differ.append(question.id)
    return FileReport(
        questions=len(questions),
        cells=dict(sorted(Counter(question.cell for question in questions).items())),
        facts=sum(len(question.facts) for question in questions),
        unread=tuple((question.id, text) for question in questions for text in question.unread),
        solved=dict(sorted(solved.items())),
        agree=dict(sorted(agree.items())),
        differ=tuple(differ),
        ties=_by_ties(questions),
    )


def _by_ties(questions: Sequence[TimedQuestion]) -> dict[str, int]:
    from agent_env.families.timed_facts.published import solver_agrees
    from agent_env.families.timed_facts.solver import TIES

    neighbours = [q for q in questions if q.relation in ("before", "after")]
    agree: dict[str, int] = {}
    for ties in TIES:
        agree[ties] = sum(solver_agrees(q, ties) is True for q in neighbours)
    return agree if len(set(agree.values())) > 1 else {}


def draw_cells(file: Path, per_cell: int, seed: int, out: Path) -> dict[str, int]:
    """Writes up to `per_cell` randomly drawn questions of each cell; returns the counts by cell."""
    from agent_env.episodes.run_folder import samples_bytes, write_whole

    cells: dict[str, list[TimedQuestion]] = defaultdict(list)
    for question in read_questions(file):
        cells[question.cell].append(question)
    rng = Random(f"draw/{seed}")
    selection = {
        cell: rng.sample(own, min(per_cell, len(own))) for cell, own in sorted(cells.items())
    }
    write_whole(out, samples_bytes([question for own in selection.values() for question in own]))
    return {cell: len(own) for cell, own in selection.items()}


def cell_scores(runs: Sequence[Path], note: Callable[[str], None]) -> list[CellScore]:
    """The scored finished episodes of runs of these families."""
    from agent_env.families.timed_facts.sample import timed
    from agent_env.runs.run import Run
    from agent_env.runs.score import score_folder

    cells: list[CellScore] = []
    for path in runs:
        run = Run(path)
        if (task := run.manifest().task) not in FAMILIES:
            raise ConfigError(f"{path} is a run of {task}, not of {' or '.join(FAMILIES)}")
        manifest, scored = run.manifest(), score_folder(run, note)
        samples = {s.id: timed(s) for s in run.samples}
        strategies = {c.name: c.strategy for c in manifest.conditions}
        for episode, score in scored:
            if score.outcome in ("read", "unreadable"):
                row = (strategies[episode.condition], episode.condition, manifest.model)
                cell = samples[score.sample].cell
                cells.append(CellScore(row, score.sample, cell, dict(score.metrics)))
    return cells
