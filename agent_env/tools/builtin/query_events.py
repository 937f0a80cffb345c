"""The `query_events` tool: filter, count and latest over the sample's list of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agent_env.errors import ToolError
from agent_env.protocols import ToolDeclaration
from agent_env.records.schema import MaterialTable, ToolResult
from agent_env.records.tool_traits import ToolTraits
from agent_env.temporal.days import PartialDate
from agent_env.tools.toolbox import parse_arguments, tool_spec

ROWS = 100
"""Events of one answer."""
MAX_NAMES = 60
"""Names of one kind that the description lists."""
FIELDS = ("event", "subject", "location")


class EventArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    operation: Literal["filter", "count", "latest"] = Field(
        description="filter: the matching events in order of time; count: their number; "
        "latest: the last of them."
    )
    event: str | None = Field(default=None, description="Only this type of event.")
    subject: str | None = Field(default=None, description="Only what this one did.")
    location: str | None = Field(default=None, description="Only what happened here.")
    since: str | None = Field(
        default=None, description="Not before: YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDTHH:MM."
    )
    until: str | None = Field(
        default=None, description="Not after the end of: YYYY, YYYY-MM, YYYY-MM-DD, or a minute."
    )
    offset: int = Field(default=0, ge=0, description=f"filter gives {ROWS}; skip so many.")


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as the list has it."""

    event: str
    subject: str
    location: str
    time: datetime

    def __str__(self) -> str:
        clock = f"{self.time:%Y-%m-%d %H:%M}" + (f":{self.time:%S}" if self.time.second else "")
        return f"{clock} | {self.subject} | {self.event} | {self.location}"


def is_event_list(table: MaterialTable) -> bool:
    """Whether the tool can read it."""
    return {*FIELDS, "time"} <= set(table.columns)


class QueryEvents:
    """Answers from one table with the columns event, subject, location, time (ISO 8601 with an
    offset). Times in arguments are on the clock of the events."""

    def __init__(self, table: MaterialTable) -> None:
        columns = [table.columns.index(name) for name in (*FIELDS, "time")]
        cells = ([str(row[at]) for at in columns] for row in table.rows)
        rows = (
            EventRow(event, subject, location, datetime.fromisoformat(time))
            for event, subject, location, time in cells
        )
        self._rows = sorted(rows, key=lambda row: row.time)
        self._names = {name: sorted({getattr(row, name) for row in self._rows}) for name in FIELDS}
        names = "; ".join(f"{name}s: {_join_names(self._names[name])}" for name in FIELDS)
        self.spec = tool_spec(
            "query_events",
            f"Look up events in the list of all {len(self._rows)} events. A condition that is left "
            f"out does not restrict. An event is given as time | subject | event | location. "
            f"The list has: {names}.",
            EventArguments,
        )

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        query = parse_arguments(EventArguments, arguments)
        for name in FIELDS:
            value = getattr(query, name)
            names = self._names[name]
            if value is not None and value.casefold() not in {text.casefold() for text in names}:
                raise ToolError(f"the list has no {name} '{value}'; it has: {_join_names(names)}")
        since, until = bound(query.since, "since"), bound(query.until, "until")
        matches = [row for row in self._rows if fits(row, query, since, until)]
        if query.operation == "count":
            return ToolResult(output=str(len(matches)))
        if not matches:
            return ToolResult(output="No event matches.")
        if query.operation == "latest":
            return ToolResult(output=str(matches[-1]))
        return ToolResult(output=_page(matches, query.offset))


TOOL = ToolDeclaration(
    ToolTraits(name="query_events", needs_table="a list of events"),
    open=lambda supplies: QueryEvents(supplies.tables[0]),
    reads=is_event_list,
)


def fits(
    row: EventRow,
    query: EventArguments,
    since: tuple[datetime, datetime] | None,
    until: tuple[datetime, datetime] | None,
) -> bool:
    """Whether the event fulfils every condition."""
    for name in FIELDS:
        value = getattr(query, name)
        if value is not None and value.casefold() != getattr(row, name).casefold():
            return False
    clock = row.time.replace(tzinfo=None)
    return (since is None or clock >= since[0]) and (until is None or clock < until[1])


def bound(text: str | None, name: str) -> tuple[datetime, datetime] | None:
    """First moment of what the text means, and the first one after it."""
    if text is None:
        return None
    try:
        if "T" in text or " " in text.strip():
            minute = datetime.fromisoformat(text.strip()).replace(tzinfo=None)
            step = timedelta(seconds=1) if minute.second else timedelta(minutes=1)
            return minute, minute + step
        day = PartialDate.parse(text)
        first = datetime(day.first.year, day.first.month, day.first.day)  # noqa: DTZ001
        last = datetime(day.last.year, day.last.month, day.last.day)  # noqa: DTZ001
        return first, last + timedelta(days=1)
    except (ValueError, OverflowError):
        raise ToolError(
            f"{name} '{text}' is not a time; write YYYY, YYYY-MM, YYYY-MM-DD or YYYY-MM-DDTHH:MM"
        ) from None


def _page(matches: Sequence[EventRow], offset: int) -> str:
    page = matches[offset : offset + ROWS]
    lines = [str(row) for row in page]
    rest = len(matches) - offset - len(page)
    if rest > 0:
        lines.append(f"({rest} more; continue with offset {offset + len(page)})")
    return "\n".join(lines) or f"Only {len(matches)} events match; offset {offset} is too high."


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more
