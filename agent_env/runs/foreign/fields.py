"""What the JSON logs of other tools have in common: lines, numbers, messages and token counts.

A value that is no number and a line that is cut are left out, counted, and named in the notes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_env.analysis.observations import TOKENS
from agent_env.errors import ConfigError, DatasetError
from agent_env.records.schema import Message, ToolCall, ToolSpec, Usage


class Unread:
    """Counts what is left out of a log, with the place of the first of each kind."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def add(self, what: str, first: str) -> None:
        self._count[what] += 1
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


def read_text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot read {file}: {exc.strerror}") from exc
    except UnicodeDecodeError:
        raise DatasetError(file, None, "is not UTF-8 text") from None


def read_object(file: Path) -> dict[str, Any]:
    """A file that is one JSON object."""
    try:
        value = json.loads(read_text(file))
    except (ValueError, RecursionError) as exc:
        raise DatasetError(file, None, f"is not JSON, or cut: {exc}") from exc
    if not isinstance(value, dict):
        raise DatasetError(file, None, "is no JSON object")
    return value


def cut_object(file: Path, names: Sequence[str], unread: Unread) -> dict[str, Any]:
    """Of an object whose end is cut: these fields, and of a list the members that are whole."""
    text, read = read_text(file), json.JSONDecoder()
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
        except ValueError:  # the end of the list, or of what is whole
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
            value = json.loads(line)
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
    if isinstance(content, list):
        parts = (each if isinstance(each, str) else mapping(each).get("text") for each in content)
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def message(data: Mapping[str, Any]) -> Message | None:
    """A chat message with calls as OpenAI has them, or flat; None for another role."""
    role = {"developer": "system"}.get(str(data.get("role")), data.get("role"))
    if role not in ("system", "user", "assistant", "tool"):
        return None
    reasoning = data.get("reasoning_content") or data.get("reasoning")
    call = data.get("tool_call_id") or data.get("id")
    return Message(
        role=role,
        content=plain_text(data.get("content")),
        tool_calls=tuple(tool_call(each) for each in _calls(data.get("tool_calls"))),
        tool_call_id=str(call) if role == "tool" and call else None,
        reasoning=reasoning if isinstance(reasoning, str) else None,
    )


def _calls(value: Any) -> list[dict[str, Any]]:
    """Some tools write each call as JSON within the JSON."""
    if not isinstance(value, list):
        return []
    calls = []
    for each in value:
        try:
            calls.append(json.loads(each) if isinstance(each, str) else each)
        except ValueError:
            calls.append({"arguments": each})
    return objects(calls)


def tool_call(data: Mapping[str, Any]) -> ToolCall:
    function = mapping(data.get("function")) or data
    arguments = function.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(
        id=str(data.get("id") or data.get("tool_call_id") or ""),
        name=str(function.get("name") or data.get("function_name") or ""),
        arguments=arguments,
    )


def tool_spec(data: Mapping[str, Any]) -> ToolSpec:
    """Of a definition as OpenAI has it, or flat."""
    function = mapping(data.get("function")) or data
    return ToolSpec(
        name=str(function.get("name", "")),
        description=str(function.get("description") or ""),
        parameters=dict(mapping(function.get("parameters"))),
    )


def total(values: Iterable[float | None]) -> float | None:
    """The sum; None where one is unknown, and for none at all."""
    known = list(values)
    return sum(each for each in known if each is not None) if known and None not in known else None


def token_sums(usages: Sequence[Usage | None]) -> dict[str, float]:
    """Of an episode, those that every call tells."""
    sums = {
        name: total(None if usage is None else getattr(usage, name) for usage in usages)
        for name in TOKENS
    }
    return {name: value for name, value in sums.items() if value is not None}


def count(value: Any) -> int | None:
    """A number of tokens."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
