"""The paper's Tables 11 and 12: means by split, model and prompting, beside constant answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from agent_env.families.temp_answers.scoring.paper_answers import scaled_error
from agent_env.families.temp_answers.scoring.time_errors import percentage
from agent_env.families.temp_answers.study.layouts import MEASURES, Answers, Cell, Layout
from agent_env.families.temp_answers.study.modes import Item


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
    """Infinite in `paper` where a gold answer is its own centroid."""


def baselines(answers: Answers) -> list[Guess]:
    """The constant answers' scores for each dataset and split: in `paper` over all rows by unit, as
    published; in `v2` over distinct questions, points in time apart from amounts."""
    by_split = answers.by_split
    if answers.mode == "paper":
        by_split = defaultdict(list)
        for file, item in answers.each():
            if item.gold is not None:
                by_split[file.dataset, item.row.split].append(item)
    return [
        _guess_baseline(*key, name, items, guess)
        for key, items in by_split.items()
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
            if item.centroid is not None:
                scaled.append(scaled_error(guess_value, gold, item.centroid) or 0.0)
            elif item.scale:
                scaled.append(abs(guess_value - gold) / item.scale)
    smape, mase = (fmean(values) if values else None for values in (ratios, scaled))
    return Guess(dataset, split, name, 100 * fmean(exact), smape, mase)
