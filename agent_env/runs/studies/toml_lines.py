"""A TOML document whose entries know their lines."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError

Place = tuple[str | int, ...]
"""The keys that lead to an entry: `("models", "qwen", "temperature")`."""


class TomlLines:
    """The entries of a TOML text, dates as text, and the line on which each begins."""

    def __init__(self, file: Path, text: str) -> None:
        try:
            self.data: dict[str, Any] = _plain(tomllib.loads(text))
        except (tomllib.TOMLDecodeError, RecursionError) as exc:
            raise _syntax_error(file, str(exc)) from None
        self._lines = _lines(text)

    def line(self, place: Sequence[str | int]) -> int | None:
        """Where the entry begins, or the nearest table around it; None for what stands nowhere."""
        whole = tuple(place)
        ends = range(len(whole), 0, -1)
        return next((self._lines[whole[:end]] for end in ends if whole[:end] in self._lines), None)


def _syntax_error(file: Path, problem: str) -> DatasetError:
    match = re.search(r" \(at line (\d+), column \d+\)", problem)
    if match is None:
        return DatasetError(file, None, f"is not TOML: {problem}")
    return DatasetError(file, int(match[1]), f"is not TOML: {problem[: match.start()]}")


def _lines(text: str) -> dict[Place, int]:
    """By place the first line of its statement: an entry is there as soon as the text up to its
    last line can be read."""
    lines, known = text.splitlines(), dict[Place, int]()
    begin = 1
    for number in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:  # within a text or list of several lines
            continue
        for place in _places(data, ()):
            known.setdefault(place, begin)
        begin = number + 1
    return known


def _places(value: Any, place: Place) -> Iterator[Place]:
    if place:
        yield place
    pairs: Any = ()
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for key, inner in pairs:
        yield from _places(inner, (*place, key))


def _plain(value: Any) -> Any:
    """The value as JSON has it: dates and times as text."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value
