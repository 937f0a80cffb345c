"""The ways to show progress: a table on a terminal, a text in a notebook, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from agent_env.records.escaping import visible
from agent_env.runs.terminal import VisibleStream, guard_streams, raw, say

if TYPE_CHECKING:
    from rich.live import Live

PLAIN_EVERY_S = 10.0
LINE_EVERY_S = 0.5

Lines = Callable[[bool], list[str]]
"""A line for each run if true, else only for those with news."""
Table = Callable[[int], str]
"""The table, at most so many columns wide."""


class Display(Protocol):
    """Where progress is shown."""

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
    is_free = sys.stderr.isatty() and not _has_table()
    return TerminalTable(table) if is_free else PlainLines(lines)


class Nothing:
    """No progress."""

    def begin(self, text: str) -> None:
        pass

    def refresh(self) -> None:
        pass

    def end(self, lines: list[str]) -> None:
        pass


class PlainLines(Nothing):
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


class TerminalTable(Nothing):
    """A table while the runs go on, lines before and after."""

    def __init__(self, table: Table) -> None:
        self._live = _live(table)

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


class NotebookText(Nothing):
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


def _has_table() -> bool:
    """Whether a table stands: it puts a stream of its own in the place of standard error."""
    from rich.file_proxy import FileProxy

    return isinstance(raw(sys.stderr), FileProxy)


def _live(table: Table) -> Live:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(file=raw(sys.stderr))
    return Live(
        get_renderable=lambda: Text(table(console.width), no_wrap=True, overflow="crop"),
        console=console,
        refresh_per_second=2,
        transient=True,
    )
