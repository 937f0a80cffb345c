"""Names of persons and events in other spellings: regardless of case, spaces and dots."""

from __future__ import annotations

from collections.abc import Iterable


class NameIndex:
    """Finds a table's name from another spelling, also without a person's single initials."""

    def __init__(self, names: Iterable[str]) -> None:
        unique = dict.fromkeys(names)
        self._names: dict[str, str | None] = {}
        for name in unique:
            short = _short(name)
            self._names[short] = None if short in self._names else name  # ambiguous
        self._names |= {name_key(name): name for name in unique}

    def find(self, name: str) -> str | None:
        """The table's name; None for an unknown or ambiguous one."""
        return self._names.get(name_key(name)) or self._names.get(_short(name))


def name_key(name: str) -> str:
    """The same for all spellings of a name."""
    return " ".join(name.replace(".", " ").casefold().split())


def _short(name: str) -> str:
    """Without single initials."""
    return " ".join(part for part in name_key(name).split() if len(part) > 1)
