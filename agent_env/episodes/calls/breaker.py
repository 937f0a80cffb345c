"""The circuit breaker: where call after call fails, the run stops instead of the money."""

from __future__ import annotations

from dataclasses import dataclass

from agent_env.episodes.calls.retries import error_kind
from agent_env.errors import ModelError, RunStopped


@dataclass(slots=True)
class Breaker:
    """Stops a run whose last `calls` calls all failed; None never does."""

    calls: int | None = 20
    failed: int = 0
    """Calls that failed since the last reply."""

    def succeeded(self) -> None:
        """A reply came."""
        self.failed = 0

    def note(self, error: ModelError, is_last: bool) -> None:
        """A call failed; raises RunStopped where it is one too many. A rate limit that is tried
        again does not count: the server answers, and asks us to wait. Nor does a conversation that
        is too long for the model: that ends its episode and says nothing of the server."""
        kind = error_kind(error)
        if kind == "context_overflow" or (kind == "rate_limit" and not is_last):
            return
        self.failed += 1
        if self.calls is not None and self.failed >= self.calls:
            raise RunStopped(
                f"the last {self.failed} model calls all failed, the last one so: {error}",
                reason="failures",
            )
