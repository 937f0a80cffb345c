"""How long to wait before a server is asked again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


def doubled_s(attempt: int, first_s: float, longest_s: float) -> float:
    """The wait after an attempt, counted from 1: doubled from one to the next."""
    return min(longest_s, first_s * 2.0 ** (attempt - 1))


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds by the Retry-After headers, as a number, or as a time by the server's own clock where
    it says that too; None where there is none that can be read."""
    text = headers.get("retry-after", "").strip()
    if (milliseconds := headers.get("retry-after-ms")) is not None:
        wait = _number(milliseconds)
        return None if wait is None else wait / 1000
    if (wait := _number(text)) is not None:
        return wait
    until = _time(text)
    if until is None:
        return None
    here = _time(headers.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - here).total_seconds())


def _number(text: str) -> float | None:
    """A plain one of sensible length; below zero is zero."""
    return max(0.0, float(text)) if re.fullmatch(r"-?[0-9]{1,9}(\.[0-9]{0,9})?", text) else None


def _time(text: str) -> datetime | None:
    try:
        time = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
