"""The date of the event that a sample asks about, from a table of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent_env.extensions.facts.tables.tables import EventRow
from agent_env.records.schema import Sample


def last_dates(rows: Iterable[EventRow]) -> dict[str, str]:
    """By event, the last date that its row states."""
    return {row.event: str(row.end or row.start) for row in rows if row.end or row.start}


def event_date(sample: Sample, table: Mapping[str, str]) -> str | None:
    """YYYY, YYYY-MM or YYYY-MM-DD: the sample's own end or start, else that of the event it
    names; None where neither is known."""
    own = getattr(sample, "end", "") or getattr(sample, "start", "")
    if isinstance(own, str) and own:
        return own
    return table.get(getattr(sample, "event", ""))
