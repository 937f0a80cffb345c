"""A TOML document whose entries know their lines, and the text of one."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any

from agent_env.errors import DatasetError, syntax_problem

Place = tuple[str | int, ...]
"""The keys that lead to an entry: `("models", "qwen", "temperature")`."""

LONGEST = 64 * 1024
"""Characters of a text, which anybody may have sent."""
_MOST_DOTS = 1000
"""Of one line: tomllib takes time and memory by the square of a dotted key."""
_MOST_READ = 4_000_000
"""Characters that are read to find lines; entries behind them have none of their own."""


class TomlLines:
    """The entries of a TOML text, dates as text, and the line on which each begins."""

    def __init__(self, file: Path, text: str) -> None:
        if len(text) > LONGEST:
            raise DatasetError(file, None, f"is longer than {LONGEST} characters")
        for number, line in enumerate(text.split("\n"), start=1):
            if line.count(".") > _MOST_DOTS:
                raise DatasetError(file, number, f"has more than {_MOST_DOTS} dots")
        try:
            self.data: dict[str, Any] = _plain(tomllib.loads(text))
        except (ValueError, RecursionError) as exc:  # also an integer of too many digits
            raise DatasetError(file, *syntax_problem(exc)) from None
        self._lines = _lines(text)

    def line(self, place: Sequence[str | int]) -> int | None:
        """Where the entry begins, or the nearest table around it; None for what stands nowhere."""
        whole = tuple(place)
        ends = range(len(whole), 0, -1)
        return next((self._lines[whole[:end]] for end in ends if whole[:end] in self._lines), None)


def _lines(text: str) -> dict[Place, int]:
    """By place the first line of its statement."""
    lines, known = text.splitlines(), dict[Place, int]()
    begin, read = 1, 0
    for number in range(1, len(lines) + 1):
        part = "\n".join(lines[:number])
        read += len(part)
        if read > _MOST_READ:
            break
        try:
            data = tomllib.loads(part)
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


def toml_text(data: Mapping[str, Any]) -> str:
    """The entries as TOML: plain values first, a table for each mapping of mappings."""
    tables = {
        key: value
        for key, value in data.items()
        if isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values())
    }
    lines = [f"{_key(key)} = {_value(v)}\n" for key, v in data.items() if key not in tables]
    for kind, table in tables.items():
        for name, entries in table.items():
            lines.append(f"\n[{_key(kind)}.{_key(name)}]\n")
            lines += [f"{_key(key)} = {_value(value)}\n" for key, value in entries.items()]
    return "".join(lines)


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(k)} = {_value(v)}' for k, v in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, bool | int | float):
        return str(value).lower()
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


_FILE = re.compile(r"(?P<before>[\w-]+=)?(?P<file>[^:=]+\.\w+)(?P<after>:[A-Za-z_][\w./]*)?")
"""A text that may name a file: FILE, NAME=FILE, FILE.py:NAME."""


def with_files(folder: Path, value: Any) -> Any:
    """The value with each file of the folder that it names under its whole path."""
    if isinstance(value, list):
        return [with_files(folder, inner) for inner in value]
    match = _FILE.fullmatch(value) if isinstance(value, str) else None
    if match is None or not (folder / match["file"]).is_file():
        return value
    return f"{match['before'] or ''}{(folder / match['file']).resolve()}{match['after'] or ''}"
