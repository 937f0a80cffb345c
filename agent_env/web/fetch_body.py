"""A response's body, read and unpacked under caps.

Guaranteed: neither more than the cap is read from the wire nor more than the cap unpacked, at any
moment; a body that grows beyond a ratio is dropped as a bomb; a body that is cut off or is not
packed as announced is an error and never a shorter page. How long a server may take is not
judged here.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from agent_env.errors import ToolError

ENCODINGS = "gzip, deflate"
"""What we ask for and can unpack piece by piece."""
_PIECE = 64 * 1024
_MOST_MEMBERS = 100
_MANY_PIECES = 20_000
_TINY_BYTES = 64
"""A chunk of one byte costs as much work as a large one."""
_GZIP_FIRST = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """What one fetch may use."""

    max_bytes: int = 8_000_000
    """Of a body, packed or unpacked."""
    max_ratio: float = 200.0
    """Unpacked to packed size, beyond the first megabyte."""
    redirects: int = 8
    time_s: float = 30.0
    """For the whole fetch with its redirects and robots.txt; waiting for a turn not counted."""
    connect_s: float = 6.0
    """For the connection to one address."""
    per_host: int = 2
    """Requests to one host at the same time."""
    turn_s: float = 120.0
    """Longest wait for a turn."""


async def read_body(response: httpx.Response, limits: FetchLimits) -> bytes:
    """The unpacked body; ToolError where it is too large, broken or packed in an unknown way."""
    claimed = response.headers.get("content-length", "")
    if claimed.isdecimal() and int(claimed[:20]) > limits.max_bytes:
        raise _too_large(limits)
    unpack = _unpacker(response.headers.get("content-encoding", ""))
    body = bytearray()
    wire = 0
    pieces = 0
    async for chunk in response.aiter_raw():
        pieces += 1
        wire += len(chunk)
        for piece in unpack.feed(chunk):
            body += piece
            _check(wire, len(body), limits)
        _check(wire, len(body), limits)
        if pieces > _MANY_PIECES and wire < pieces * _TINY_BYTES:
            raise ToolError("the page is sent in tiny pieces without end; it is not read")
    unpack.finish()
    return bytes(body)


def _check(wire: int, size: int, limits: FetchLimits) -> None:
    if size > max(1_000_000, wire * limits.max_ratio):
        raise ToolError("the page unpacks to far more than was sent; it is not read")
    if max(wire, size) > limits.max_bytes:
        raise _too_large(limits)


def _too_large(limits: FetchLimits) -> ToolError:
    return ToolError(f"the page is larger than {limits.max_bytes / 1e6:g} MB and is not read")


class _Plain:
    """A body that is not packed."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        yield chunk

    def finish(self) -> None:
        pass


class _Inflated:
    """A body packed by gzip (in one or several members) or deflate."""

    def __init__(self, wbits: int | None) -> None:
        self._wbits = wbits
        """None where the first byte must tell a zlib stream from a bare one."""
        self._stream: zlib._Decompress | None = None
        self._members = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._stream is None and not self._begin(chunk):
                return
            assert self._stream is not None
            try:
                piece = self._stream.decompress(chunk, _PIECE)
            except zlib.error as exc:
                raise ToolError("the page is broken: it is not packed as announced") from exc
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk, self._stream = self._stream.unused_data, None

    def finish(self) -> None:
        if self._stream is not None:
            raise ToolError("the page is broken: its packed body ends too early")

    def _begin(self, chunk: bytes) -> bool:
        """Start a member; what follows the last one and is none is left unread, as browsers do."""
        if self._members and (self._wbits is None or chunk[:1] != _GZIP_FIRST[:1]):
            return False
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise ToolError("the page is packed in too many pieces; it is not read")
        wbits = self._wbits
        if wbits is None:
            wbits = zlib.MAX_WBITS if chunk[0] & 0x0F == 8 else -zlib.MAX_WBITS
        self._stream = zlib.decompressobj(wbits)
        return True


def _unpacker(encoding: str) -> _Plain | _Inflated:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip":
            return _Inflated(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Inflated(None)
    raise ToolError(f"the page is packed as '{encoding[:40]}', which cannot be read")
