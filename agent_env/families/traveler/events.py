"""Who does what where (the slides' Table 1, or a file of the user's), and event sets: drawn from
this vocabulary by a seed, or read from the user's table. Instants are seconds since 1970 UTC, days
those of a stated zone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from pathlib import Path
from random import Random
from typing import TypeVar
from zoneinfo import ZoneInfo

from pydantic import Field, ValidationError

from agent_env.features.facts.tables.table_files import (
    FileRow,
    cell_text,
    checked_rows,
    read_table_file,
)
from agent_env.sdk.errors import ConfigError, DatasetError, first_problem
from agent_env.sdk.records import MaterialTable, Record


class EventType(Record):
    """One kind of thing that is done."""

    name: str = Field(min_length=1)
    """As in tables, such as `watch film`."""
    do: str = Field(min_length=1)
    """As after "Did Tom": `watch a film`."""
    did: str = Field(min_length=1)
    """As after "Who": `watched a film`."""
    offset: float = 0.0
    """How far the parametric curves are moved, in powers of ten; 0 for an event not surveyed."""


class Location(Record):
    """A place, and how a question says it."""

    name: str = Field(min_length=1)
    where: str = Field(min_length=1)
    """Such as `in the kitchen`."""


class Vocabulary(Record):
    """What events are made of."""

    subjects: tuple[str, ...] = Field(min_length=1)
    locations: tuple[Location, ...] = Field(min_length=1)
    events: tuple[EventType, ...] = Field(min_length=1)

    def event(self, name: str) -> EventType:
        """The type of this name; ConfigError lists the known ones."""
        return _by_name("event", name, self.events)

    def location(self, name: str) -> Location:
        """The place of this name; ConfigError lists the known ones."""
        return _by_name("location", name, self.locations)

    def subject(self, name: str) -> str:
        """The name itself; ConfigError where nobody is called so."""
        if name not in self.subjects:
            raise ConfigError(f"unknown subject '{name}'; known: {', '.join(self.subjects)}")
        return name


Part = TypeVar("Part", EventType, Location)


def _by_name(what: str, name: str, parts: tuple[Part, ...]) -> Part:
    for part in parts:
        if part.name == name:
            return part
    known = ", ".join(part.name for part in parts)
    raise ConfigError(f"unknown {what} '{name}'; known: {known}")


HOME = Vocabulary.model_validate_json(Path(__file__).with_name("home.json").read_bytes())
"""Table 1 of the slides; the offsets are a fit to published survey medians."""


def read_vocabulary(file: Path | None) -> Vocabulary:
    """The vocabulary of a JSON file, HOME without one; DatasetError names a defect in it."""
    if file is None:
        return HOME
    try:
        vocabulary = Vocabulary.model_validate_json(file.read_bytes())
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except ValidationError as exc:
        reason = f"not a vocabulary: {first_problem(exc.errors())}"
        raise DatasetError(file, None, reason) from exc
    names = (
        vocabulary.subjects, [place.name for place in vocabulary.locations],
        [event.name for event in vocabulary.events],
    )  # fmt: skip
    for group in names:
        if duplicates := {name for name in group if list(group).count(name) > 1}:
            raise DatasetError(file, None, f"'{min(duplicates)}' appears twice")
    return vocabulary


# Events -------------------------------------------------------------------------------------------


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


MAX_EVENTS = 10_000
"""Events in one set."""
COLUMNS = ("event", "subject", "location", "time")
"""What a user's table must have."""
ALL_COLUMNS = (*COLUMNS, "did", "where")
"""With the words that a prompt has for event and location."""


@dataclass(frozen=True, slots=True)
class Event:
    """Somebody did something somewhere."""

    kind: str
    """Name of the event type."""
    subject: str
    location: str
    at: int
    """Seconds since 1970 UTC."""
    day: int
    """Ordinal of the local day."""


@dataclass(frozen=True, slots=True)
class EventSet:
    """Events with the moment and the zone in which they are asked about."""

    events: tuple[Event, ...]
    """In the order in which a prompt shows them, which is not that of time."""
    now: int
    zone: str
    table: MaterialTable
    by_place: Mapping[tuple[str, str], tuple[Event, ...]]
    """By event type and location."""

    @property
    def today(self) -> date:
        """The local day of the speech time."""
        return local(self.now, open_zone(self.zone)).date()

    def of(self, kind: str, location: str, subject: str | None = None) -> tuple[Event, ...]:
        events = self.by_place.get((kind, location), ())
        return events if subject is None else tuple(e for e in events if e.subject == subject)


@dataclass(frozen=True, slots=True)
class Drawing:
    """How events are drawn."""

    first: date
    last: date
    """Local days, both included."""
    now: int
    zone: str
    recent: float
    """Share of events whose distance from now is drawn evenly on a logarithmic scale."""
    repeats: float
    """Share of events that happen at the place and in the way of an earlier one, half of them by
    the same subject."""


def check_drawing(drawing: Drawing) -> None:
    """ConfigError where its times contradict each other."""
    today = local(drawing.now, open_zone(drawing.zone)).date()
    if drawing.last < drawing.first:
        raise ConfigError(f"the last day {drawing.last} lies before the first, {drawing.first}")
    if today < drawing.last:
        raise ConfigError(
            f"the speech time {iso_time(drawing.now, open_zone(drawing.zone))} lies before events "
            f"up to {drawing.last}; give a later now or an earlier last"
        )
    if drawing.now - midnight(drawing.first, open_zone(drawing.zone)) < 120:
        raise ConfigError("there is no time for events between the first day and the speech time")


def draw_set(vocabulary: Vocabulary, size: int, drawing: Drawing, rng: Random) -> EventSet:
    """`size` different events, to the minute, before the speech time."""
    if not 1 <= size <= MAX_EVENTS:
        raise ConfigError(f"an event set has 1 to {MAX_EVENTS:,} events, not {size:,}")
    zone = open_zone(drawing.zone)
    earliest = (drawing.now - midnight(drawing.first, zone)) // 60
    end = min(drawing.now, midnight(drawing.last + timedelta(days=1), zone))
    nearest = max(1, (drawing.now - end) // 60 + 1)
    kinds = len(vocabulary.events) * len(vocabulary.subjects) * len(vocabulary.locations)
    if 2 * size > kinds * (earliest - nearest + 1):
        raise ConfigError(
            f"{size:,} different events do not fit into {earliest - nearest + 1:,} minutes with "
            f"{kinds} ways of doing something somewhere; ask fewer, or more days"
        )
    drafts: list[EventDraft] = []
    unique = set[EventDraft]()
    while len(drafts) < size:
        kind = rng.choice(vocabulary.events).name
        subject = rng.choice(vocabulary.subjects)
        location = rng.choice(vocabulary.locations).name
        if drafts and rng.random() < drawing.repeats:
            kind, old, location, _ = rng.choice(drafts)
            subject = old if rng.random() < 0.5 else subject
        what = kind, subject, location
        draft = (*what, _distance(nearest, earliest, drawing.recent, rng))
        if draft in unique:
            draft = (*what, rng.randint(nearest, earliest))
        if draft not in unique:
            unique.add(draft)
            drafts.append(draft)
    events = (
        _event(kind, subject, place, drawing.now - 60 * minutes, zone)
        for kind, subject, place, minutes in drafts
    )
    return make_set(events, drawing.now, drawing.zone, vocabulary)


EventDraft = tuple[str, str, str, int]
"""Event type, subject, location, minutes before the speech time."""


def _distance(nearest: int, earliest: int, recent: float, rng: Random) -> int:
    """Minutes before the speech time."""
    if rng.random() >= recent:
        return rng.randint(nearest, earliest)
    low, high = math.log(nearest), math.log(earliest)
    return min(earliest, max(nearest, round(math.exp(rng.uniform(low, high)))))


def make_set(events: Iterable[Event], now: int, zone: str, vocabulary: Vocabulary) -> EventSet:
    """The set with its table; ConfigError names an event that lies after the speech time."""
    ordered, clock = tuple(events), open_zone(zone)
    late = next((event for event in ordered if event.at > now), None)
    if late is not None:
        raise ConfigError(
            f"the speech time {iso_time(now, clock)} lies before an event: {late.subject},"
            f" {late.kind}, {iso_time(late.at, clock)}"
        )
    places: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in ordered:
        places[event.kind, event.location].append(event)
    did = {event.name: event.did for event in vocabulary.events}
    where = {location.name: location.where for location in vocabulary.locations}
    rows = tuple(
        (e.kind, e.subject, e.location, iso_time(e.at, clock), did[e.kind], where[e.location])
        for e in ordered
    )
    table = MaterialTable(name="events", columns=ALL_COLUMNS, rows=rows)
    by_place = {place: tuple(group) for place, group in places.items()}
    return EventSet(ordered, now, zone, table, by_place)


def _event(kind: str, subject: str, location: str, at: int, zone: tzinfo) -> Event:
    return Event(kind, subject, location, at, local(at, zone).date().toordinal())


def read_events(file: Path, vocabulary: Vocabulary, now: int, zone: str) -> EventSet:
    """The user's events from a table with the COLUMNS; the first defect is named by its line."""
    clock = open_zone(zone)
    source = read_table_file(file)
    if missing := [name for name in COLUMNS if name not in source.columns]:
        raise DatasetError(file, 1, f"no column '{missing[0]}'; wanted {','.join(COLUMNS)}")
    events = [_read_row(file, row, vocabulary, clock) for row in checked_rows(file, source)]
    if not 1 <= len(events) <= MAX_EVENTS:
        raise DatasetError(
            file, None, f"holds {len(events):,} events; 1 to {MAX_EVENTS:,} can be asked"
        )
    try:
        return make_set(events, now, zone, vocabulary)
    except ConfigError as exc:
        raise DatasetError(file, None, str(exc)) from exc


def _read_row(file: Path, row: FileRow, vocabulary: Vocabulary, zone: tzinfo) -> Event:
    kind, subject, location, time = (cell_text(row.cells.get(name)) for name in COLUMNS)
    try:
        vocabulary.event(kind), vocabulary.subject(subject), vocabulary.location(location)
        return _event(kind, subject, location, read_time(time, zone), zone)
    except (ConfigError, ValueError) as exc:
        raise DatasetError(file, row.line, str(exc)) from exc
