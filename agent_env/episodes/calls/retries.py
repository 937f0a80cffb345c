"""Retries of failed model calls.

Guarantees: an error that a retry cannot mend is final at once; a request is sent at most `attempts`
times, not after `time_s`, and not after the same error `same` times in a row. Rate limits do not
count as the same error, as they do not depend on the request.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated

from agent_env.errors import ModelError, ModelErrorKind
from agent_env.records.options import CALLS, Opt
from agent_env.records.waits import doubled_s

FINAL: frozenset[ModelErrorKind] = frozenset({"authentication", "bad_request", "context_overflow"})
"""The same request would fail again."""

STATUS_KINDS: dict[int, ModelErrorKind] = {
    401: "authentication",
    403: "authentication",
    408: "timeout",
    409: "server",
    425: "server",
    429: "rate_limit",
}


@dataclass(frozen=True, slots=True)
class Retries:
    """Number, time and waits of the retries of a failed call."""

    attempts: Annotated[
        int,
        Opt(
            "Further calls after one that failed.",
            CALLS,
            "--retries",
            min=0,
            default=5,
            read=lambda further: further + 1,
        ),
    ] = 6
    """Calls for one reply, the first included."""
    time_s: Annotated[
        float | None,
        Opt(
            "Seconds in which they may start; also how long a run waits for a server that is "
            "away, such as 3600.",
            CALLS,
            "--retry-time-s",
            min=0.0,
            typed=float,
        ),
    ] = 600.0
    """From the first call to the start of the last one."""
    connect_time_s: Annotated[
        float,
        Opt(
            "Seconds for which a server that refuses every connection and never answered is "
            "waited for.",
            CALLS,
            min=0.0,
        ),
    ] = 30.0
    same: Annotated[
        int | None,
        Opt(
            "The same error so often on one request is final.",
            CALLS,
            "--same-error",
            min=1,
            typed=int,
        ),
    ] = 3
    """The same error this often in a row ends the episode."""
    first_wait_s: float = 1.0
    longest_wait_s: float = 30.0

    def wait_s(self, attempt: int, chance: float) -> float:
        """Before the attempt after `attempt`: doubling, with a random part of up to one half."""
        wait_s = doubled_s(attempt, self.first_wait_s, self.longest_wait_s)
        return wait_s * (1.0 + 0.5 * chance)


@dataclass(frozen=True, slots=True)
class Retry:
    """Wait, then call again."""

    wait_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further call; `reason` is empty if the error is reason enough."""

    reason: str = ""


@dataclass(slots=True)
class Tries:
    """The failed calls of one request so far."""

    rules: Retries
    errors: list[ModelError] = field(default_factory=list)

    def verdict(self, error: ModelError, elapsed_s: float, chance: float) -> Retry | GiveUp:
        """Decides on a retry after `error`, `elapsed_s` after the first call; `chance`: 0 to 1."""
        self.errors.append(error)
        if not may_pass(error):
            return GiveUp()
        count = len(self.errors)
        if self.rules.same is not None and self._in_a_row() >= self.rules.same:
            return GiveUp(f"the same error came {self.rules.same} times on this request")
        if count >= self.rules.attempts:
            return GiveUp(f"given up after {count} calls" if count > 1 else "")
        wait = self.rules.wait_s(count, chance)
        if error.retry_after_s is not None:  # obeyed; the random part keeps clients apart
            wait = max(wait, error.retry_after_s + self.rules.first_wait_s * 0.5 * chance)
        if self.rules.time_s is not None and elapsed_s + wait > self.rules.time_s:
            return GiveUp(
                f"given up after {count} calls in {elapsed_s:.0f} s: a further wait of {wait:.0f} s"
                f" is more than the {self.rules.time_s:g} s allowed"
            )
        return Retry(wait)

    def _in_a_row(self) -> int:
        """How many of the last errors were the same; rate limits do not count."""
        last, count = _sameness(self.errors[-1]), 0
        for error in reversed(self.errors):
            if error_kind(error) == "rate_limit" or _sameness(error) != last:
                break
            count += 1
        return count


def error_kind(error: ModelError) -> ModelErrorKind | None:
    """The class of an error, by its adapter, else by HTTP status; None if unknown."""
    if error.kind is not None or error.status is None:
        return error.kind
    if error.status in STATUS_KINDS:
        return STATUS_KINDS[error.status]
    if error.status >= 500:
        return "server"
    return "bad_request" if error.status >= 400 else "unreadable"


def may_pass(error: ModelError) -> bool:
    """Whether the same request may succeed later. An exhausted quota is a rate limit that its
    adapter marks as not retryable."""
    if error.kind is None or error.kind == "rate_limit":
        return error.retryable
    return error.kind not in FINAL


def may_have_cost(error: ModelError) -> bool:
    """Whether the provider may bill the call: not if it refused it or never received it."""
    return not error.unsent and error_kind(error) not in (*FINAL, "rate_limit")


def final_error(error: ModelError, tries: Sequence[ModelError], reason: str) -> ModelError:
    """The error that ends the episode, with the reason and the errors of all calls."""
    if not reason:
        return error
    story = ", ".join(brief(e) for e in tries)
    final = ModelError(
        f"{error} [{reason}; calls ended: {story}]",
        status=error.status,
        kind=error.kind,
        retry_after_s=error.retry_after_s,
    )
    final.__cause__ = error.__cause__
    return final


def brief(error: ModelError) -> str:
    """The error's class and HTTP status, if any."""
    kind = error_kind(error) or "error"
    return f"{kind} {error.status}" if error.status is not None else kind


def _sameness(error: ModelError) -> tuple[str | None, int | None, str]:
    """Class, status and text without numbers and ids, which vary between calls."""
    text = re.sub(r"\b(?=\w*\d)[\w-]+\b", "#", str(error))
    return error_kind(error), error.status, text
