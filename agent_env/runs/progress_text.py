"""How progress reads: a table of at most the terminal's width, and the parts of a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_env.records.escaping import visible

if TYPE_CHECKING:
    from agent_env.analysis.intervals import Estimate
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.runs.running_scores import Spending

HEADS = ("model", "done", "failed", "score [95 % CI]", "tokens", "USD", "left")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run stands; None for unknown."""

    name: str
    done: int
    """Finished episodes."""
    failed: int
    total: int
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    """By condition."""
    spent: Spending | None = None
    limits: RunLimits | None = None
    left_s: float | None = None
    """Seconds to the end at the present pace."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The texts of the table's row."""
        is_over = self.done + self.failed >= self.total
        left = "done" if is_over else UNKNOWN if self.left_s is None else duration(self.left_s)
        tokens, cost = ("", "") if self.spent is None else _spent_cells(self.spent, self.limits)
        score = _score_cell(self.scores)
        done = f"{self.done}/{self.total}"
        return visible(self.name), done, str(self.failed), score, tokens, cost, left


def in_all(runs: Sequence[Standing], limits: RunLimits | None) -> Standing:
    """The sum of runs that go on side by side; `limits` are those of all together."""
    from agent_env.runs.running_scores import Spending

    spent = [run.spent for run in runs if run.spent is not None]
    costs = [each.cost_usd for each in spent if each.cost_usd is not None]
    going_on = [run.left_s for run in runs if run.done + run.failed < run.total]
    times = [left for left in going_on if left is not None]
    return Standing(
        name="all",
        done=sum(run.done for run in runs),
        failed=sum(run.failed for run in runs),
        total=sum(run.total for run in runs),
        spent=Spending(
            sum(each.tokens for each in spent),
            sum(costs) if len(costs) == len(runs) else None,
            any(each.is_estimate for each in spent),
        ),
        limits=limits,
        left_s=max(times) if times and len(times) == len(going_on) else None,
    )


def as_table(runs: Sequence[Standing], width: int) -> str:
    """A line for each, below the heads; the names are cut where the width is short."""
    rows = [HEADS, *(run.cells for run in runs)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    room = max(8, width - sum(widths[1:]) - len(widths) + 1)
    lines = []
    for name, *others in rows:
        short = name if len(name) <= room else f"…{name[1 - room :]}"
        cells = [text.rjust(size) for text, size in zip(others, widths[1:], strict=True)]
        lines.append(" ".join([short.ljust(min(room, widths[0])), *cells])[:width])
    return "\n".join(lines)


MOST_INTERVALS = 2
"""Of more conditions only the means are shown."""


def scores_text(scores: Mapping[str, Estimate], digits: int) -> str:
    """Such as `0.25 [0.10, 0.49]`, of several conditions each behind its name; "" where there is no
    score."""
    texts = []
    for condition, score in scores.items():
        text = f"{score.value:.{digits}f}"
        if score.low is not None and score.high is not None and len(scores) <= MOST_INTERVALS:
            text += f" [{score.low:.{digits}f}, {score.high:.{digits}f}]"
        texts.append(text if len(scores) == 1 else f"{visible(condition)} {text}")
    return ", ".join(texts)


def _score_cell(scores: Mapping[str, Estimate]) -> str:
    """The same in the width that a table has: of several conditions the least and the largest."""
    if len(scores) < 2:
        return scores_text(scores, 2)
    values = [score.value for score in scores.values() if score.value is not None]
    return f"{min(values):.2f} to {max(values):.2f}"


def spent_text(spent: Spending, limits: RunLimits) -> str:
    """Such as `about 34120 of 200000 tokens, 0.12 USD`."""
    about = "about " if spent.is_estimate else ""
    most = "" if limits.tokens is None else f" of {limits.tokens}"
    if spent.cost_usd is None:
        cost = f"cost {UNKNOWN}"
    else:
        cost = f"{about}{_money(spent.cost_usd)}"
        cost += " USD" if limits.cost_usd is None else f" of {_money(limits.cost_usd)} USD"
    return f"{about}{spent.tokens}{most} tokens, {cost}"


def _spent_cells(spent: Spending, limits: RunLimits | None) -> tuple[str, str]:
    about = "~" if spent.is_estimate else ""
    tokens = f"{about}{compact(spent.tokens)}"
    cost = UNKNOWN if spent.cost_usd is None else f"{about}{_money(spent.cost_usd)}"
    if limits is not None and limits.tokens is not None:
        tokens += f"/{compact(limits.tokens)}"
    if limits is not None and limits.cost_usd is not None:
        cost += f"/{_money(limits.cost_usd)}"
    return tokens, cost


def compact(number: float) -> str:
    """Such as 950, 34k or 1.2M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size * 0.9995:
            value = number / size
            return f"{value:.1f}{unit}" if value < 9.95 else f"{value:.0f}{unit}"
    return f"{number:.0f}"


def duration(seconds: float, with_hours: bool = False) -> str:
    """Such as 0:05, 3:20, 1:03:20 or 2d 3h; `with_hours` 0:03:20, beside times of hours."""
    whole = round(seconds)
    if whole >= 86_400:
        return f"{whole // 86_400}d {whole % 86_400 // 3600}h"
    minutes = f"{whole // 60 % 60}:{whole % 60:02d}"
    return minutes if whole < 3600 and not with_hours else f"{whole // 3600}:{minutes:0>5}"


def _money(usd: float) -> str:
    return f"{usd:.2f}" if usd >= 0.095 or usd == 0 else f"{usd:.2g}"
