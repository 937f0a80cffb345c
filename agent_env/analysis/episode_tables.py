"""Tables of single episodes: a run's list, and forks beside their parent."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agent_env.episodes.index import SUMS, Row, Totals
from agent_env.records.schema import Episode, Score


def episode_table(rows: Sequence[Row], totals: Totals) -> Table:
    """A row per episode, and the sums over all that were asked for."""
    metrics = list(dict.fromkeys(name for row in rows for name in row.metrics))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1), show_footer=True)
    table.add_column("episode", f"{totals.episodes} episodes", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("ended by", no_wrap=True)
    for name in metrics:
        table.add_column(name, _number(totals.metrics.get(name)), justify="right", no_wrap=True)
    for name in SUMS:
        shown = name.removesuffix("_s").replace("_", " ")
        table.add_column(shown, _number(totals.sums[name]), justify="right", no_wrap=True)
    for row in rows:
        values = row.values
        why = values["broken"] or values["failure"] or values["stop_reason"] or ""
        cells = [values["episode"], values["status"], " ".join(why.split())[:60]]
        numbers = [row.metrics.get(name) for name in metrics] + [values[name] for name in SUMS]
        table.add_row(*map(escape, cells), *map(_number, numbers))
    if totals.unknown:
        unknown = ", ".join(f"{name} of {number}" for name, number in totals.unknown.items())
        table.caption = f"unknown, and not in the sums: {unknown}"
    return table


def fork_table(
    rows: Sequence[tuple[str, Episode, Score]], metrics: Sequence[str], title: str
) -> Table:
    """The parent's row first."""
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("", "model", "condition", "ended by", "answer"):
        table.add_column(name, no_wrap=True)
    for name in (*metrics, "steps", "calls", "tokens in", "out"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, episode, score in rows:
        ended = episode.stop_reason or episode.status
        answer = "-" if score.answer is None else ", ".join(score.answer) or "none"
        cells = [name, episode.model, episode.condition, ended, answer]
        numbers: list[float | None] = [score.metrics.get(metric) for metric in metrics]
        numbers += [episode.steps, episode.tool_calls]
        numbers += [episode.input_tokens, episode.output_tokens]
        table.add_row(*map(escape, cells), *map(_number, numbers))
    table.caption = "steps, calls and tokens count what was taken over from the parent too"
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == int(value) else f"{value:.3f}"
