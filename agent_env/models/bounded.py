"""Bounds on what a server's answer may take, however it is packed.

Guaranteed: no more than so many bytes of one answer are read, and a packed one is unpacked piece by
piece, so that a small one does not become gigabytes at once.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from httpx2 import AsyncByteStream, Request, Response, StreamError

MOST = 64 << 20
"""Bytes; a stream of 100,000 tokens has about 40 MB."""
MOST_VALUES = 2_000_000
"""Lists and objects; the events of as many tokens have a million."""
PIECE = 1 << 16
PACKED = ("gzip", "x-gzip", "deflate")


async def ask_plainly(request: Request) -> None:
    """Of the ways to pack an answer, ask for the one that is unpacked here."""
    request.headers["accept-encoding"] = "gzip"


def bounding(
    most: int, most_values: int, each_event: bool
) -> Callable[[Response], Awaitable[None]]:
    """A hook for responses of httpx2: StreamError ends an answer of more than `most` bytes, or of
    more lists and objects; where `each_event`, of events each counts alone."""

    async def bound(response: Response) -> None:
        is_alone = each_event and "event-stream" in response.headers.get("content-type", "")
        packing = response.headers.pop("content-encoding", "identity").strip().lower()
        assert isinstance(response.stream, AsyncByteStream)  # of an async client
        response.stream = _Bounded(response.stream, most, most_values, is_alone, packing)

    return bound


def hooks(
    most: int = MOST, most_values: int = MOST_VALUES, *, each_event: bool = False
) -> dict[str, list[Callable[..., Any]]]:
    """For a client of httpx2."""
    return {"request": [ask_plainly], "response": [bounding(most, most_values, each_event)]}


def values_in(text: bytes) -> int:
    """About how many lists and objects its JSON has: each takes many times its bytes."""
    return text.count(b"{") + text.count(b"[")


def too_large(most: int, most_values: int) -> str:
    """What is said of an answer."""
    return (
        f"the answer has more than {most >> 20} MB, or {most_values:,} lists and objects, which is "
        "all that is read"
    )


@dataclass(slots=True)
class _Bounded(AsyncByteStream):
    inner: AsyncByteStream
    most: int
    most_values: int
    is_each_alone: bool
    packing: str

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, values = 0, 0
        unpack = zlib.decompressobj(47) if self.packing in PACKED else None
        if unpack is None and self.packing != "identity":
            raise StreamError(f"the answer is packed as {self.packing}, and nobody asked for that")
        async for packed in self.inner:
            for piece in _pieces(unpack, packed):
                size, values = size + len(piece), values + values_in(piece)
                if size > self.most or values > self.most_values:
                    raise StreamError(too_large(self.most, self.most_values))
                if self.is_each_alone and (b"\n\n" in piece or b"\r\n\r\n" in piece):
                    size, values = 0, 0
                yield piece

    async def aclose(self) -> None:
        await self.inner.aclose()


def _pieces(unpack: Any, packed: bytes) -> Any:
    if unpack is None:
        yield packed
        return
    try:
        while packed:
            yield unpack.decompress(packed, PIECE)
            packed = unpack.unconsumed_tail
    except zlib.error as exc:
        raise StreamError(f"the answer is not packed as it says: {exc}") from exc
