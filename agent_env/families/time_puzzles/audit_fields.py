"""Parses single values of foreign puzzle files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date

DEFAULT_YEARS = "1800-2050"

FIRST_YEAR, LAST_YEAR = 1, 9999


class FieldError(ValueError):
    """A defect in one field of a foreign file."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def display(value: object) -> str:
    """A foreign value, shortened for an error."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


def as_int(value: object, field: str) -> int:
    """A whole number, also as text or as 3.0."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?[0-9]{1,6}\s*", value):
        return int(value)
    raise FieldError(field, f"{display(value)} is not a whole number")


def as_year(value: object, field: str) -> int:
    """A valid year of a date."""
    year = as_int(value, field)
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise FieldError(field, f"year {year} is not within {FIRST_YEAR} to {LAST_YEAR}")
    return year


def as_identifier(value: object, index: int) -> str | int:
    """A text or a number; `index` if it is missing."""
    if value is None:
        return index
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise FieldError("identifier", f"{value!r} is neither a text nor a number")
    return value


def as_dates(value: object, field: str = "solutions") -> tuple[str, ...]:
    """Solutions, sorted and distinct, from a list of dates, a text with commas, "None" or null."""
    if value is None:
        return ()
    if isinstance(value, str):
        bare = value.strip().strip("[]")
        value = [] if bare.casefold() in ("", "none") else bare.split(",")
    if not isinstance(value, list):
        raise FieldError(field, f"{value!r} is not a list of dates")
    return tuple(sorted({_solution(day, f"{field}[{at}]") for at, day in enumerate(value)}))


_DAY = re.compile(r"\s*+'?(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[T ]\d\d:.*+)?'?\s*+")


def _solution(value: object, field: str) -> str:
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise FieldError(field, f"{value!r} is not a date; write YYYY-MM-DD")
    try:
        return date(*map(int, match.groups())).isoformat()
    except ValueError as exc:
        raise FieldError(field, f"{value!r} is not a date: {exc}") from exc


def as_date_or_nothing(value: object) -> str:
    """A date, or an empty text for anything else."""
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    return value.strip()[:10] if match and isinstance(value, str) else ""


def as_year_range(value: object) -> str:
    """`1800-2050` from any form of a range."""
    if value is None:
        return DEFAULT_YEARS
    if isinstance(value, str):
        value = [part.strip() for part in re.split(r"-|–|~|\bto\b|,", value.strip(" []()"))]
    if isinstance(value, Mapping):
        value = [
            value.get(low, value.get(other))
            for low, other in (("start", "min"), ("end", "max"))
        ]  # fmt: skip
    if not isinstance(value, list) or len(value) != 2:
        raise FieldError("year_range", f"{value!r} is not a pair of years")
    first, last = (as_year(year, "year_range") for year in value)
    if last < first:
        raise FieldError("year_range", f"{last} lies before {first}")
    return f"{first:04d}-{last:04d}"
