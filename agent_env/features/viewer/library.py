"""The runs below a folder, each with the table of its episodes, kept up to date beside the pages.

A page never waits for traces to be read: it shows what the table holds, and a thread makes the
table fit the traces, at most every two seconds and never more than a tenth of the time.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Event

from agent_env.sdk.errors import AgentEnvError
from agent_env.sdk.run import IndexedRun, runs_below

PAUSE_S = 2.0
"""Between two looks at a run's traces."""
WARM_S = 1.0
LATER_S = 1.0
FIRST_WAIT_S = 0.1
"""How long the first page of a run may wait for its table."""


class Library:
    """All runs below `root`; close it to end its thread."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._runs: dict[str, IndexedRun] = {}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="index")
        self._asked: dict[str, Future[None]] = {}
        self._due: dict[str, float] = {}
        self._ended = Event()
        self._spare = tempfile.TemporaryDirectory(prefix="agent-env-view-")
        self.trouble: dict[str, str] = {}
        """By a run's key: why its table could not be brought up to date."""

    def close(self) -> None:
        """End the thread and give all files back."""
        self._ended.set()
        self._worker.shutdown(wait=True, cancel_futures=True)
        for run in self._runs.values():
            run.close()
        self._spare.cleanup()

    def warm(self) -> None:
        """Load what the first pages need, the newest runs first, for about a second."""
        end = time.monotonic() + WARM_S
        for run in self.runs():
            run.warm()
            if time.monotonic() > end:
                break

    def runs(self) -> list[IndexedRun]:
        """Those that are there now, the newest first."""
        found = {}
        for path in runs_below(self.root):
            key = self._key(path)
            if key not in self._runs:
                self._runs[key] = IndexedRun(key, path, Path(self._spare.name))
            found[key] = self._runs[key]
        return sorted(found.values(), key=lambda run: run.written_at, reverse=True)

    def run(self, key: str) -> IndexedRun | None:
        """The run of this key, its table up to date or on the way; None where there is none."""
        if key not in self._runs:
            self.runs()
        run = self._runs.get(key)
        if run is None or not (run.path / "run.json").exists():
            return None
        self.refresh([run])
        return run

    def refresh(self, runs: list[IndexedRun]) -> None:
        """Have these tables brought up to date, where that is due; waits for the first time only,
        not long, and not for a large run, whose page comes first."""
        first = []
        for run in runs:
            update = self._asked.get(run.key)
            if update is not None and not update.done():
                continue
            if time.monotonic() < self._due.get(run.key, 0.0):
                continue
            later = update is None and run.is_large
            self._asked[run.key] = self._worker.submit(self._update, run, LATER_S * later)
            if update is None and not later:
                first.append(self._asked[run.key])
        end = time.monotonic() + FIRST_WAIT_S
        for future in first:
            try:
                future.exception(timeout=max(0.0, end - time.monotonic()))
            except TimeoutError:
                break

    def is_reading(self, run: IndexedRun) -> bool:
        """Whether the run's table is being brought up to date right now."""
        update = self._asked.get(run.key)
        return update is not None and not update.done()

    def was_read(self, run: IndexedRun) -> bool:
        """Whether the run's table fits its traces, but for what came since."""
        return run.key in self._due

    def stamp(self, run: IndexedRun) -> str:
        """Differs after anything that is shown of the run has changed."""
        return f"{run.stamp}.{run.is_locked}.{self.was_read(run)}"

    def _update(self, run: IndexedRun, later_s: float) -> None:
        self._ended.wait(later_s)
        if self._ended.is_set():
            return
        begun = time.monotonic()
        try:
            run.update()
            self.trouble.pop(run.key, None)
        except (AgentEnvError, OSError, sqlite3.Error) as exc:
            self.trouble[run.key] = str(exc)
        took = time.monotonic() - begun
        self._due[run.key] = time.monotonic() + max(PAUSE_S, 10 * took)

    def _key(self, path: Path) -> str:
        """A word for addresses; the folder's place below the root, or its name."""
        place = path.name if path == self.root else str(path.relative_to(self.root))
        plain = re.sub(r"[^A-Za-z0-9._+-]+", "~", place).strip(".") or "run"
        other = self._runs.get(plain)
        if other is not None and other.path != path:
            return f"{plain}~{sha256(str(path).encode()).hexdigest()[:8]}"
        return plain
