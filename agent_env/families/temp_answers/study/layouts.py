"""The paper's Tables 2–6, 8, 9, 13 and 14 for any scored answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from agent_env.analysis.intervals import cluster_share_interval, mean_interval
from agent_env.families.temp_answers.responses import ResponseFile
from agent_env.families.temp_answers.scoring.paper_answers import MARKER, strict_object
from agent_env.families.temp_answers.study.means import Summary
from agent_env.families.temp_answers.study.modes import Item, ModeScores

Cell = str | int | float | None
Row = dict[str, Cell]
MEASURES = ("exact_match", "smape", "mase")


@dataclass(frozen=True, slots=True)
class Layout:
    """A table of results."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def by_column(self) -> list[Row]:
        """The rows as dictionaries."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Answers:
    """Input of the tables and figures: files, one mode's items, and their means."""

    files: tuple[ResponseFile, ...]
    mode: str
    scores: ModeScores
    summaries: tuple[Summary, ...]

    def each(self) -> Iterator[tuple[ResponseFile, Item]]:
        """The items in the means, with their files."""
        for file, items in zip(self.files, self.scores.items, strict=True):
            yield from ((file, item) for item in items if self.counts(item))

    def counts(self, item: Item) -> bool:
        """Whether it is in the means."""
        return self.mode == "paper" or item.problem is None

    def infinite(self, metric: str) -> int:
        """Files whose mean is infinite, which no figure can draw."""
        return sum(getattr(s, metric) == math.inf for s in self.summaries)

    @property
    def datasets(self) -> list[str]:
        return list(dict.fromkeys(file.dataset for file in self.files))

    @property
    def by_split(self) -> dict[tuple[str, str], list[Item]]:
        """Distinct questions by dataset and split."""
        questions: dict[tuple[str, str], dict[tuple[str, str | None], Item]] = defaultdict(dict)
        for file, item in self.each():
            if item.gold is not None:
                questions[file.dataset, item.row.split][item.row.key, item.row.label] = item
        return {key: list(items.values()) for key, items in questions.items()}


def units(answers: Answers) -> Layout:
    """Table 2: distinct questions by unit."""
    unit_by_question = {(f.dataset, i.row.key, i.row.label): unit_of(i) for f, i in answers.each()}
    counts = Counter((key[0], unit) for key, unit in unit_by_question.items())
    rows = [(dataset, unit, n) for (dataset, unit), n in counts.most_common()]
    return Layout("table_2_units", ("dataset", "unit", "questions"), tuple(rows))


def unit_of(item: Item) -> str:
    """The declared unit of the question; in `v2` the amount of a date is in days."""
    return item.row.unit or item.unit


def frequent_errors(answers: Answers) -> Layout:
    """Table 3: the five most frequent |e| of wrong answers with an amount, with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        errors = [
            (i.row.cluster, abs(i.error))
            for f, i in answers.each()
            if f.dataset == dataset and i.error
        ]
        sizes = Counter(size for _, size in errors)
        top = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:5]
        rows += [
            (
                dataset,
                size,
                n,
                *percents([(name, own == size) for name, own in errors]),
                len(errors),
            )
            for size, n in top
        ]
    columns = ("dataset", "error", "count", "share_percent", "low", "high", "wrong")
    return Layout("table_3_errors", columns, tuple(rows))


def percents(values: Sequence[tuple[str, bool]]) -> tuple[float, float, float]:
    """A share of outcomes by cluster with its 95 % interval, in percent."""
    numbers = [(name, float(value)) for name, value in values]
    low, high = cluster_share_interval(numbers)
    return 100 * fmean(value for _, value in numbers), 100 * low, 100 * high


def off_by_one_types(answers: Answers) -> Layout:
    """Table 4: question types among all answers and among those off by one (ToT)."""
    return _shares(answers, "table_4_question_types", "tot", lambda item: item.row.question_type)


def off_by_one_formats(answers: Answers) -> Layout:
    """Table 5: answer formats among all answers and among those off by one (TTQA)."""
    return _shares(answers, "table_5_formats", "ttqa", lambda item: item.row.format)


def _shares(answers: Answers, name: str, dataset: str, of: Callable[[Item], str | None]) -> Layout:
    items = [item for file, item in answers.each() if file.dataset == dataset]
    ones = [item for item in items if item.error is not None and abs(item.error) == 1]
    rows: list[tuple[Cell, ...]] = []
    for kind, _ in Counter(map(of, items)).most_common():
        cells: list[Cell] = [kind]
        for own in (items, ones):
            values = [(item.row.cluster, of(item) == kind) for item in own]
            cells += [*(percents(values) if values else (None,) * 3), len(own)]
        rows.append(tuple(cells))
    columns = [
        f"{which}{column}"
        for which in ("all", "off_by_one")
        for column in ("_percent", "_low", "_high", "_n")
    ]
    return Layout(name, ("kind", *columns), tuple(rows))


def directions(answers: Answers) -> Layout:
    """Table 6: sMAPE and MASE with standard deviations, of negative and of positive errors."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        for name, sign in (("negative", -1), ("positive", 1)):
            items = [
                i for f, i in answers.each()
                if f.dataset == dataset and i.error is not None and i.error * sign > 0
            ]  # fmt: skip
            cells: list[Cell] = [dataset, name, len(items)]
            for values in ([i.percentage for i in items], [i.scaled for i in items]):
                finite = [
                    (i.row.cluster, v)
                    for i, v in zip(items, values, strict=True)
                    if v is not None and math.isfinite(v)
                ]
                plain = [v for _, v in finite]
                ends = (mean_interval(finite) if finite else None) or (None, None)
                cells += [fmean(plain), *ends, pstdev(plain)] if finite else [None] * 4
                cells.append(len(finite))
            rows.append(tuple(cells))
    columns = (
        "dataset", "error", "n", "smape", "smape_low", "smape_high", "smape_std", "n_smape",
        "mase", "mase_low", "mase_high", "mase_std", "n_mase",
    )  # fmt: skip
    return Layout("table_6_directions", columns, tuple(rows))


def parsing_errors(answers: Answers) -> Layout:
    """Table 8: responses without a strict JSON object, by ToT file (model and generation)."""
    return _format_shares(
        answers, "table_8_parsing_errors", "tot",
        lambda file, text: isinstance(strict_object(text, file.prefilled), str),
    )  # fmt: skip


def markers(answers: Answers) -> Layout:
    """Table 9: responses that contain `Final Answer:`, by TTQA file (model and prompt)."""
    return _format_shares(answers, "table_9_markers", "ttqa", lambda file, text: MARKER in text)


def _format_shares(
    answers: Answers, name: str, dataset: str, holds: Callable[[ResponseFile, str], bool]
) -> Layout:
    """The share of responses for which `holds`, by file and split, with 95 % intervals."""
    rows: list[tuple[Cell, ...]] = []
    for file in answers.files:
        for split in file.splits if file.dataset == dataset else ():
            values = [
                (row.cluster, holds(file, row.response or ""))
                for row in file.rows
                if row.split == split
            ]
            names = (split, file.model, file.prompting, file.generation)
            rows.append((*names, len(values), sum(held for _, held in values), *percents(values)))
    columns = ("split", "model", "prompting", "generation", "n", "count", "percent", "low", "high")
    return Layout(name, columns, tuple(rows))


def defined(answers: Answers) -> Layout:
    """Tables 13 and 14: the number of answers in each mean."""
    totals: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for file, s in zip(answers.files, answers.summaries, strict=True):
        cell = totals[file.dataset, file.model, file.prompting]
        for k, n in enumerate((s.n, s.n_smape, s.n_mase)):
            cell[k] += n
    rows: tuple[tuple[Cell, ...], ...] = tuple((*key, *n) for key, n in totals.items())
    columns = ("dataset", "model", "prompting", "n_exact_match", "n_smape", "n_mase")
    return Layout("tables_13_14_defined", columns, rows)


TABLES: tuple[Callable[[Answers], Layout], ...] = (
    units, frequent_errors, off_by_one_types, off_by_one_formats, directions, parsing_errors,
    markers, defined,
)  # fmt: skip
