"""Progress on stderr: a bar on a terminal, now and then a plain line elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from agent_env.errors import RunStopped

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from agent_env.episodes.run_folder import EpisodeKey, RunFolder
    from agent_env.runs import Listener

PLAIN_EVERY_S = 10.0


class Progress:
    """Hears of a run and tells the user."""

    def __init__(self) -> None:
        from agent_env.runs import Listener

        self.folders: list[Path] = []
        """The run's folder, once it exists."""
        self.listener: Listener = Listener(
            note=_say, begin=self._begin, end=self._end, pace=self._watch
        )
        self._pace: Callable[[], str] | None = None
        self._total = 0
        self._endings: Counter[str] = Counter()
        self._said_s = 0.0
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
            is_done = error is None and not self._endings
            nothing = f"nothing left to do: {self._total} of {self._total} episodes are there"
            _say(f"{nothing if is_done else self._counts()}; traces in {self.folders[0]}")

    def _begin(self, folder: RunFolder, total: int) -> None:
        self.folders.append(folder.path)
        self._total = total
        self._said_s = time.monotonic()
        _say(f"{total} episodes in {folder.path}")
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.add_task("episodes", total=total)
            self._bar.start()

    def _end(self, key: EpisodeKey, ending: str) -> None:
        self._endings[ending] += 1
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(task, advance=1, description=self._pace() if self._pace else None)
        elif time.monotonic() - self._said_s > PLAIN_EVERY_S:
            self._said_s = time.monotonic()
            _say(f"{self._counts()}{f'; {self._pace()}' if self._pace else ''}")

    def _watch(self, tell: Callable[[], str]) -> None:
        self._pace = tell

    def _counts(self) -> str:
        parts = ", ".join(f"{number} {ending}" for ending, number in self._endings.most_common())
        return f"{self._endings.total()} of {self._total} episodes ran: {parts or 'none'}"


def count_up(total: int) -> Callable[[], None]:
    """Counts what is done on a terminal, and says nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda: None
    done = 0

    def one_more() -> None:
        nonlocal done
        done += 1
        print(f"\r{done} of {total}", end="\n" if done == total else "", file=sys.stderr)

    return one_more


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _bar() -> Bar:
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(console=Console(stderr=True), transient=True)
