"""Dates as the published pipeline read them: by fuzzy parsers that complete what is missing.

For the `paper` mode only; needs the extra `answers`. What the published parser takes from today's
clock is taken from a day that the caller names, so that a result can be had again.
"""

from __future__ import annotations

import re
import warnings
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from agent_env.errors import ConfigError

NEEDS_EXTRA = "--mode paper needs more packages: pip install 'agent-env[answers]'"
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_LONGEST = 200
"""Characters of a value; a longer one is no date."""
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose, as the published code
_FIRST, _LAST = datetime(1677, 9, 21), datetime(2262, 4, 11)  # noqa: DTZ001
"""What 64 bits of nanoseconds can hold; dates outside were unreadable."""


def strict_date(value: Any, clock: date) -> datetime | None:
    """What a data frame's date parser makes of one value; month before day."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _nanoseconds(value)
    return _parsed(value, clock) if isinstance(value, str) else None


def _nanoseconds(value: float) -> datetime | None:
    """A bare number counts as nanoseconds since 1970."""
    try:
        return _EPOCH + timedelta(microseconds=value / 1000)
    except (OverflowError, ValueError):
        return None


@lru_cache(maxsize=8192)
def _parsed(text: str, clock: date) -> datetime | None:
    stripped = text.strip()
    if _ISO.fullmatch(stripped):
        try:
            return _bounded(datetime.strptime(stripped, "%Y-%m-%d"))  # noqa: DTZ007
        except ValueError:
            return None
    if len(stripped) > _LONGEST or stripped.lower() in (
        "",
        "nan",
        "nat",
        "none",
        "null",
        "na",
        "n/a",
    ):
        return None
    try:
        from dateutil.parser import parse
    except ModuleNotFoundError:
        raise ConfigError(NEEDS_EXTRA) from None
    default = datetime(1, 1, 1)  # noqa: DTZ001
    if re.match(r"\d{1,2}:\d{2}", stripped):  # a time alone is completed from the clock
        default = datetime(clock.year, clock.month, clock.day)  # noqa: DTZ001
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _bounded(parse(stripped, default=default))
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _bounded(found: datetime) -> datetime | None:
    return found if _FIRST <= found.replace(tzinfo=None) <= _LAST else None


@lru_cache(maxsize=8192)
def fuzzy_date(line: str, clock: date) -> datetime | None:
    """The first date that a fuzzy finder sees in a line; parts that are missing, from `clock`."""
    try:
        import datefinder
    except ModuleNotFoundError:
        raise ConfigError(NEEDS_EXTRA) from None
    # version 1 has a new engine and keeps the published one, 0.7.3, under this name
    find_dates = getattr(datefinder, "find_dates_legacy", datefinder.find_dates)
    base = datetime(clock.year, clock.month, clock.day)  # noqa: DTZ001
    try:
        with warnings.catch_warnings():  # of zones that it does not know
            warnings.simplefilter("ignore")
            found: datetime | None = next(iter(find_dates(line, base_date=base)), None)
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    return found


def seconds_of(moment: datetime) -> float:
    """Seconds since 1970, as on a machine whose zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
