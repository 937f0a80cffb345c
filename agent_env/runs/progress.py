"""Progress of one run or of several at once, on stderr: a table on a terminal, a text in a notebook
that changes in its place, now and then plain lines elsewhere."""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agent_env.errors import AgentEnvError, RunStopped, StorageError
from agent_env.models.addresses import split_address
from agent_env.runs.progress_display import Display, Nothing, choose_display
from agent_env.runs.progress_text import (
    Standing,
    as_table,
    duration,
    in_all,
    scores_text,
    spent_text,
)
from agent_env.runs.terminal import say

if TYPE_CHECKING:
    from agent_env.episodes.calls.budget import RunLimits
    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.runs.run import Run
    from agent_env.runs.running_scores import SoFar
    from agent_env.runs.start import Listener


@contextmanager
def progress_shown(
    is_shown: bool = True, again: str | None = None, limits: RunLimits | None = None
) -> Iterator[Progress]:
    """Progress of the runs that its listeners hear of, or their notes alone; what stops a run says
    how to go on: by the command `again`, or that of the first run. `limits`: of all runs."""
    progress = Progress(is_shown, limits)

    def command() -> str:
        return again or f"agent-env resume {progress.runs[0].path}"

    try:
        with progress:
            yield progress
    except (KeyboardInterrupt, CancelledError):
        if progress.runs:
            say(f"Stopped. Go on with: {command()}")
        raise
    except RunStopped as exc:
        from agent_env.episodes.calls.options import how_to_go_on

        text = f"stopped: {exc}; go on with: {again or how_to_go_on(progress.runs[0], exc)}"
        raise RunStopped(text, reason=exc.reason) from exc
    except StorageError as exc:
        if not progress.runs:
            raise
        raise StorageError(f"{exc}; go on with: {command()}") from exc


class Progress:
    """Reports the progress of runs to the user."""

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
            self._display = choose_display(self._lines, self._table) if is_shown else Nothing()
        return self._display

    def _lines(self, has_all: bool) -> list[str]:
        """A line for each run, or only for those with news."""
        rows = [row for row in self._rows if has_all or row.is_news]
        return [f"{row.head(self._rows)}{row.news()}" for row in rows]

    def _table(self, width: int) -> str:
        runs = [row.standing() for row in list(self._rows)]
        if len(runs) > 1:
            return as_table([*runs, in_all(runs, self._limits)], width)
        return "\n".join([as_table(runs, width), *self._rows[0].pace()])


class RunProgress:
    """Counts, score and spending of one run."""

    def __init__(self, label: str | None, clock: Callable[[], float]) -> None:
        self._label, self._clock = label, clock
        self.is_news = False
        self._pace: Callable[[], str] | None = None

    def begin(self, run: Run, total: int) -> None:
        """Finished episodes of an earlier part of the run count from the start."""
        from agent_env.runs.running_scores import SoFar

        self.total, self._path, self._pace = total, run.path, None
        self._endings: Counter[str] = Counter()  # of finished episodes
        self._done = self._failed = self._now = 0
        self._name = self._label or str(run.path)
        self._so_far: SoFar | None = None
        with suppress(AgentEnvError):  # the scores will say it; a run goes on without
            self._name = self._label or split_address(run.manifest.model)[0]
            so_far = SoFar(run)
            self._endings.update(so_far.read())
            self._so_far = so_far
        self._earlier = self._done = self._endings.total()
        self._began_s = self._ended_s = self._clock()

    def end(self, key: EpisodeKey, ending: str) -> None:
        """An episode ended."""
        if self._so_far is not None:
            self._so_far.add(key)
        self._now, self._ended_s = self._now + 1, self._clock()
        if ending == "failed":
            self._failed += 1
        else:
            self._endings[ending] += 1
            self._done += 1
        self.is_news = True

    def watch(self, tell: Callable[[], str]) -> None:
        """`tell`: how many calls are in flight."""
        self._pace = tell

    def head(self, rows: list[RunProgress]) -> str:
        """What lines of several runs begin with."""
        return f"{self._name}: " if len(rows) > 1 else ""

    def news(self) -> str:
        """The counts as a line."""
        self.is_news = False
        left = self._left_s
        more = [f"about {duration(left)} left"] if left else []
        return "; ".join([self._counts(), *more, *self.pace()])

    def pace(self) -> list[str]:
        """How many calls are in flight, where that is known."""
        return [self._pace()] if self._pace else []

    def last(self, error: BaseException | None) -> str:
        """The line at the end."""
        counts = self._counts()
        if error is None and not self._now and (self._so_far is None or self._done == self.total):
            counts = f"nothing left to do: {self.total} of {self.total} episodes are there"
        return f"{counts}; traces in {self._path}"

    def standing(self) -> Standing:
        """For the table."""
        counts = Standing(self._name, self._done, self._failed, self.total, left_s=self._left_s)
        if (so_far := self._so_far) is None:
            return counts
        return replace(counts, scores=so_far.estimates, spent=so_far.spent, limits=so_far.limits)

    @property
    def _left_s(self) -> float | None:
        """Seconds to the end at the pace since this start; None where there is none yet."""
        if not self._now:
            return None
        left = self.total - self._done - self._failed
        each_s = (self._ended_s - self._began_s) / self._now
        return max(0.0, left * each_s - (self._clock() - self._ended_s))

    def _counts(self) -> str:
        """The counts, how the others ended where a limit ended any, score and spending so far."""
        now = f" ({self._now} now)" if self._earlier else ""
        ends = [(number, how) for how, number in self._endings.most_common()]
        text = f"{self._done} of {self.total} episodes done{now}, {self._failed} failed"
        if any(how != "answered" for _, how in ends):
            text += f" ({', '.join(f'{number} {how}' for number, how in ends)})"
        if self._so_far is None:
            return text
        score = scores_text(self._so_far.estimates, 3)
        text += f", {self._so_far.metric} {score} so far" if score else ""
        return f"{text}; {spent_text(self._so_far.spent, self._so_far.limits)}"
