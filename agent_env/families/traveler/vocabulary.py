"""Who does what where: the slides' Table 1 as the default, or a file of the user's."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from agent_env.sdk.errors import ConfigError, DatasetError, first_problem
from agent_env.sdk.records import Record


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


def _event(name: str, do: str, did: str, offset: float) -> EventType:
    return EventType(name=name, do=do, did=did, offset=offset)


HOME = Vocabulary(
    subjects=("Mary", "Tom", "Robot"),
    locations=(
        Location(name="living room", where="in the living room"),
        Location(name="kitchen", where="in the kitchen"),
    ),
    events=(
        _event("watch film", "watch a film", "watched a film", 0.25),
        _event("eat risotto", "eat risotto", "ate risotto", -0.38),
        _event("read book", "read a book", "read a book", 0.27),
        _event("dance lively salsa", "dance a lively salsa", "danced a lively salsa", 0.11),
        _event("store wine bottle", "store a wine bottle", "stored a wine bottle", 0.03),
        _event("drink juice", "drink juice", "drank juice", -0.58),
        _event("chat with friend", "chat with a friend", "chatted with a friend", 0.31),
    ),
)
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
            raise DatasetError(file, None, f"'{min(duplicates)}' stands twice")
    return vocabulary
