"""Date parsers of the published pipeline, which complete missing parts; for the `paper` mode.

Needs the extra `answers`. Missing parts come from a date that the caller passes, not from today's,
so that results are reproducible.
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
"""Characters of a value; a longer one is not a date."""
_MISSING = ("", "nan", "nat", "none", "null", "na", "n/a")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive on purpose, as the published code
_FIRST, _LAST = datetime(1677, 9, 21), datetime(2262, 4, 11)  # noqa: DTZ001
"""The range of 64-bit nanoseconds; other dates were unparsable."""


def strict_date(value: Any, clock: date) -> datetime | None:
    """One value by the rules of pandas' date parser; month before day."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return _nanoseconds(value)
    return _parse_text(value, clock) if isinstance(value, str) else None


def _nanoseconds(value: float) -> datetime | None:
    """A number as nanoseconds since 1970."""
    try:
        return _EPOCH + timedelta(microseconds=value / 1000)
    except (OverflowError, ValueError):
        return None


@lru_cache(maxsize=8192)
def _parse_text(text: str, clock: date) -> datetime | None:
    stripped = text.strip()
    if _ISO.fullmatch(stripped):
        try:
            return _in_range(datetime.strptime(stripped, "%Y-%m-%d"))  # noqa: DTZ007
        except ValueError:
            return None
    if len(stripped) > _LONGEST or stripped.lower() in _MISSING:
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
            return _in_range(parse(stripped, default=default))
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def _in_range(moment: datetime) -> datetime | None:
    return moment if _FIRST <= moment.replace(tzinfo=None) <= _LAST else None


@lru_cache(maxsize=8192)
def fuzzy_date(line: str, clock: date) -> datetime | None:
    """The first date of a line by the fuzzy date finder; missing parts come from `clock`."""
    try:
        import datefinder
    except ModuleNotFoundError:
        raise ConfigError(NEEDS_EXTRA) from None
    # version 1 has a new engine and keeps the published one, 0.7.3, under this name
    find_dates = getattr(datefinder, "find_dates_legacy", datefinder.find_dates)
    base = datetime(clock.year, clock.month, clock.day)  # noqa: DTZ001
    try:
        with warnings.catch_warnings():  # about unknown zones
            warnings.simplefilter("ignore")
            return next(iter(find_dates(line, base_date=base)), None)
    except (ValueError, OverflowError, TypeError, AttributeError, IndexError, RecursionError):
        return None


def seconds_of(moment: datetime) -> float:
    """Seconds since 1970, as on a machine whose zone is UTC."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
