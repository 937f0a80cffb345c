"""Progress on stderr: a bar on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agent_env.cli.terminal import guard_streams, raw
from agent_env.errors import AgentEnvError, RunStopped
from agent_env.records.escaping import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.runs.run import Run
    from agent_env.runs.score import MeanSoFar
    from agent_env.runs.start import Listener

PLAIN_EVERY_S = 10.0


class Progress:
    """Reports a run's progress to the user."""

    def __init__(self) -> None:
        from agent_env.runs.start import Listener

        self.runs: list[Run] = []
        """The run, once its folder exists."""
        self.listener: Listener = Listener(
            note=_say, begin=self._begin, end=self._end, pace=self._watch
        )
        self._pace: Callable[[], str] | None = None
        self._total = 0
        self._endings: Counter[str] = Counter()
        self._earlier = self._now = 0
        self._mean: MeanSoFar | None = None
        self._printed_s = 0.0
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._total and (error is None or isinstance(error, RunStopped)):
            is_done = error is None and not self._now
            nothing = f"nothing left to do: {self._total} of {self._total} episodes are there"
            _say(f"{nothing if is_done else self._counts()}; traces in {self.runs[0].path}")

    def _begin(self, run: Run, total: int) -> None:
        """Finished episodes of an earlier part of the run count from the start."""
        from agent_env.runs.score import MeanSoFar

        self.runs.append(run)
        self._total = total
        self._endings, self._now = Counter(), 0
        self._printed_s = time.monotonic()
        _say(f"{total} episodes in {run.path}")
        with suppress(AgentEnvError):  # the scores will say it; a run goes on without
            self._mean = MeanSoFar(run)
            self._endings.update(map(self._mean.add, run.traces()))
            del self._endings[""]
        self._earlier = self._endings.total()
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.add_task("episodes", total=total, completed=self._endings.total())
            self._bar.start()
            guard_streams()  # while it stands, standard error is another stream

    def _end(self, key: EpisodeKey, ending: str) -> None:
        self._now += 1
        self._endings[ending] += 1
        if self._mean is not None and ending != "failed":
            self._mean.add(self._mean.run.trace(key))
        if self._bar is not None:
            status = f"{self._status()}{f'; {self._pace()}' if self._pace else ''}"
            self._bar.update(self._bar.task_ids[0], advance=1, description=visible(status))
        elif time.monotonic() - self._printed_s > PLAIN_EVERY_S:
            self._printed_s = time.monotonic()
            _say(f"{self._counts()}{f'; {self._pace()}' if self._pace else ''}")

    def _watch(self, tell: Callable[[], str]) -> None:
        self._pace = tell

    def _counts(self) -> str:
        count = self._endings.total() - self._endings["failed"]
        now = f" ({self._now} now)" if self._earlier else ""
        return f"{count} of {self._total} episodes done{now}, {self._status()}"

    def _status(self) -> str:
        """How many failed, how the others ended where a limit ended any, and the mean so far."""
        ends = [(n, how) for how, n in self._endings.most_common() if how not in ("failed", "")]
        text = f"{self._endings['failed']} failed"
        if any(how != "answered" for _, how in ends):
            text += f" ({', '.join(f'{n} {how}' for n, how in ends)})"
        mean = "" if self._mean is None else str(self._mean)
        return f"{text}{f', {mean} so far' if mean else ''}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return Bar(
        MofNCompleteColumn(),
        BarColumn(bar_width=20),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False, table_column=rest),
        console=Console(file=raw(sys.stderr)),
        transient=True,
        expand=True,
    )
