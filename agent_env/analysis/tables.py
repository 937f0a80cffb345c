"""Tables for people: the conditions of a run, and the differences between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agent_env.analysis.intervals import FEWEST
from agent_env.analysis.summary import Summary
from agent_env.analysis.treatment import MARK, marked

TROUBLES = ("failed", "unfinished", "unreadable", "scorer_failed")
"""Columns that are shown where any row has some."""
TOLD = {"cached_tokens": "cached", "reasoning_tokens": "reasoning"}
"""Columns that are shown where a server tells them: of the input, and of the output."""


def summary_table(
    summaries: Sequence[Summary],
    metrics: Sequence[str],
    title: str,
    missing: Mapping[str, tuple[int, int]] | None = None,
    problems: Mapping[str, str] | None = None,
) -> Table:
    """Conditions by row; the first metric and those that are errors with their 95 % intervals.
    `missing` has, by condition, how many episodes never began, and of how many; `problems` why it
    cannot mean anything."""
    troubles = [name for name in TROUBLES if any(getattr(row, name) for row in summaries)]
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    table.add_column("condition", no_wrap=True)
    told = [name for name in TOLD if any(getattr(row, name) is not None for row in summaries)]
    tokens = ("tokens in", *(TOLD[name] for name in told), "out")
    costs = ("USD",) if any(row.cost_usd is not None for row in summaries) else ()
    for name in ("finished", *troubles, *metrics, "steps", "calls", *tokens, *costs):
        table.add_column(name, justify="right", no_wrap=True)
    for row in summaries:
        cost = [_number(row.cost_usd, 5)] if costs else []
        name, *cells = _cells(row, metrics, troubles, told)
        table.add_row(marked(name, problems or {}), *cells, *cost)
    sources = sorted({source for row in summaries for source in row.usage_sources})
    tokens_by = f"by {' and '.join(sources)}" if sources else "unknown"
    table.caption = f"means per finished episode; tokens {tokens_by}"
    for name in metrics:
        fewer = [
            f"{row.condition} {row.defined[name]}"
            for row in summaries
            if row.defined.get(name, row.finished) < row.finished
        ]
        if fewer:
            table.caption += f"; {name} over fewer: {', '.join(fewer)}"
    bare = {n for row in summaries for n, ends in row.intervals.items()
            if ends is None and row.metrics[n] is not None}  # fmt: skip
    if bare:
        why = f"all values are equal or clusters fewer than {FEWEST}"
        table.caption += f"; {', '.join(sorted(bare))} without interval where {why}"
    silent = [f"{row.condition} {row.without_call}" for row in summaries if row.without_call]
    if silent:
        table.caption += f"; episodes that called no tool: {', '.join(silent)}"
    hosted = [f"{row.condition} {row.hosted_calls:.1f}" for row in summaries if row.hosted_calls]
    if hosted:
        table.caption += f"; the provider's own tools called: {', '.join(hosted)}"
    cut = [f"{row.condition} {row.cut_outputs}" for row in summaries if row.cut_outputs]
    if cut:
        table.caption += f"; tool outputs cut to fit into the context: {', '.join(cut)}"
    ended = sum((Counter(row.stop_reasons) for row in summaries), Counter[str]())
    if ended.keys() - {"answered"}:
        table.caption += f"; ended by {', '.join(f'{k} {n}' for k, n in ended.most_common())}"
    table.caption += _calls_told(summaries)
    for name, problem in (problems or {}).items():
        table.caption += escape(f"; {name}{MARK} cannot mean anything: {problem}")
    for name, (never, planned) in (missing or {}).items():
        table.caption += f"; {never} of {planned} episodes of {name} never began"
    return table


def _calls_told(summaries: Sequence[Summary]) -> str:
    """What the sums leave open, where there is any such thing."""
    failed = sum(row.spent.failed_calls for row in summaries)
    unknown = sum(row.spent.uncounted_calls for row in summaries)
    hits = sum(row.spent.cache_hits for row in summaries)
    charged = sum(row.spent.charged_tokens for row in summaries)
    calls = "1 model call" if failed == 1 else f"{failed} model calls"
    told = f"; {calls} failed, {unknown} of unknown size" if failed else ""
    told += f"; limits count {charged} tokens for calls of unknown size" if charged else ""
    return told + (f"; {hits} replies from the reply cache" if hits else "")


def _cells(
    row: Summary, metrics: Sequence[str], troubles: Sequence[str], told: Sequence[str]
) -> list[str]:
    whole = row.finished == row.episodes
    cells = [row.condition, str(row.finished) if whole else f"{row.finished} of {row.episodes}"]
    cells += [str(getattr(row, name)) for name in troubles]
    for name in metrics:
        form = _size if name in row.defined else "{:.3f}".format
        cells.append(_with_interval(row.metrics[name], row.intervals.get(name), form))
    cells += [_number(row.steps, 1), _number(row.tool_calls, 1)]
    cells += [_number(row.input_tokens, 0), *(_number(getattr(row, name), 0) for name in told)]
    return [*cells, _number(row.output_tokens, 0)]


def _with_interval(
    mean: float | None, interval: tuple[float, float] | None, form: Callable[[float], str]
) -> str:
    if mean is None or interval is None:
        return "-" if mean is None else form(mean)
    ends = (f"{end:.2f}" if form is not _size else form(end) for end in interval)
    return escape(f"{form(mean)} [{', '.join(ends)}]")


def _size(value: float) -> str:
    """Of an error, which has no bound."""
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
