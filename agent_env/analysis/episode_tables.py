"""Tables of single episodes: a run's list, forks beside their parent, a comparison's episodes as a
pandas frame, and trails of evidence counted by condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.episodes.index import SUMS, EpisodeRow, Totals
from agent_env.extras import need_extra
from agent_env.models.addresses import short_names
from agent_env.records.schema import Episode, Score

if TYPE_CHECKING:
    import pandas as pd

    from agent_env.analysis.comparison import Comparison


def episode_table(rows: Sequence[EpisodeRow], totals: Totals) -> ResultTable:
    """A row per episode, the sums over all that were asked for, and each condition's means."""
    known = [*(row.metrics for row in rows), *totals.metrics.values()]
    metrics = list(dict.fromkeys(name for group in known for name in group))
    names = (*metrics, *(name.removesuffix("_s").replace("_", " ") for name in SUMS))
    cells: list[tuple[Cell, ...]] = []
    for row in rows:
        values = row.values
        why = values["broken"] or values["failure"] or values["stop_reason"] or ""
        numbers = (*(row.metrics.get(name) for name in metrics), *(values[name] for name in SUMS))
        cells.append(
            (values["episode"], values["status"], " ".join(why.split())[:60],
             *map(_whole, numbers))
        )  # fmt: skip
    sums = (*(None for _ in metrics), *(totals.sums[name] for name in SUMS))
    cells.append((f"{totals.episodes} episodes", None, None, *map(_whole, sums)))
    for condition, means in totals.metrics.items():
        mean_cells = (*map(means.get, metrics), *(None for _ in SUMS))
        cells.append((f"mean of {condition}", None, None, *map(_whole, mean_cells)))
    unknown = ", ".join(f"{name} of {number}" for name, number in totals.unknown.items())
    notes = [f"unknown, and not in the sums: {unknown}"] if unknown else []
    if totals.metrics:
        notes.append("means: over samples, repeats of one sample averaged first, as in `show`")
    first = (Column("episode"), Column("status", rank=1), Column("ended by"))
    columns = (*first, *(Column(name, rank=i) for i, name in enumerate(names)))
    return ResultTable("episodes", "Episodes", columns, tuple(cells), tuple(notes))


def fork_table(
    rows: Sequence[tuple[str, Episode, Score]], metrics: Sequence[str], title: str
) -> ResultTable:
    """The parent's row first."""
    heads = ("", "model", "condition", "ended by", "answer")
    numbers = (*metrics, "steps", "calls", "tokens in", "out")
    labels = short_names(episode.model for _, episode, _ in rows)
    cells = tuple(
        (
            name, labels[episode.model], episode.condition, episode.stop_reason or episode.status,
            "-" if score.answer is None else ", ".join(score.answer) or "none",
            *(_whole(score.metrics.get(metric)) for metric in metrics), episode.steps,
            episode.tool_calls, episode.input_tokens, episode.output_tokens,
        )
        for name, episode, score in rows
    )  # fmt: skip
    note = "steps, calls and tokens count what was taken over from the parent too"
    return ResultTable("forks", title, tuple(map(Column, (*heads, *numbers))), cells, (note,))


def _whole(value: float | None) -> float | None:
    """A whole number without digits."""
    return int(value) if value is not None and float(value).is_integer() else value


def episodes(comparison: Comparison) -> pd.DataFrame:
    """One row per episode. Unknown is missing (NA), never 0."""
    need_extra("pandas")
    import pandas as pd

    from agent_env.analysis.study import QUANTITIES

    rows = [
        {
            "run": arm.run, "model": arm.model, "condition": arm.condition.name,
            "sample": o.sample, "repeat": o.repeat, "outcome": o.outcome,
            **{name: o.metrics.get(name) for name in comparison.study.metrics},
            **{name: o.used[name] for name in QUANTITIES},
            "stop_reason": o.episode and o.episode.stop_reason,
        }
        for arm in comparison.study.arms
        for o in arm.observations
    ]  # fmt: skip
    return pd.DataFrame(rows)
