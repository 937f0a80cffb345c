"""Progress of a run on stderr: a bar on a terminal, one line in a notebook, now and then a plain
line elsewhere."""

from __future__ import annotations

import sys
import time
from asyncio import CancelledError
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from agent_env.errors import AgentEnvError, RunStopped, StorageError
from agent_env.records.escaping import visible
from agent_env.runs.terminal import VisibleStream, guard_streams, raw, say

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from agent_env.episodes.run_folder import EpisodeKey
    from agent_env.runs.run import Run
    from agent_env.runs.score import MeanSoFar
    from agent_env.runs.start import Listener

PLAIN_EVERY_S = 10.0
LINE_EVERY_S = 0.5


@contextmanager
def progress_shown(is_shown: bool = True) -> Iterator[Progress]:
    """Progress of the runs that its listener hears of, or its notes alone; what stops a run
    says how to go on."""
    progress = Progress(is_shown)
    try:
        with progress:
            yield progress
    except (KeyboardInterrupt, CancelledError):
        if progress.runs:
            say(f"Stopped. Go on with: agent-env resume {progress.runs[0].path}")
        raise
    except RunStopped as exc:
        from agent_env.episodes.calls.options import how_to_go_on

        text = f"stopped: {exc}; go on with: {how_to_go_on(progress.runs[0], exc)}"
        raise RunStopped(text, reason=exc.reason) from exc
    except StorageError as exc:
        if not progress.runs:
            raise
        raise StorageError(f"{exc}; go on with: agent-env resume {progress.runs[0].path}") from exc


class Progress:
    """Reports a run's progress to the user."""

    def __init__(self, is_shown: bool = True) -> None:
        from agent_env.runs.start import Listener

        self._is_shown = is_shown
        self.runs: list[Run] = []
        """The run, once its folder exists."""
        self.listener: Listener = Listener(
            note=say, begin=self._begin, end=self._end, pace=self._watch
        )
        self._pace: Callable[[], str] | None = None
        self._total = 0
        self._endings: Counter[str] = Counter()
        self._earlier = self._now = 0
        self._mean: MeanSoFar | None = None
        self._display: Display = Nothing()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        last = ""
        if self._total and (error is None or isinstance(error, RunStopped)):
            is_done = error is None and not self._now
            nothing = f"nothing left to do: {self._total} of {self._total} episodes are there"
            last = f"{nothing if is_done else self._counts()}; traces in {self.runs[0].path}"
        self._display.end(last)

    def _begin(self, run: Run, total: int) -> None:
        """Finished episodes of an earlier part of the run count from the start."""
        from agent_env.runs.score import MeanSoFar

        self.runs.append(run)
        self._total = total
        self._endings, self._now = Counter(), 0
        self._display = _display() if self._is_shown else Nothing()
        self._display.begin(f"{total} episodes in {run.path}")
        with suppress(AgentEnvError):  # the scores will say it; a run goes on without
            self._mean = MeanSoFar(run)
            self._endings.update(map(self._mean.add, run.traces()))
            del self._endings[""]
        self._earlier = self._endings.total()
        self._display.count(self._earlier, total)

    def _end(self, key: EpisodeKey, ending: str) -> None:
        self._now += 1
        self._endings[ending] += 1
        if self._mean is not None and ending != "failed":
            self._mean.add(self._mean.run.trace(key))
        pace = f"; {self._pace()}" if self._pace else ""
        self._display.step(f"{self._status()}{pace}", lambda: f"{self._counts()}{pace}")

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


# The ways to show it -----------------------------------------------------------------------------


class Display(Protocol):
    """Where progress is shown."""

    def begin(self, text: str) -> None:
        """The run begins."""

    def count(self, done: int, total: int) -> None:
        """So many of its episodes are there already."""

    def step(self, status: str, line: Callable[[], str]) -> None:
        """An episode ended; `line` has the counts too."""

    def end(self, last: str) -> None:
        """The run is over; `last` is empty where there is nothing to say."""


def _display() -> Display:
    """The bar where a terminal has none yet: two at once would overwrite each other."""
    if (handle := _notebook_handle()) is not None:
        return NotebookLine(handle)
    return TerminalBar() if sys.stderr.isatty() and not _has_bar() else PlainLines()


class Nothing:
    """No progress."""

    def begin(self, text: str) -> None:
        pass

    def count(self, done: int, total: int) -> None:
        pass

    def step(self, status: str, line: Callable[[], str]) -> None:
        pass

    def end(self, last: str) -> None:
        pass


class PlainLines(Nothing):
    """A line every ten seconds."""

    def __init__(self) -> None:
        self._printed_s = time.monotonic()

    def begin(self, text: str) -> None:
        say(text)

    def step(self, status: str, line: Callable[[], str]) -> None:
        if time.monotonic() - self._printed_s > PLAIN_EVERY_S:
            self._printed_s = time.monotonic()
            say(line())

    def end(self, last: str) -> None:
        if last:
            say(last)


class TerminalBar:
    """A bar while the run goes on, lines before and after."""

    def __init__(self) -> None:
        self._bar = _bar()

    def begin(self, text: str) -> None:
        say(text)

    def count(self, done: int, total: int) -> None:
        is_guarded = isinstance(sys.stderr, VisibleStream)
        self._bar.add_task("episodes", total=total, completed=done)
        self._bar.start()
        if is_guarded:
            guard_streams()  # while it stands, standard error is another stream

    def step(self, status: str, line: Callable[[], str]) -> None:
        self._bar.update(self._bar.task_ids[0], advance=1, description=visible(status))

    def end(self, last: str) -> None:
        self._bar.stop()
        if last:
            say(last)


class NotebookLine(Nothing):
    """One line of a notebook's cell that changes in its place."""

    def __init__(self, handle: Any) -> None:
        self._handle, self._is_new, self._shown_s = handle, True, 0.0

    def begin(self, text: str) -> None:
        self._show(text)

    def step(self, status: str, line: Callable[[], str]) -> None:
        if time.monotonic() - self._shown_s > LINE_EVERY_S:
            self._show(line())

    def end(self, last: str) -> None:
        if last:
            self._show(last)

    def _show(self, text: str) -> None:
        show = self._handle.display if self._is_new else self._handle.update
        self._is_new, self._shown_s = False, time.monotonic()
        show({"text/plain": visible(text)}, raw=True)


def _notebook_handle() -> Any:
    """Of a new line in a notebook's cell; None outside of notebooks."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return None
    from IPython.display import DisplayHandle

    return DisplayHandle()  # type: ignore[no-untyped-call]


def _has_bar() -> bool:
    """Whether a bar stands: it puts a stream of its own in the place of standard error."""
    from rich.file_proxy import FileProxy

    return isinstance(raw(sys.stderr), FileProxy)


def _bar() -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    return RichProgress(
        MofNCompleteColumn(),
        BarColumn(bar_width=20),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False, table_column=rest),
        console=Console(file=raw(sys.stderr)),
        transient=True,
        expand=True,
    )
