"""Reading a stream, how long its server may say nothing, and what it had said before it broke off.

Between two bytes of a stream: `idle_s`; comments that keep a connection alive are bytes too. Before
the first byte nobody can say beforehand: a long prompt, or a queue, takes a slow server minutes. So
until it has answered, all of `reply_s`; from then on four times its slowest first byte, more for a
longer prompt. A reply in one piece is bounded below `reply_s` only where its length is bounded:
twice what that many tokens take at the slowest pace seen.

A loop at its end is one unit over and over, letter by letter: at least TIMES times, and over RUN
characters where the unit says something (WORDS different words), over BARE_RUN where it does not:
rulers, zeros, digits, names of days. What counts up is none, for it differs. Not covered: loops
whose rounds differ by a number.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from httpx2 import AsyncByteStream

from agent_env.models.chat import Json, encoded, record, records, text, written

if TYPE_CHECKING:
    from openai import AsyncOpenAI

IDLE_S = 60.0
PATIENCE = 4.0
PLACES: dict[str, Place] = {
    "reasoning_content": "reasoning",
    "reasoning": "reasoning",
    "content": "content",
}
BLOCKS: dict[str, Place] = {"thinking": "reasoning", "text": "content"}
MAX_PARTIAL = 8_000
"""Letters of a broken stream that are kept, the last ones."""


LISTENER: ContextVar[Callable[[str | None], None] | None] = ContextVar("LISTENER", default=None)
"""Hears each piece of a reply's text as it comes, and None where a reply begins, also anew."""


@dataclass(slots=True)
class Pace:
    """The observed speed of one server, and the timeouts that follow."""

    idle_s: float = IDLE_S
    reply_s: float = 600.0
    slowest_first_s: float | None = None
    longest: int = 1
    """Letters of the longest request that was answered by a stream."""
    slowest_token_s: float | None = None

    def first_byte_s(self, letters: int) -> float:
        """How long a stream may take to begin, for a request of this length."""
        if self.slowest_first_s is None:
            return self.reply_s
        longer = max(1.0, letters / self.longest)
        return min(self.reply_s, max(self.idle_s, PATIENCE * self.slowest_first_s * longer))

    def whole_s(self, most_tokens: int | None) -> float:
        """How long a reply in one piece may take, of so many tokens at most."""
        if most_tokens is None or self.slowest_token_s is None:
            return self.reply_s
        return min(self.reply_s, self.idle_s + 2.0 * most_tokens * self.slowest_token_s)

    def add_first_byte(self, letters: int, seconds: float) -> None:
        """A stream's first byte came."""
        self.slowest_first_s = max(self.slowest_first_s or 0.0, seconds)
        self.longest = max(self.longest, letters)

    def add_reply(self, tokens: int | None, seconds: float) -> None:
        """A reply in one piece came."""
        if tokens:
            self.slowest_token_s = max(self.slowest_token_s or 0.0, seconds / tokens)


@dataclass(frozen=True, slots=True)
class NoStream:
    """A server sent something else instead."""

    kind: str
    text: str


async def read_stream(
    client: AsyncOpenAI,
    path: str,
    body: Json,
    pace: Pace,
    events: list[Json],
    watch: LoopWatch | None = None,
) -> NoStream | None:
    """Put the events of the reply into `events` as they come; TimeoutError, with what was missed,
    where the server says nothing for too long. Closes the stream where `watch` sees it loop."""
    from openai import AsyncStream

    listener = LISTENER.get()
    if listener is not None:
        listener(None)
    content, start = encoded(body), time.monotonic()
    first_s = pace.first_byte_s(len(content))
    try:
        async with asyncio.timeout(first_s) as timer:
            stream = await client.post(
                path,
                content=content,
                cast_to=object,
                stream=True,
                stream_cls=AsyncStream[object],
            )
            response = stream.response
            kind = response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:
                return NoStream(kind, (await response.aread()).decode(errors="replace"))
            assert isinstance(response.stream, AsyncByteStream)
            response.stream = Watched(response.stream, timer, pace.idle_s)
            async for event in stream:
                if not events:
                    pace.add_first_byte(len(content), time.monotonic() - start)
                if isinstance(event, dict):
                    events.append(event)
                    if listener is not None:
                        for place, piece in text_pieces(event):
                            if place == "content":
                                listener(piece)
                    if watch is not None and watch.add(text_pieces(event)):
                        await stream.close()
                        return None
    except TimeoutError:
        if not timer.expired():
            raise
        waited = f"stopped for {pace.idle_s:g} s" if events else f"sent nothing for {first_s:.3g} s"
        raise TimeoutError(f"{waited}; raise --idle-s or --reply-timeout-s, or try again") from None
    return None


class Watched(AsyncByteStream):
    """A body whose every piece puts the end of the timer off."""

    def __init__(self, inner: AsyncByteStream, timer: asyncio.Timeout, idle_s: float) -> None:
        self._inner, self._timer, self._idle_s = inner, timer, idle_s
        self._loop = asyncio.get_running_loop()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._put_off()
        async for piece in self._inner:
            self._put_off()
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _put_off(self) -> None:
        if not self._timer.expired():
            self._timer.reschedule(self._loop.time() + self._idle_s)


def text_pieces(event: Json) -> Iterable[tuple[Place, str]]:
    """What an event of any API adds to the text and to the reasoning, by place."""
    kind, delta = event.get("type"), event.get("delta")
    if isinstance(kind, str) and isinstance(delta, str):
        if kind == "response.output_text.delta":
            yield "content", delta
        elif "reasoning" in kind:
            yield "reasoning", delta
    if isinstance(delta, dict):  # Messages
        for name, place in BLOCKS.items():
            if isinstance(piece := delta.get(name), str):
                yield place, piece
    choices = event.get("choices")
    for choice in choices[:1] if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            for name, place in PLACES.items():
                if isinstance(piece := delta.get(name), str):
                    yield place, piece
    for part in _gemini_parts(event):
        yield "reasoning" if part.get("thought") is True else "content", text(part, "text")


def _gemini_parts(event: Json) -> Iterable[Json]:
    for candidate in records(event, "candidates")[:1]:
        yield from records(record(candidate, "content"), "parts")


def partial_text(events: Iterable[Json]) -> str | None:
    """The end of what the events of any API text: thoughts, text and arguments; None where they
    text nothing."""
    whole = "".join(piece for event in events for piece in _pieces(event))
    return whole[-MAX_PARTIAL:] or None


def _pieces(event: Json) -> Iterable[str]:
    delta = event.get("delta")
    if isinstance(delta, str):  # Responses
        yield delta
    elif isinstance(delta, dict):  # Messages
        names = (*BLOCKS, "partial_json")
        yield from (piece for name in names if isinstance(piece := delta.get(name), str))
    choices = event.get("choices")
    for choice in choices[:1] if isinstance(choices, list) else ():
        delta = choice.get("delta") if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            yield from _texts(delta)
    for part in _gemini_parts(event):
        call = record(part, "functionCall")
        yield text(part, "text") or text(call, "name") + written(call.get("args"))


def _texts(delta: Json) -> Iterable[str]:
    for name in PLACES:
        if isinstance(piece := delta.get(name), str):
            yield piece
    calls = delta.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            parts = (function.get("name"), function.get("arguments"))
            yield from (piece for piece in parts if isinstance(piece, str))


RUN = 600
BARE_RUN = 3_000
TIMES = 4
WORDS = 2
WINDOW = 8_000
"""Characters at the end that are read."""
EVERY = 100
"""Characters between two looks at a stream."""
_ANCHOR = 40
_TRIES = 12
_WORD = re.compile(r"[^\W\d_]{3,}")
_NAMES = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun january "
    "february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec none null true false nan".split()
)
Place = Literal["content", "reasoning"]


@dataclass(frozen=True, slots=True)
class Loop:
    """What a text ends with."""

    unit: str
    times: int
    """Whole rounds, as far as the window reaches."""


def loop_at_end(text: str) -> Loop | None:
    """The loop in which the text ends; None for none."""
    tail = text[-WINDOW:]
    if len(tail) < RUN:
        return None
    anchor, end = tail[-_ANCHOR:], len(tail) - 1
    for _ in range(_TRIES):
        at = tail.rfind(anchor, 0, end)
        if at < 0:
            return None
        period = len(tail) - _ANCHOR - at
        unit = tail[-period:]
        words = {word.lower() for word in _WORD.findall(unit)}
        run = max(TIMES * period, RUN if len(words - _NAMES) >= WORDS else BARE_RUN)
        if max(TIMES * period, RUN) > len(tail):
            return None
        if run <= len(tail) and tail[-run:-period] == tail[period - run :]:
            times = 1
            while tail[-(times + 1) * period : -times * period] == unit:
                times += 1
            return Loop(unit, times)
        end = at + _ANCHOR - 1
    return None


@dataclass(slots=True)
class LoopWatch:
    """Reads a stream along; is on the first loop, in the text or in the reasoning."""

    texts: dict[str, str] = field(default_factory=dict)
    loop: Loop | None = None
    place: Place = "content"
    """Where the loop is."""
    _seen: dict[str, int] = field(default_factory=dict)

    def add(self, pieces: Iterable[tuple[Place, str]]) -> bool:
        """Whether the stream loops, after these pieces by place."""
        for place, piece in pieces:
            text = self.texts[place] = (self.texts.get(place, "") + piece)[-2 * WINDOW :]
            count = self._seen[place] = self._seen.get(place, 0) + len(piece)
            if count < EVERY:
                continue
            self._seen[place] = 0
            self.look((place, text))
        return self.loop is not None

    def look(self, *texts: tuple[Place, str]) -> None:
        """Looks at whole texts."""
        for place, letters in texts:
            if self.loop is None and (loop := loop_at_end(letters)) is not None:
                self.loop, self.place = loop, place
