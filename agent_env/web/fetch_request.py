"""One GET to an address that was checked, and its body, read and unpacked under caps.

Guaranteed: the connection goes to the very addresses given and nowhere else, while Host header,
SNI and the certificate check use the URL's own name; proxies, .netrc, certificates and cookies of
the environment play no part; no connection is used twice, so that none serves another name.
Neither more than the cap is read from the wire nor more than the cap unpacked, at any moment; a
body that grows beyond a ratio is dropped as a bomb; a body that is cut off or is not packed as
announced is an error and never a shorter page.
Redirects are not followed here. Not covered: HTTP/2, client certificates, a server's slowness.
"""

from __future__ import annotations

import ssl
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from agent_env.errors import ToolError
from agent_env.version import __version__
from agent_env.web.addresses import Address, SafeUrl, shortened_url

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
            raise ToolError("the page comes in endless tiny pieces and is not read")
    unpack.finish()
    return bytes(body)


def _check(wire: int, size: int, limits: FetchLimits) -> None:
    if size > max(1_000_000, wire * limits.max_ratio):
        raise ToolError("the page unpacks to far more than was sent and is not read")
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
                raise ToolError("the page is broken: it is not compressed as announced") from exc
            yield piece
            chunk = self._stream.unconsumed_tail
            if self._stream.eof:
                chunk, self._stream = self._stream.unused_data, None

    def finish(self) -> None:
        if self._stream is not None:
            raise ToolError("the page is broken: its compressed text ends too early")

    def _begin(self, chunk: bytes) -> bool:
        """Start a member; what follows the last one and is none is left unread, as browsers do."""
        if self._members and (self._wbits is None or chunk[:1] != _GZIP_FIRST[:1]):
            return False
        self._members += 1
        if self._members > _MOST_MEMBERS:
            raise ToolError("the page is compressed in too many pieces and is not read")
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
    raise ToolError(f"the page is compressed as '{encoding[:40]}', which cannot be read")


PRODUCT = "agent-env"
"""Our name in robots.txt and at the head of the User-Agent."""
_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,application/pdf;q=0.8,*/*;q=0.5"


def user_agent(contact: str = "") -> str:
    """Who asks; `contact` is an e-mail address or URL for the sites' operators."""
    who = f"{PRODUCT}/{__version__}"
    return f"{who} ({contact}) httpx/{httpx.__version__}" if contact else who


@asynccontextmanager
async def opened(
    target: SafeUrl,
    addresses: Sequence[Address],
    *,
    headers: Mapping[str, str],
    tls: ssl.SSLContext,
    limits: FetchLimits,
) -> AsyncIterator[httpx.Response]:
    """The response, its body unread; what goes wrong in the block is told as ToolError."""
    try:
        async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
            response = await _answer(transport, target, addresses, headers, limits)
            try:
                yield response
            finally:
                await response.aclose()
    except httpx.HTTPError as exc:
        raise ToolError(f"{shortened_url(target.host)} {_error_text(exc)}") from exc
    except (OSError, ValueError) as exc:
        raise ToolError(f"{shortened_url(target.host)} broke off the connection") from exc


async def _answer(
    transport: httpx.AsyncHTTPTransport,
    target: SafeUrl,
    addresses: Sequence[Address],
    headers: Mapping[str, str],
    limits: FetchLimits,
) -> httpx.Response:
    """From the first address that takes the connection."""
    for number, address in enumerate(addresses, 1):
        try:
            return await transport.handle_async_request(_request(target, address, headers, limits))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            if number == len(addresses):
                raise
    raise AssertionError("a target has an address")


def _request(
    target: SafeUrl, address: Address, headers: Mapping[str, str], limits: FetchLimits
) -> httpx.Request:
    url = httpx.URL(target.url)
    waits = httpx.Timeout(limits.time_s, connect=limits.connect_s).as_dict()
    is_name = str(address) != target.host
    return httpx.Request(
        "GET",
        url.copy_with(host=str(address)),
        headers={
            "host": url.netloc.decode("ascii"),
            "accept": _ACCEPT,
            "accept-language": "en,*;q=0.5",
            "accept-encoding": ENCODINGS,
            "connection": "close",
            **headers,
        },
        extensions={"timeout": waits, **({"sni_hostname": target.host} if is_name else {})},
    )


def _error_text(error: httpx.HTTPError) -> str:
    """What the server did, for the model."""
    match error:
        case httpx.ConnectTimeout():
            return "did not take the connection in time"
        case httpx.TimeoutException():
            return "did not answer in time"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return "has a certificate that is not valid for it"
        case httpx.ConnectError():
            return "took no connection"
        case httpx.RemoteProtocolError() | httpx.DecodingError():
            return "sent an answer that is not proper HTTP"
    return "broke off the connection"
