"""Permits: what acting outside a run takes.

Whatever starts a process, imports code, opens an address, reads a key or touches a file elsewhere
takes a permit and fails where that does not cover the value. `wiring.trust` alone makes them: of
what this call's options say, or of what this user made or confirmed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from agent_env.errors import ConfigError
from agent_env.records.reach import Reach

OWN_DEFAULT = "by default"
"""Behind the name of an API or search provider: its own address, its own key."""
PUBLIC_WEB = "the public web"

_MINT = object()
"""Held by `wiring.trust` alone."""


class Permit:
    """What may be reached; a value that is not named may not."""

    __slots__ = ("_allowed", "_is_unlimited")

    def __init__(
        self, mint: object, allowed: Collection[tuple[Reach, str]], is_unlimited: bool
    ) -> None:
        if mint is not _MINT:
            raise TypeError("permits are made by wiring.trust")
        self._allowed, self._is_unlimited = frozenset(allowed), is_unlimited

    def __reduce__(self) -> tuple[Any, ...]:
        """To a worker of the same run."""
        return _restored, (self._allowed, self._is_unlimited)

    def covers(self, reach: Reach, value: str) -> bool:
        """Whether this may be reached."""
        return self._is_unlimited or (reach, normal(reach, value)) in self._allowed

    def check(self, reach: Reach, value: str) -> None:
        """ConfigError where this may not be reached."""
        if not self.covers(reach, value):
            raise ConfigError(
                f"the {reach.value} {value} is not allowed, as it comes from a folder that you did "
                "not make here: agent-env episodes trust FOLDER lists what it asks for"
            )

    def implying(self, by: tuple[Reach, str], reach: Reach, value: str) -> Permit:
        """One that covers a value which what is allowed leads to by itself: the address that an
        allowed API has, the port of an allowed server. ConfigError where `by` is not allowed."""
        self.check(*by)
        return Permit(_MINT, {*self._allowed, (reach, normal(reach, value))}, self._is_unlimited)


@dataclass(frozen=True, slots=True)
class OutsideSetting:
    """One thing that a manifest says and that reaches outside the run's folder."""

    name: str
    value: str
    notice: str = ""
    """The consequence, for the user."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """What the record keeps of it, where the value alone could be taken for another."""
    grants: tuple[tuple[Reach, str], ...] = ()
    """What a permit for it covers."""
    fields: tuple[str, ...] = ()
    """Those of a feature's settings that it tells of, such as `servers.command`."""
    gets_calls: bool = False
    """Whether the calls of a trace reach it, when it is replayed or gone on with."""

    def __str__(self) -> str:
        """Whole, however long: what is left out could be an address's host."""
        return f"{self.name} {self.value}{self.notice}"

    def is_covered(self, permit: Permit) -> bool:
        """Whether the permit allows all of it."""
        return all(permit.covers(*grant) for grant in self.grants)


def _restored(allowed: Collection[tuple[Reach, str]], is_unlimited: bool) -> Permit:
    return Permit(_MINT, allowed, is_unlimited)


NOTHING = Permit(_MINT, (), False)
"""Covers nothing."""


def normal(reach: Reach, value: str) -> str:
    """The value as permits compare it: an address is its scheme, host and port."""
    if reach is not Reach.ADDRESS or "://" not in value:
        return value
    parts = urlsplit(value)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}".lower()


def text_of(value: Any) -> str:
    """Any value as one text that no other value has."""
    from pydantic import BaseModel  # for the list of commands it need not be there

    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
