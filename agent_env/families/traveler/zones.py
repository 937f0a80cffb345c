"""Instants and local days: seconds since 1970 UTC on one side, a stated zone on the other."""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

from agent_env.errors import ConfigError


def open_zone(name: str) -> tzinfo:
    """The zone of this IANA name; ConfigError where the machine does not know it."""
    if name == "UTC":
        return UTC  # needs no database
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as exc:
        raise ConfigError(
            f"unknown zone '{name}'; write an IANA name such as UTC or Europe/Berlin"
        ) from exc


def read_time(text: str, zone: tzinfo) -> int:
    """Seconds since 1970 UTC, from ISO 8601 to the minute or second; without an offset the time is
    on the zone's clock. ValueError names the defect."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a time; write YYYY-MM-DDTHH:MM") from None
    if len(text) < len("2023-01-01T00:00"):
        raise ValueError(f"'{text}' names no time of day; write YYYY-MM-DDTHH:MM")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return int(moment.timestamp())


def local(at: int, zone: tzinfo) -> datetime:
    """The zone's clock at this instant."""
    return datetime.fromtimestamp(at, zone)


def iso_time(at: int, zone: tzinfo) -> str:
    """ISO 8601 with the zone's offset, to the minute or, where needed, the second."""
    return local(at, zone).isoformat(timespec="seconds" if at % 60 else "minutes")


def midnight(day: date, zone: tzinfo) -> int:
    """The first second of a local day."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())
