"""Tables of single episodes: a run's list, and forks beside their parent."""

from __future__ import annotations

from collections.abc import Sequence

from agent_env.analysis.result_tables import Cell, Column, ResultTable
from agent_env.episodes.index import SUMS, EpisodeRow, Totals
from agent_env.records.schema import Episode, Score


def episode_table(rows: Sequence[EpisodeRow], totals: Totals) -> ResultTable:
    """A row per episode, the sums over all that were asked for, and each condition's means."""
    known = [*(row.metrics for row in rows), *totals.metrics.values()]
    metrics = list(dict.fromkeys(name for its in known for name in its))
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
    cells.append((f"{totals.episodes} episodes", "", "", *map(_whole, sums)))
    for condition, means in totals.metrics.items():
        own = (*map(means.get, metrics), *(None for _ in SUMS))
        cells.append((f"mean of {condition}", "", "", *map(_whole, own)))
    unknown = ", ".join(f"{name} of {number}" for name, number in totals.unknown.items())
    notes = [f"unknown, and not in the sums: {unknown}"] if unknown else []
    if totals.metrics:
        notes.append("means: over samples, repeats of one sample averaged first, as in `score`")
    heads = tuple(map(Column, ("episode", "status", "ended by", *names)))
    return ResultTable("episodes", "Episodes", heads, tuple(cells), tuple(notes))


def fork_table(
    rows: Sequence[tuple[str, Episode, Score]], metrics: Sequence[str], title: str
) -> ResultTable:
    """The parent's row first."""
    heads = ("", "model", "condition", "ended by", "answer")
    numbers = (*metrics, "steps", "calls", "tokens in", "out")
    cells = tuple(
        (
            name, episode.model, episode.condition, episode.stop_reason or episode.status,
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
    return int(value) if value is not None and value == int(value) else value
