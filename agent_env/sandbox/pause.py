"""Between two calls nothing of a session runs: what a call started is ended, the executor stopped.

Stopping everything would not do, as processes can wake each other; it only keeps them from being
faster than we are at ending them. Ended ones wake nobody; the executor cannot be ended, as it holds
the variables, but alone it has no way to wake itself: what could order a signal for later is closed
by the system call filter.

Guaranteed once `settle` returns: no other process lives, and no thread of the executor runs. For
that it takes two rounds in a row in which nobody was found alive, nobody was born, and the executor
was stopped all along. One round would not do: who is just being born as his number is passed can
be missed, if his parent ends in the same round; but not twice.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable

from agent_env.sandbox.process_finder import ProcessFinder

SETTLE_S = 5.0
"""How long it may take until all is still; what resists for longer loses the session."""
LOOK_EVERY_S = 0.005
"""How often the executor is told again to stop, as somebody may be waking it."""


class NotPaused(Exception):
    """What the code started could not be ended."""


class SessionPause:
    """Stops and wakes one executor, a child of this process.

    `signalled` is readable when one of our children changes its state; `collect` takes dead ones
    away, also those that were left to us.
    """

    def __init__(
        self, executor: int, numbers: int, signalled: int, collect: Callable[[], object]
    ) -> None:
        self._executor = executor
        self._signalled = signalled
        self._collect = collect
        self._finder = ProcessFinder(executor, numbers)

    def wake(self) -> None:
        self._finder.begin()
        os.kill(self._executor, signal.SIGCONT)

    def watch(self) -> None:
        """To be called again and again during a call."""
        self._finder.note()

    def settle(self) -> None:
        """End and stop everything; raises NotPaused where that fails."""
        deadline = time.monotonic() + SETTLE_S
        self._stop(deadline)
        self._finder.has_grown()
        clean = 2 if self._finder.nobody_came else 0
        while clean < 2:
            had_others = self._finder.end_others(deadline)
            self._collect()  # else the dead hold all places for processes
            born = self._finder.has_grown()
            ran = self._changed(os.WCONTINUED)  # somebody let it run since it was stopped
            if ran:
                self._stop(deadline)
            clean = 0 if had_others or born or ran else clean + 1
            if time.monotonic() > deadline:
                raise NotPaused("what the code started could not be ended")
        self._finder.all_ended()

    def _stop(self, deadline: float) -> None:
        """Stop the executor and wait until all its threads stand still."""
        poll = select.poll()
        poll.register(self._signalled, select.POLLIN)
        while True:
            os.kill(self._executor, signal.SIGSTOP)
            if self._changed(os.WSTOPPED):
                return
            if time.monotonic() > deadline:
                raise NotPaused("the code could not be stopped")
            if poll.poll(LOOK_EVERY_S * 1000):
                os.read(self._signalled, 4096)

    def _changed(self, how: int) -> bool:
        """Whether the executor changed its state so; raises NotPaused where it is gone."""
        try:
            return os.waitid(os.P_PID, self._executor, how | os.WNOHANG) is not None
        except ChildProcessError as exc:
            raise NotPaused("the process is gone") from exc
