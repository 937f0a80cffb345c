"""Faults of tools on purpose: which calls get one, and what the model reads then.

The call is made all the same, so that the trace can tell what the fault hid; only a program whose
session a fault takes (`crash`, `timeout`) loses its variables indeed. Nothing waits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from random import Random
from typing import Protocol, runtime_checkable
from zlib import compress

from agent_env.sdk.errors import ToolError
from agent_env.sdk.records import Disturbance, DrawnFault, FaultKind, ToolResult
from agent_env.sdk.run import Tool
from agent_env.temporal.written import MONTH, MONTHS, WEEKDAYS

MESSAGES: Mapping[FaultKind, tuple[str, ...]] = {
    "error": ("HTTP 503: the service is not available", "HTTP 500: internal server error"),
    "timeout": ("no response within 30 s", "the request ran out of time after 30 s"),
    "rate-limit": ("HTTP 429: too many requests", "the quota of calls per minute is used up"),
    "crash": ("the program of the tool ended by signal 11", "the program of the tool was killed"),
}
"""What the model reads of a call that gave nothing."""
MOST_IN_A_ROW = 2
"""Faults of successive calls of one tool."""
BREAKS = ("[the connection broke off here]", "[end of data before the end of the response]")


@runtime_checkable
class LosesSession(Protocol):
    """A tool whose variables a crash takes away."""

    async def lose_session(self, is_timeout: bool) -> ToolResult:
        """What it says where its session ended."""


@runtime_checkable
class SaysNothingFound(Protocol):
    """A tool with words of its own for a result without content."""

    def empty_output(self, arguments: dict[str, object]) -> str:
        """These words."""


@dataclass(slots=True)
class FaultDraws:
    """Which calls of one episode get a fault: none, unless `begin` or `follow` was called."""

    of: Disturbance
    key: str | None = None
    """SEED/SAMPLE/REPEAT: other calls than those of the rule get none, so each model gets the
    same."""
    recorded: Mapping[str, Sequence[DrawnFault | None]] | None = None
    """By tool, the faults of each call of a recording."""
    calls: Counter[str] = field(default_factory=Counter)
    before: dict[str, ToolResult] = field(default_factory=dict)
    """By tool, its last result that was not an error, as the model read it."""
    urls: list[str] = field(default_factory=list)
    """Addresses that the model was shown."""

    def tool(self, inner: Tool) -> FaultyTool:
        return FaultyTool(inner, self)

    def begin(self, key: str, past: Iterable[tuple[str, ToolResult]] = ()) -> None:
        """Draw from here on; `past`: tools and results of an episode that goes on."""
        self.key = key
        self.calls.clear()  # of what a resumed episode ran again
        for tool, result in past:
            self.calls[tool] += 1
            self.note(tool, result)

    def follow(self, past: Iterable[tuple[str, ToolResult]]) -> None:
        """Take the faults of a recording."""
        recorded: dict[str, list[DrawnFault | None]] = {}
        for tool, result in past:
            recorded.setdefault(tool, []).append(result.fault)
        self.recorded = recorded

    def draw(self, tool: str) -> tuple[FaultKind, str] | None:
        """The fault of the tool's next call, and the key of its text; None for none."""
        number = self.calls[tool]
        self.calls[tool] += 1
        if self.recorded is not None:
            faults = self.recorded.get(tool, ())
            fault = faults[number] if number < len(faults) else None
            return None if fault is None else (fault.kind, fault.draw)
        if self.key is None:
            return None
        kind = drawn_kind(self.of, f"{self.key}/{tool}", tool, number + 1)
        return None if kind is None else (kind, f"{self.key}/{tool}/{number + 1}")

    def note(self, tool: str, result: ToolResult) -> None:
        """Remember what the model read of a call."""
        if result.error is None:
            self.before[tool] = result
        self.urls += [ref.url for ref in result.pages if ref.how != "blocked"]


def episode_faults(disturbance: Disturbance) -> FaultDraws | None:
    """Those of one episode; None where the disturbance has none."""
    return FaultDraws(disturbance) if disturbance.faults else None


def drawn_kind(its: Disturbance, key: str, tool: str, number: int) -> FaultKind | None:
    rates = [(fault.kind, fault.rate) for fault in its.faults if fault.tool == tool]
    kind, in_a_row = None, 0
    for call in range(1, number + 1):
        kind = _kind_at(rates, Random(f"{key}/{call}/kind").random())
        kind = None if in_a_row == MOST_IN_A_ROW else kind
        in_a_row = 0 if kind is None else in_a_row + 1
    return kind


def _kind_at(rates: Iterable[tuple[FaultKind, float]], chance: float) -> FaultKind | None:
    for kind, rate in rates:
        if chance < rate:
            return kind
        chance -= rate
    return None


class FaultyTool:
    def __init__(self, inner: Tool, draws: FaultDraws) -> None:
        self._inner = inner
        self._draws = draws
        self.spec = inner.spec

    async def run(self, arguments: dict[str, object]) -> ToolResult:
        fault = self._draws.draw(self.spec.name)
        before = self._draws.before.get(self.spec.name)
        try:
            true = await self._inner.run(arguments)
        except ToolError as exc:
            if fault is None:
                raise
            true = ToolResult.failure(exc)
        result = true if fault is None else await self._with_fault(*fault, true, before, arguments)
        self._draws.note(self.spec.name, result)
        return result

    async def _with_fault(
        self,
        kind: FaultKind,
        draw: str,
        true: ToolResult,
        before: ToolResult | None,
        arguments: dict[str, object],
    ) -> ToolResult:
        faulty = true if true.error is not None else await self._faulty(
            kind, Random(draw), true, before, arguments
        )  # fmt: skip
        landed = faulty.output != true.output
        drawn = DrawnFault(kind=kind, draw=draw, true_output=true.output if landed else None)
        return (faulty if landed else true).model_copy(update={"fault": drawn})

    async def _faulty(
        self,
        kind: FaultKind,
        rng: Random,
        true: ToolResult,
        before: ToolResult | None,
        arguments: dict[str, object],
    ) -> ToolResult:
        inner = self._inner
        if kind in ("crash", "timeout") and isinstance(inner, LosesSession):
            return await inner.lose_session(is_timeout=kind == "timeout")
        if kind in MESSAGES:
            return ToolResult.failure(rng.choice(MESSAGES[kind]))
        if kind == "stale":
            return true if before is None else before.model_copy(update={"fault": None})
        if kind == "other":
            own = {arguments.get("url"), *(ref.url for ref in true.pages)}
            others = [url for url in dict.fromkeys(self._draws.urls) if url not in own]
            if not others:
                return true
            try:
                return await self._inner.run({**arguments, "url": rng.choice(others)})
            except ToolError:
                return true
        if kind == "empty":
            words = inner.empty_output(arguments) if isinstance(inner, SaysNothingFound) else ""
            return ToolResult(output=words, duration_s=true.duration_s)
        if kind == "wrong":
            text = shifted(true.output, json.dumps(arguments), rng)
            return true.model_copy(update={"output": text})
        text = garbled(true.output) if kind == "malformed" else cut(true.output, rng)
        pages = tuple(ref for ref in true.pages if ref.url in text)
        return true.model_copy(update={"output": text, "pages": pages})


# What the texts become --------------------------------------------------------------------------


def cut(text: str, rng: Random) -> str:
    """The beginning of the text, and that it broke off."""
    return f"{text[: int(len(text) * rng.uniform(0.2, 0.6))]}\n{rng.choice(BREAKS)}"


def garbled(text: str) -> str:
    """Bytes that nobody unpacked."""
    return "".join(f"\\x{byte:02x}" for byte in compress(text.encode("utf-8", "replace"))[:160])


_DAY = re.compile(
    r"\b(?P<iso>\d{4}-\d{2}-\d{2})\b"
    rf"|\b(?P<d>\d{{1,2}}) (?P<m>{MONTH}) (?P<y>\d{{4}})\b"
    rf"|\b(?P<m2>{MONTH}) (?P<d2>\d{{1,2}}), (?P<y2>\d{{4}})\b"
)
_WEEKDAY = re.compile(rf"\b({'|'.join(WEEKDAYS)})\b")
_NUMBER = re.compile(r"(?<![\w\[/.-])\d{1,9}(?![\w\]/-])")


def shifted(text: str, known: str, rng: Random) -> str:
    """The text with its days one day off and its weekdays likewise, or without any its first number
    off by one; what the call named itself (`known`) stays."""
    days = rng.choice((-1, 1))
    result = _DAY.sub(lambda match: _shifted_day(match, known, days), text)
    result = _WEEKDAY.sub(
        lambda match: (
            match[0] if match[0] in known else WEEKDAYS[(WEEKDAYS.index(match[0]) + days) % 7]
        ),
        result,
    )
    if result != text:
        return result
    number = next((m for m in _NUMBER.finditer(text) if m[0] not in known), None)
    if number is None:
        return text
    return f"{text[: number.start()]}{max(0, int(number[0]) + days)}{text[number.end() :]}"


def _shifted_day(match: re.Match[str], known: str, days: int) -> str:
    if match[0] in known:
        return match[0]
    try:
        if match["iso"]:
            return str(date.fromisoformat(match["iso"]) + timedelta(days=days))
        year, month, day = match["y"] or match["y2"], match["m"] or match["m2"], match["d"]
        there = date(int(year), MONTHS.index(month) + 1, int(day or match["d2"]))
        there += timedelta(days=days)
    except (ValueError, OverflowError):
        return match[0]
    month = MONTHS[there.month - 1]
    return f"{there.day} {month} {there.year}" if day else f"{month} {there.day}, {there.year}"
