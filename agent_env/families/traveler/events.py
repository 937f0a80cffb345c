"""Event sets: drawn from a vocabulary by a seed, read from the user's table, kept as a table."""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from pathlib import Path
from random import Random

from agent_env.errors import ConfigError, DatasetError
from agent_env.families.traveler.vocabulary import Vocabulary
from agent_env.families.traveler.zones import local, midnight, open_zone, read_time, written
from agent_env.records.schema import MaterialTable

MOST = 10_000
"""Events in one set."""
COLUMNS = ("event", "subject", "location", "time")
"""What a user's table must have."""
WORDED = (*COLUMNS, "did", "where")
"""Columns of ours: with the words that a prompt has for event and location."""


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
        """The events of this kind there, of one subject or of all."""
        found = self.by_place.get((kind, location), ())
        return found if subject is None else tuple(e for e in found if e.subject == subject)


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


def check_drawing(how: Drawing) -> Drawing:
    """The same; ConfigError where its times contradict each other."""
    today = local(how.now, open_zone(how.zone)).date()
    if how.last < how.first:
        raise ConfigError(f"the last day {how.last} lies before the first, {how.first}")
    if today < how.last:
        raise ConfigError(
            f"the speech time {written(how.now, open_zone(how.zone))} lies before events up to"
            f" {how.last}; give a later now or an earlier last"
        )
    if how.now - midnight(how.first, open_zone(how.zone)) < 120:
        raise ConfigError("there is no time for events between the first day and the speech time")
    return how


def draw_set(vocabulary: Vocabulary, size: int, how: Drawing, rng: Random) -> EventSet:
    """So many events, to the minute, before the speech time; no event stands twice."""
    if not 1 <= size <= MOST:
        raise ConfigError(f"an event set has 1 to {MOST:,} events, not {size:,}")
    zone = open_zone(how.zone)
    earliest = (how.now - midnight(how.first, zone)) // 60
    end = min(how.now, midnight(how.last + timedelta(days=1), zone))
    nearest = max(1, (how.now - end) // 60 + 1)
    kinds = len(vocabulary.events) * len(vocabulary.subjects) * len(vocabulary.locations)
    if 2 * size > kinds * (earliest - nearest + 1):
        raise ConfigError(
            f"{size:,} different events do not fit into {earliest - nearest + 1:,} minutes with "
            f"{kinds} ways of doing something somewhere; ask fewer, or more days"
        )
    drawn: list[Drawn] = []
    there = set[Drawn]()
    while len(drawn) < size:
        what = _what(vocabulary, drawn, how.repeats, rng)
        made = (*what, _distance(nearest, earliest, how.recent, rng))
        if made in there:
            made = (*what, rng.randint(nearest, earliest))
        if made not in there:
            there.add(made)
            drawn.append(made)
    events = (
        _event(kind, subject, place, how.now - 60 * minutes, zone)
        for kind, subject, place, minutes in drawn
    )
    return make_set(events, how.now, how.zone, vocabulary)


Drawn = tuple[str, str, str, int]
"""Event type, subject, location, minutes before the speech time."""


def _what(
    vocabulary: Vocabulary,
    before: list[Drawn],
    repeats: float,
    rng: Random,
) -> tuple[str, str, str]:
    kind = rng.choice(vocabulary.events).name
    subject = rng.choice(vocabulary.subjects)
    location = rng.choice(vocabulary.locations).name
    if before and rng.random() < repeats:
        kind, old, location, _ = rng.choice(before)
        subject = old if rng.random() < 0.5 else subject
    return kind, subject, location


def _distance(nearest: int, earliest: int, recent: float, rng: Random) -> int:
    """Minutes before the speech time."""
    if rng.random() >= recent:
        return rng.randint(nearest, earliest)
    low, high = math.log(nearest), math.log(earliest)
    return min(earliest, max(nearest, round(math.exp(rng.uniform(low, high)))))


def make_set(events: Iterable[Event], now: int, zone: str, vocabulary: Vocabulary) -> EventSet:
    """The set with its table; ConfigError names an event that lies after the speech time."""
    kept, clock = tuple(events), open_zone(zone)
    late = next((event for event in kept if event.at > now), None)
    if late is not None:
        raise ConfigError(
            f"the speech time {written(now, clock)} lies before an event: {late.subject},"
            f" {late.kind}, {written(late.at, clock)}"
        )
    places: dict[tuple[str, str], list[Event]] = defaultdict(list)
    for event in kept:
        places[event.kind, event.location].append(event)
    did = {event.name: event.did for event in vocabulary.events}
    where = {location.name: location.where for location in vocabulary.locations}
    rows = tuple(
        (e.kind, e.subject, e.location, written(e.at, clock), did[e.kind], where[e.location])
        for e in kept
    )
    table = MaterialTable(name="events", columns=WORDED, rows=rows)
    return EventSet(kept, now, zone, table, {key: tuple(found) for key, found in places.items()})


def _event(kind: str, subject: str, location: str, at: int, zone: tzinfo) -> Event:
    return Event(kind, subject, location, at, local(at, zone).date().toordinal())


def read_events(file: Path, vocabulary: Vocabulary, now: int, zone: str) -> EventSet:
    """The user's events from a CSV with the COLUMNS; the first defect is named by its line."""
    clock = open_zone(zone)
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                raise DatasetError(file, 1, f"no column '{missing[0]}'; wanted {','.join(COLUMNS)}")
            events = [_read_row(file, reader.line_num, row, vocabulary, clock) for row in reader]
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except (UnicodeDecodeError, csv.Error) as exc:
        raise DatasetError(file, None, f"not a CSV in UTF-8: {exc}") from exc
    if not 1 <= len(events) <= MOST:
        raise DatasetError(file, None, f"holds {len(events):,} events; 1 to {MOST:,} can be asked")
    try:
        return make_set(events, now, zone, vocabulary)
    except ConfigError as exc:
        raise DatasetError(file, None, str(exc)) from exc


def _read_row(
    file: Path, line: int, row: Mapping[str, str | None], vocabulary: Vocabulary, zone: tzinfo
) -> Event:
    kind, subject, location, time = ((row[name] or "").strip() for name in COLUMNS)
    try:
        vocabulary.event(kind), vocabulary.subject(subject), vocabulary.location(location)
        return _event(kind, subject, location, read_time(time, zone), zone)
    except (ConfigError, ValueError) as exc:
        raise DatasetError(file, line, str(exc)) from exc
