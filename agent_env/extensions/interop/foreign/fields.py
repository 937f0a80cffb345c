"""What the JSON logs of other tools have in common: lines, numbers, messages and token counts.

A value that is no number and a line that is cut are left out, counted, and named in the notes.
Guaranteed for a log that a stranger made: text that is read can be written as UTF-8, no number is
beyond a float, and of a folder nothing is read that lies outside it or is no plain file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent_env.sdk.errors import AgentEnvError, ConfigError, DatasetError
from agent_env.sdk.models import read_message, read_usage, text_in
from agent_env.sdk.records import Message, Usage, read_file
from agent_env.sdk.results import QUANTITIES

_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATES = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F]).)"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
"""Pairs and other escapes, which are kept, and halves."""


class Unread:
    """Counts what is left out of a log, with the place of the first of each kind."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, what: str, first: str, count: int = 1) -> None:
        self._count[what] += count
        self._first.setdefault(what, first)

    def number(self, field: str, value: Any, place: str) -> float | None:
        """None for what is no number; counted unless it is None."""
        if isinstance(value, bool | int | float) and math.isfinite(value):
            return float(value)
        if value is not None:
            self.add(f"values of {field} that are no numbers", f"{str(value)[:40]!r} in {place}")
        return None

    def numbers(self, values: Mapping[str, Any], place: str) -> dict[str, float]:
        known = {name: self.number(name, value, place) for name, value in values.items()}
        return {name: value for name, value in known.items() if value is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(
            f"left out: {what} ({count}, the first {self._first[what]})"
            for what, count in self._count.items()
        )


@contextmanager
def odd_values(file: Path) -> Iterator[None]:
    """DatasetError where a value of the log is of a kind that its tool does not write."""
    try:
        yield
    except (AgentEnvError, OSError):
        raise
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError,
            RecursionError) as exc:  # fmt: skip
        reason = " ".join(f"{type(exc).__name__}: {exc}".split())[:200]
        raise DatasetError(
            file, None, f"holds a value that its tool does not write ({reason})"
        ) from exc


def parse(text: str) -> Any:
    """The JSON value; half of a surrogate pair, which no file can hold, becomes U+FFFD, and an
    integer beyond a float infinite."""
    return json.loads(_whole(text), parse_int=_int)


def _whole(text: str) -> str:
    return _SURROGATES.sub(_kept, text) if _HALF.search(text) else text


def _kept(match: re.Match[str]) -> str:
    return match[1] or "\\ufffd"


def _int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 300 else float(digits)


def read_text(file: Path, folder: Path | None = None) -> str:
    """Of a file that the user named, or of one that must lie in the folder."""
    try:
        if folder is not None:
            return read_file(folder, file).decode("utf-8")
        return file.read_text("utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise DatasetError(file, None, "is not UTF-8 text") from None


def read_object(file: Path, folder: Path | None = None) -> dict[str, Any]:
    """A file that is one JSON object; files as of `read_text`."""
    try:
        value = parse(read_text(file, folder))
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"is not JSON, or cut: {exc}") from exc
    if not isinstance(value, dict):
        raise DatasetError(file, None, "is no JSON object")
    return value


def cut_object(file: Path, names: Sequence[str], unread: Unread) -> dict[str, Any]:
    """Of an object whose end is cut: these fields, and of a list the members that are whole."""
    text, read = _whole(read_text(file)), json.JSONDecoder(parse_int=_int)
    found: dict[str, Any] = {}
    for name in names:
        _, key, rest = text.partition(f'"{name}":')
        rest, members = rest.lstrip(), []
        try:
            if not rest.startswith("["):
                found[name] = read.raw_decode(rest)[0]
                continue
            at = 1
            while True:
                while rest[at : at + 1] in (" ", "\n", "\r", "\t", ","):
                    at += 1
                member, at = read.raw_decode(rest, at)
                members.append(member)
        except (ValueError, RecursionError):  # the end of the list, or of what is whole
            found |= {name: members} if key else {}
    unread.add("what comes after the point where the file is cut", f"character {len(text)}")
    return found


def line_objects(file: Path, text: str, unread: Unread) -> list[tuple[int, dict[str, Any]]]:
    """The objects with their lines; DatasetError where no line is one."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = parse(line)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            rows.append((number, value))
        else:
            unread.add("lines that are no JSON objects, or cut", f"{file.name}:{number}")
    if not rows:
        raise DatasetError(file, None, "holds no JSON object")
    return rows


def mapping(value: Any) -> Mapping[str, Any]:
    """The object; an empty one for what is none."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; none for what is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Those that are plain, as texts."""
    return {
        name: str(value)
        for name, value in values.items()
        if isinstance(value, str | bool | int | float)
    }


def digest(content: Any) -> str:
    """Of what a sample asks, to tell samples of one id apart."""
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def plain_text(content: Any) -> str:
    """Of a message's content: a text, or parts of which some are texts."""
    return text_in(content, "\n")


def message(data: Mapping[str, Any]) -> Message | None:
    """A chat message with calls as OpenAI has them, flat, or each as JSON within the JSON; None for
    another role."""
    calls = data.get("tool_calls")
    parsed = [_call(each) for each in calls] if isinstance(calls, list) else None
    return read_message({**data, "tool_calls": parsed}, "\n")


def _call(value: Any) -> Any:
    try:
        return parse(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {"arguments": value}


def usage(data: Any) -> Usage | None:
    """The tokens of one call, by the names of Chat Completions; None where nothing is told."""
    return read_usage(data, "prompt_tokens", "completion_tokens") if mapping(data) else None


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one is unknown, and for none at all."""
    known = list(values)
    return sum(each for each in known if each is not None) if known and None not in known else None


def token_sums(usages: Sequence[Usage | None]) -> dict[str, float]:
    """Of an episode, those that every call tells."""
    sums = {
        name: total(None if usage is None else getattr(usage, name) for usage in usages)
        for name in QUANTITIES
        if name.endswith("_tokens")
    }
    return {name: value for name, value in sums.items() if value is not None}


def count(value: Any) -> int | None:
    """A number of tokens, or of whatever is counted."""
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return value if is_int and 0 <= value < 2**53 else None


def word(value: Any) -> str | None:
    """A text that is not empty; None for anything else."""
    return value if isinstance(value, str) and value else None
