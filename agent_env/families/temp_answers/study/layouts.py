"""The paper's Tables 2–6, 8, 9, 11–14 for any scored answers."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from agent_env.families.temp_answers.responses import ResponseFile
from agent_env.families.temp_answers.scoring.time_errors import percentage
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
    """Table 3: the five most frequent |e| of wrong answers with an amount."""
    rows: list[tuple[Cell, ...]] = []
    for dataset in answers.datasets:
        sizes = Counter(abs(i.error) for f, i in answers.each() if f.dataset == dataset and i.error)
        total = sum(sizes.values())
        top = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:5]
        rows += [(dataset, size, n, 100 * n / total) for size, n in top]
    return Layout("table_3_errors", ("dataset", "error", "count", "share_percent"), tuple(rows))


def off_by_one_types(answers: Answers) -> Layout:
    """Table 4: question types among all answers and among those off by one (ToT)."""
    return _shares(answers, "table_4_question_types", "tot", lambda item: item.row.question_type)


def off_by_one_formats(answers: Answers) -> Layout:
    """Table 5: answer formats among all answers and among those off by one (TTQA)."""
    return _shares(answers, "table_5_formats", "ttqa", lambda item: item.row.format)


def _shares(answers: Answers, name: str, dataset: str, of: Callable[[Item], str | None]) -> Layout:
    items = [item for file, item in answers.each() if file.dataset == dataset]
    ones = [item for item in items if item.error is not None and abs(item.error) == 1]
    everywhere, among = Counter(map(of, items)), Counter(map(of, ones))
    rows = tuple(
        (kind, 100 * n / len(items), 100 * among[kind] / len(ones) if ones else None)
        for kind, n in everywhere.most_common()
    )
    return Layout(name, ("kind", "all_percent", "off_by_one_percent"), rows)


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
                finite = [v for v in values if v is not None and math.isfinite(v)]
                cells += [fmean(finite), pstdev(finite)] if finite else [None, None]
            rows.append(tuple(cells))
    columns = ("dataset", "error", "n", "smape", "smape_std", "mase", "mase_std")
    return Layout("table_6_directions", columns, tuple(rows))


def formats(answers: Answers) -> Layout:
    """Tables 8 and 9: the share of parsable answers and other outcomes, by file."""
    columns = ("file", "prompting", "n", "unparsed", "refused", "truncated", "read_percent")
    rows = tuple(
        (
            file.path.name, file.prompting, s.n, s.unparsed, s.outcomes.get("refused", 0),
            s.outcomes.get("truncated", 0), 100 * (1 - s.unparsed / s.n) if s.n else None,
        )
        for file, s in zip(answers.files, answers.summaries, strict=True)
    )  # fmt: skip
    return Layout("tables_8_9_formats", columns, rows)


def performance(answers: Answers) -> Layout:
    """Tables 11 and 12: each split, model and prompting, and the baselines."""
    rows: list[tuple[Cell, ...]] = []
    for file, s in zip(answers.files, answers.summaries, strict=True):
        intervals = s.intervals or {}
        cells: list[Cell] = [file.dataset, "+".join(file.splits), file.model, file.prompting]
        for name in MEASURES:
            cells += [getattr(s, name), *intervals.get(name, (None, None))]
        rows.append(tuple(cells))
    for g in baselines(answers):
        name, none = f"baseline, {g.name}", (None, None)
        rows.append(
            (g.dataset, g.split, name, "", g.exact_match, *none, g.smape, *none, g.mase, *none)
        )
    columns = [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
    names = ("dataset", "split", "model", "prompting", *columns)
    return Layout("tables_11_12_performance", names, tuple(rows))


@dataclass(frozen=True, slots=True)
class Guess:
    """The score of the mean or the median gold answer of a unit as the constant answer."""

    dataset: str
    split: str
    name: str
    """`mean` or `median`."""
    exact_match: float
    """Percent, like sMAPE."""
    smape: float | None
    mase: float | None


def baselines(answers: Answers) -> list[Guess]:
    """The constant answers' scores for each dataset and split, over its distinct questions."""
    return [
        _guess_baseline(*key, name, items, guess)
        for key, items in answers.by_split.items()
        for name, guess in (("mean", fmean), ("median", median))
    ]


def _guess_baseline(
    dataset: str,
    split: str,
    name: str,
    items: Sequence[Item],
    guess: Callable[[Iterable[float]], float],
) -> Guess:
    groups: dict[tuple[str, bool], list[Item]] = defaultdict(list)
    for item in items:
        groups[item.unit, item.percentage is None].append(item)
    exact, ratios, scaled = [], [], []
    for (_, is_point), group in groups.items():
        golds = [float(item.gold or 0) for item in group]
        guess_value = guess(golds)
        for gold, item in zip(golds, group, strict=True):
            exact.append(guess_value == gold)
            if not is_point:
                ratios.append(percentage(guess_value, gold))
            if item.scale:
                scaled.append(abs(guess_value - gold) / item.scale)
    smape, mase = (fmean(values) if values else None for values in (ratios, scaled))
    return Guess(dataset, split, name, 100 * fmean(exact), smape, mase)


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
    units, frequent_errors, off_by_one_types, off_by_one_formats, directions, formats, performance,
    defined,
)  # fmt: skip
