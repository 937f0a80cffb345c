"""Progress of one run or of several at once, on stderr: by condition, in a table on a terminal, in
a text of a notebook that changes in its place, in a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agent_env.errors import AgentEnvError, RunStopped, StorageError
from agent_env.models.addresses import short_name
from agent_env.records.escaping import visible
from agent_env.runs.screen.terminal import VisibleStream, can_redraw, guard_streams, raw, say

if TYPE_CHECKING:
    from agent_env.analysis.intervals import Estimate
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.runs.run import Run
    from agent_env.runs.scores.running_scores import SoFar, Spending
    from agent_env.runs.start import Listener

ALL = "all"
"""In place of a model's or a condition's name: the sum of them."""
COLUMNS = {"model": 0, "condition": 0, "done": 0, "failed": 0, "score": 0, "left": 1, "tokens": 2,
           "USD": 3}  # fmt: skip
"""Of the table, with their ranks."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a run, or a condition of it, stands; None for unknown."""

    model: str
    """Empty for a condition, which is below its run."""
    condition: str
    done: int
    """Finished episodes."""
    failed: int
    total: int | None
    scores: Mapping[str, Estimate] = field(default_factory=dict)
    """By condition."""
    spent: Spending | None = None
    limits: RunLimits | None = None
    left_s: float | None = None
    """Seconds to the end at the present pace."""

    @property
    def is_over(self) -> bool:
        return self.total is not None and self.done + self.failed >= self.total

    @property
    def cells(self) -> tuple[str | int | None, ...]:
        tokens, cost = (None, None) if self.spent is None else spent_text(self.spent, self.limits)
        left = None if self.left_s is None else duration(self.left_s)
        left = "done" if self.is_over and self.model else left
        done = f"{self.done}" if self.total is None else f"{self.done}/{self.total}"
        score = scores_text(self.scores)
        return self.model, self.condition, done, self.failed, score, left, tokens, cost


def in_all(runs: Sequence[Standing], limits: RunLimits | None) -> Standing:
    """The sum of runs that go on side by side; `limits` are those of all together."""
    from agent_env.runs.scores.running_scores import Spending

    spent = [run.spent for run in runs if run.spent is not None]
    costs = [each.cost_usd for each in spent if each.cost_usd is not None]
    going_on = [run.left_s for run in runs if not run.is_over]
    times = [time for time in going_on if time is not None]
    return Standing(
        model=ALL,
        condition=ALL,
        done=sum(run.done for run in runs),
        failed=sum(run.failed for run in runs),
        total=sum(run.total or 0 for run in runs),
        spent=Spending(
            sum(each.tokens for each in spent),
            sum(costs) if len(costs) == len(runs) else None,
            any(each.is_estimate for each in spent),
        ),
        limits=limits,
        left_s=max(times) if times and len(times) == len(going_on) else None,
    )


def as_table(rows: Sequence[Standing], width: int) -> str:
    """A line for each below the headings; of one model without its name."""
    from agent_env.analysis.result_tables import Column, ResultTable, text_table

    columns = tuple(Column(name, rank=rank, if_any=name == "failed")
                    for name, rank in COLUMNS.items())  # fmt: skip
    table = ResultTable("progress", "", columns, tuple(row.cells for row in rows))
    if sum(row.model != "" for row in rows) == 1:
        table = table.of_columns(range(1, len(columns)))
    return "\n".join(text_table(table.without_empty(), width)[0])


def scores_text(scores: Mapping[str, Estimate]) -> str | None:
    """Such as `0.25 [0.10, 0.49]`; of several conditions the least and the largest."""
    values = [score.value for score in scores.values() if score.value is not None]
    if len(scores) != 1 or not values:
        return f"{min(values):.2f} to {max(values):.2f}" if values else None
    (score,) = scores.values()
    ends = "" if score.low is None else f" [{score.low:.2f}, {score.high:.2f}]"
    return f"{score.value:.2f}{ends}"


def spent_text(spent: Spending, limits: RunLimits | None) -> tuple[str, str | None]:
    """Such as `~34k/200k` tokens and `~0.12` USD, None where a price is unknown."""
    about = "~" if spent.is_estimate else ""
    tokens = f"{about}{compact(spent.tokens)}"
    cost = None if spent.cost_usd is None else f"{about}{_money(spent.cost_usd)}"
    if limits is not None and limits.tokens is not None:
        tokens += f"/{compact(limits.tokens)}"
    if cost is not None and limits is not None and limits.cost_usd is not None:
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


@contextmanager
def progress_shown(
    is_shown: bool = True, again: str | None = None, limits: RunLimits | None = None
) -> Iterator[Progress]:
    """Progress of runs, for their listeners, or their notes alone; what stops a run says
    how to continue: by the command `again`, or that of the first run. `limits`: of all runs."""
    progress = Progress(is_shown, limits)

    def command() -> str:
        return again or f"agent-env resume {progress.runs[0].path}"

    try:
        with progress:
            yield progress
    except (KeyboardInterrupt, CancelledError):
        if progress.runs:
            say(f"Stopped. Continue with: {command()}")
        raise
    except RunStopped as exc:
        from agent_env.episodes.calls.options import how_to_go_on

        text = f"stopped: {exc}; continue with: {again or how_to_go_on(progress.runs[0], exc)}"
        raise RunStopped(text, reason=exc.reason) from exc
    except StorageError as exc:
        if not progress.runs:
            raise
        raise StorageError(f"{exc}; continue with: {command()}") from exc


class Progress:
    def __init__(
        self,
        is_shown: bool = True,
        limits: RunLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`limits`: of several runs together, where there are any."""
        self._is_shown, self._limits, self._clock = is_shown, limits, clock
        self.runs: list[Run] = []
        """Those whose folders exist."""
        self._rows: list[RunProgress] = []
        self._display: Display | None = None
        self.listener: Listener = self.listener_for()
        """For a single run."""

    def listener_for(self, label: str | None = None) -> Listener:
        """A listener for one of several runs, which the table calls `label`; default: its model."""
        from agent_env.runs.start import Listener

        row = RunProgress(label, self._clock)

        def begin(run: Run, total: int) -> None:
            self.runs.append(run)
            row.begin(run, total)
            if any(other.name == row.name for other in self._rows if other is not row):
                row.name = run.path.name
            if row not in self._rows:
                self._rows.append(row)
            self._shown().begin(f"{row.head(self._rows)}{total} episodes in {run.path}")

        def end(key: EpisodeKey, ending: str) -> None:
            row.end(key, ending)
            self._shown().refresh()

        return Listener(note=say, begin=begin, end=end, pace=row.watch)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        is_told = error is None or isinstance(error, RunStopped)
        rows = self._rows if is_told else []
        self._shown().end([f"{row.head(rows)}{row.last(error)}" for row in rows if row.total])

    def _shown(self) -> Display:
        """The display; made when there is something to show."""
        if self._display is None:
            is_shown = self._is_shown and bool(self._rows)
            self._display = choose_display(self._lines, self._table) if is_shown else Display()
        return self._display

    def _lines(self, has_all: bool) -> list[str]:
        """A line for each run, or only for those with news."""
        rows = [row for row in self._rows if has_all or row.is_news]
        return [f"{row.head(self._rows)}{row.news()}" for row in rows]

    def _table(self, width: int, height: int) -> str:
        """A row for each condition and run; where lines are too few, for the runs alone."""
        runs = list(self._rows)
        sums = [run.standing() for run in runs]
        total = [in_all(sums, self._limits)] if len(runs) > 1 else []
        rows = [
            row for run, of_run in zip(runs, sums, strict=True) for row in (of_run, *run.parts())
        ]
        # lines of the terminal that are not rows of the table
        shown = [*(rows if len(rows) + len(total) + 4 < height else sums), *total]
        return "\n".join([as_table(shown, width), *(runs[0].pace() if len(runs) == 1 else ())])


class RunProgress:
    def __init__(self, label: str | None, clock: Callable[[], float]) -> None:
        self._label, self._clock = label, clock
        self.is_news = False
        self._pace: Callable[[], str] | None = None

    def begin(self, run: Run, total: int) -> None:
        """Finished episodes of an earlier part of the run count from the start."""
        from agent_env.runs.scores.running_scores import SoFar

        self.total, self._path, self._pace = total, run.path, None
        self._ends: dict[str, Counter[str]] = {}
        """By condition: how its episodes ended."""
        self._now, self._each = 0, None
        self.name = self._label or str(run.path)
        self._so_far: SoFar | None = None
        with suppress(AgentEnvError):  # the scores will say it; a run goes on without
            manifest = run.manifest
            if self._label in (None, run.path.name):
                self.name = short_name(manifest.model)
            self._ends = {condition.name: Counter() for condition in manifest.conditions}
            self._each = manifest.samples * manifest.repeats
            so_far = SoFar(run)
            ends = (end for end in so_far.read() if end[1] not in ("", "failed"))
            for condition, ending in ends:
                self._ends.setdefault(condition, Counter())[ending] += 1
            self._so_far = so_far
        self._earlier = self._done
        self._began_s = self._ended_s = self._clock()

    def end(self, key: EpisodeKey, ending: str) -> None:
        if self._so_far is not None:
            self._so_far.add(key)
        self._now, self._ended_s = self._now + 1, self._clock()
        self._ends.setdefault(key.condition, Counter())[ending] += 1
        self.is_news = True

    def watch(self, tell: Callable[[], str]) -> None:
        """`tell`: how many calls are in flight."""
        self._pace = tell

    def head(self, rows: list[RunProgress]) -> str:
        return f"{self.name}: " if len(rows) > 1 else ""

    def news(self) -> str:
        self.is_news = False
        seconds = self._left_s
        more = [f"about {duration(seconds)} left"] if seconds else []
        return "; ".join([self._counts(), *more, *self.pace()])

    def pace(self) -> list[str]:
        """How many calls are in flight, where that is known."""
        return [self._pace()] if self._pace else []

    def last(self, error: BaseException | None) -> str:
        """The line at the end; the scores have tables of their own."""
        counts = self._counts(with_scores=False)
        if error is None and not self._now and (self._so_far is None or self._done == self.total):
            counts = f"nothing to do: {self.total} of {self.total} episodes are there"
        return f"{counts}; traces in {self._path}"

    def standing(self) -> Standing:
        counts = self._done, self._failed, self.total
        if (so_far := self._so_far) is None:
            return Standing(self.name, ALL, *counts, left_s=self._left_s)
        return Standing(
            self.name, ALL, *counts, so_far.estimates, so_far.spent, so_far.limits, self._left_s
        )

    def parts(self) -> list[Standing]:
        scores = self._so_far.estimates if self._so_far is not None else {}
        return [
            Standing(
                "", name, ends.total() - ends["failed"], ends["failed"], self._each,
                {name: scores[name]} if name in scores else {},
            )
            for name, ends in self._ends.items()
        ]  # fmt: skip

    @property
    def _failed(self) -> int:
        return sum(ends["failed"] for ends in self._ends.values())

    @property
    def _done(self) -> int:
        return sum(ends.total() for ends in self._ends.values()) - self._failed

    @property
    def _left_s(self) -> float | None:
        """Seconds to the end at the pace since this start; None where there is none yet."""
        if not self._now:
            return None
        episodes = self.total - self._done - self._failed
        each_s = (self._ended_s - self._began_s) / self._now
        return max(0.0, episodes * each_s - (self._clock() - self._ended_s))

    def _counts(self, with_scores: bool = True) -> str:
        """The counts, how episodes ended where a limit ended any, score so far and spending."""
        now = f" ({self._now} now)" if self._earlier else ""
        text = f"{self._done} of {self.total} episodes done{now}, {self._failed} failed"
        endings = sum(self._ends.values(), Counter[str]())
        del endings["failed"]
        if endings.keys() - {"answered"}:
            text += f" ({', '.join(f'{number} {how}' for how, number in endings.most_common())})"
        if self._so_far is None:
            return text
        if with_scores and (parts := [_part_text(part) for part in self.parts()]):
            text += f"; {self._so_far.metric} {', '.join(parts)}"
        tokens, cost = spent_text(self._so_far.spent, self._so_far.limits)
        spent = f"{tokens} tokens, {'cost unknown' if cost is None else f'{cost} USD'}"
        return f"{text}; {spent.replace('~', 'about ')}"


def _part_text(part: Standing) -> str:
    """Such as `web 0.667 (3 of 12, 1 failed)`, a dash where nothing is scored yet."""
    score = part.scores.get(part.condition)
    value = "–" if score is None else f"{score.value:.3f}"
    done = f"{part.done}" if part.total is None else f"{part.done} of {part.total}"
    failed = f", {part.failed} failed" if part.failed else ""
    return f"{visible(part.condition)} {value} ({done}{failed})"


PLAIN_EVERY_S = 10.0
LINE_EVERY_S = 0.5

Lines = Callable[[bool], list[str]]
"""A line for each run if true, else only for those with news."""
Table = Callable[[int, int], str]
"""The table, for a terminal of so many columns and lines."""


class Display:
    """Where progress is shown; this one shows nothing."""

    def begin(self, text: str) -> None:
        """A run begins."""

    def refresh(self) -> None:
        """An episode ended."""

    def end(self, lines: list[str]) -> None:
        """All is over; `lines` may be empty."""


def choose_display(lines: Lines, table: Table) -> Display:
    """The table where a terminal has none yet: two at once would overwrite each other."""
    if (handle := _notebook_handle()) is not None:
        return NotebookText(handle, lines)
    if can_redraw(sys.stderr):
        from rich.file_proxy import FileProxy  # a table's, in the place of standard error

        if not isinstance(raw(sys.stderr), FileProxy):
            return TerminalTable(table)
    return PlainLines(lines)


class PlainLines(Display):
    """The lines of the runs every ten seconds."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._printed_s = lines, time.monotonic()

    def begin(self, text: str) -> None:
        say(text)

    def refresh(self) -> None:
        if time.monotonic() - self._printed_s > PLAIN_EVERY_S:
            self._printed_s = time.monotonic()
            self.end(self._lines(False))

    def end(self, lines: list[str]) -> None:
        for line in lines:
            say(line)


class TerminalTable(Display):
    """A table while the runs go on, lines before and after."""

    def __init__(self, table: Table) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(file=raw(sys.stderr))
        self._live = Live(
            get_renderable=lambda: Text(table(*console.size), no_wrap=True, overflow="crop"),
            console=console,
            refresh_per_second=2,
            transient=True,
        )

    def begin(self, text: str) -> None:
        say(text)
        if not self._live.is_started:
            is_guarded = isinstance(sys.stderr, VisibleStream)
            self._live.start()
            if is_guarded:
                guard_streams()  # while it stands, standard error is another stream

    def end(self, lines: list[str]) -> None:
        self._live.stop()
        for line in lines:
            say(line)


class NotebookText(Display):
    """The text of a notebook's cell that changes in its place, a line for each run."""

    def __init__(self, handle: Any, lines: Lines) -> None:
        self._handle, self._lines = handle, lines
        self._is_new, self._shown_s = True, 0.0

    def begin(self, text: str) -> None:
        self._show([text])

    def refresh(self) -> None:
        if time.monotonic() - self._shown_s > LINE_EVERY_S:
            self._show(self._lines(True))

    def end(self, lines: list[str]) -> None:
        if lines:
            self._show(lines)

    def _show(self, lines: list[str]) -> None:
        show = self._handle.display if self._is_new else self._handle.update
        self._is_new, self._shown_s = False, time.monotonic()
        show({"text/plain": visible("\n".join(lines))}, raw=True)


def _notebook_handle() -> Any:
    """Of a new text in a notebook's cell; None outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import DisplayHandle

    return DisplayHandle()  # type: ignore[no-untyped-call]
