"""What stored data can reach outside its folder: each field of a stored record says it.

`Plain[str]` reaches nothing, `Address[str]` a server. `wiring.trust` derives from the fields what a
folder asks for; `permits` are what acting on it takes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

if TYPE_CHECKING:
    from pydantic import BaseModel


class Reach(Enum):
    """What a value can reach outside the folder that holds it."""

    NOTHING = "nothing"
    CODE = "code"
    """Python code that is imported, or run without a sandbox."""
    COMMAND = "command"
    """A program that is started here."""
    ADDRESS = "address"
    """A server that gets requests."""
    KEY = "key"
    """An environment variable whose value a server or program gets."""
    FILE = "file"
    """A file outside the folder that is read or written."""
    HOST = "host"
    """Hosts whose pages are opened."""
    MONEY = "money"
    """What calls cost, or are said to cost."""


T = TypeVar("T")
Plain = Annotated[T, Reach.NOTHING]
Code = Annotated[T, Reach.CODE]
Command = Annotated[T, Reach.COMMAND]
Address = Annotated[T, Reach.ADDRESS]
Key = Annotated[T, Reach.KEY]
OutsideFile = Annotated[T, Reach.FILE]
Host = Annotated[T, Reach.HOST]
Money = Annotated[T, Reach.MONEY]


@dataclass(frozen=True)
class ByName:
    """Marks a dictionary whose values reach what their names say."""

    reaches: Mapping[str, Reach]
    others: Reach
    """Of all other names."""


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A value in a record, and what its field says that it reaches."""

    path: str
    """Such as `server.command`, without the positions in lists."""
    reach: Reach | None
    """None where the field does not say."""
    value: Any


def values_of(record: BaseModel, path: str = "") -> Iterator[FieldValue]:
    """The values of a record's fields and of those of the records in it."""
    for name, field in type(record).model_fields.items():
        yield from _values(f"{path}{name}", getattr(record, name), field.metadata)


def _values(path: str, value: Any, marks: Collection[Any] = ()) -> Iterator[FieldValue]:
    mark = next((mark for mark in marks if isinstance(mark, Reach | ByName)), None)
    inner = list(value) if isinstance(value, list | tuple) else [value]
    if isinstance(mark, ByName) and isinstance(value, Mapping):
        for name, each in value.items():
            yield FieldValue(f"{path}.{name}", mark.reaches.get(name, mark.others), each)
    elif isinstance(mark, Reach):
        yield FieldValue(path, mark, value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _values(path, each)
    else:
        from pydantic import BaseModel  # for the list of commands it need not be there

        for each in inner:
            if isinstance(each, BaseModel):
                yield from values_of(each, f"{path}.")
            elif each is not None:
                yield FieldValue(path, None, each)


def reach_at(record: type[BaseModel], place: str) -> Reach | None:
    """What the field at this place reaches, such as `web_settings.search`; None for one that does
    not say, or that is a record itself."""
    name, _, rest = place.partition(".")
    field = record.model_fields[name]
    for mark in field.metadata:
        if isinstance(mark, Reach):
            return mark
        if isinstance(mark, ByName):
            return mark.reaches.get(rest, mark.others)
    inner = next(records_in(field.annotation), None)
    return None if inner is None or not rest else reach_at(inner, rest)


def records_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The types of the records that a value of this type can hold."""
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for each in get_args(annotation):
        yield from records_in(each)
