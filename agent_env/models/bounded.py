"""Bounds on what a server's answer may take, however it is packed.

Guaranteed: no more than so many bytes of one answer are read, and a packed one is unpacked piece by
piece, so that a small one does not become gigabytes at once.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from httpx2 import AsyncByteStream, Request, Response, StreamError

MOST = 64 << 20
"""Bytes; a stream of 100,000 tokens has about 40 MB."""
PIECE = 1 << 16
PACKED = ("gzip", "x-gzip", "deflate")


async def ask_plainly(request: Request) -> None:
    """Of the ways to pack an answer, ask for the one that is unpacked here."""
    request.headers["accept-encoding"] = "gzip"


def bounding(most: int = MOST, *, events_too: bool = True) -> Callable[[Response], Awaitable[None]]:
    """A hook for responses of httpx2: a StreamError ends an answer of more than `most` bytes; one
    in events only if `events_too`."""

    async def bound(response: Response) -> None:
        is_events = "event-stream" in response.headers.get("content-type", "")
        packing = response.headers.pop("content-encoding", "identity").strip().lower()
        assert isinstance(response.stream, AsyncByteStream)  # of an async client
        limit = most if events_too or not is_events else None
        response.stream = _Bounded(response.stream, limit, packing)

    return bound


def hooks(most: int = MOST, *, events_too: bool = True) -> dict[str, list[Callable[..., Any]]]:
    """For a client of httpx2."""
    return {"request": [ask_plainly], "response": [bounding(most, events_too=events_too)]}


class _Bounded(AsyncByteStream):
    def __init__(self, inner: AsyncByteStream, most: int | None, packing: str) -> None:
        self._inner, self._most, self._packing = inner, most, packing

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, unpack = 0, zlib.decompressobj(47) if self._packing in PACKED else None
        if unpack is None and self._packing != "identity":
            raise StreamError(f"the answer is packed as {self._packing}, and nobody asked for that")
        async for packed in self._inner:
            for piece in _pieces(unpack, packed):
                size += len(piece)
                if self._most is not None and size > self._most:
                    most = f"{self._most >> 20} MB"
                    raise StreamError(f"the answer has more than {most}, which is all that is read")
                yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


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
