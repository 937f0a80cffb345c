"""The circuit breaker: stops a run when call after call fails."""

from __future__ import annotations

from dataclasses import dataclass

from agent_env.episodes.calls.retries import error_kind
from agent_env.errors import ModelError, RunStopped


@dataclass(slots=True)
class Breaker:
    """Stops a run whose last `calls` calls all failed; None never does."""

    calls: int | None = 20
    failed: int = 0
    """Failed calls since the last reply."""

    def succeeded(self) -> None:
        """A reply came."""
        self.failed = 0

    def note(self, error: ModelError, is_last: bool) -> None:
        """Notes a failed call; raises RunStopped at the limit. A retried rate limit does not
        count, for the server is up; nor does a conversation that exceeds the model's context."""
        kind = error_kind(error)
        if kind == "context_overflow" or (kind == "rate_limit" and not is_last):
            return
        self.failed += 1
        if self.calls is not None and self.failed >= self.calls:
            raise RunStopped(
                f"the last {self.failed} model calls all failed, the last one so: {error}",
                reason="failures",
            )
