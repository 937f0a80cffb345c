"""HTTP/1.1 on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

import h11  # comes with httpx; parses, and leaves the socket to us

MAX_BODY = 64 * 1024 * 1024  # bytes of a request
JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One HTTP request."""

    method: str
    path: str
    """Without the query."""
    body: bytes
    authorization: str | None = None


class Channel:
    """One connection of one client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)

    async def requests(self) -> AsyncIterator[HttpRequest]:
        """The requests in order; each must be answered before the next."""
        try:
            while (request := await self._request()) is not None:
                yield request
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except (h11.ProtocolError, ConnectionError):
            return  # the client is gone or speaks no HTTP

    async def reply(
        self, status: int, body: bytes, kind: str = JSON, headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Sends a reply of known length."""
        head = _head(status, kind, [("content-length", str(len(body))), *headers])
        await self._send(head, h11.Data(data=body), h11.EndOfMessage())

    async def stream(self, events: Iterable[bytes], delay_s: float = 0.0) -> None:
        """Sends a reply in pieces."""
        await self._send(_head(200, EVENTS, [("cache-control", "no-cache")]))
        for event in events:
            if delay_s:
                await asyncio.sleep(delay_s)
            await self._send(h11.Data(data=event))
        await self._send(h11.EndOfMessage())

    async def cut(self, events: list[bytes], kind: str) -> None:
        """Sends the first half of a reply; the connection is closed when the caller returns."""
        body = b"".join(events)
        head = _head(200, kind, [("content-length", str(len(body)))])
        await self._send(head, h11.Data(data=body[: len(body) // 2]))

    async def wait_for_close(self) -> None:
        """Waits until the client closes the connection."""
        while await self._reader.read(65536):
            pass

    def close(self) -> None:
        """Closes the connection."""
        self._writer.close()

    async def _request(self) -> HttpRequest | None:
        head: h11.Request | None = None
        body = bytearray()
        while True:
            event = await self._event()
            match event:
                case h11.Request():
                    head = event
                case h11.Data():
                    body += event.data
                    if len(body) > MAX_BODY:
                        return None
                case h11.EndOfMessage() if head is not None:
                    return _request(head, bytes(body))
                case _:
                    return None

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(65536))
        return event

    async def _send(self, *events: h11.Event) -> None:
        """Sends in one piece, which wakes either side once."""
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        await self._writer.drain()


def _request(head: h11.Request, body: bytes) -> HttpRequest:
    key = dict(head.headers).get(b"authorization")
    return HttpRequest(
        head.method.decode("latin-1"),
        head.target.decode("latin-1").partition("?")[0],
        body,
        None if key is None else key.decode("latin-1"),
    )


def _head(status: int, kind: str, headers: list[tuple[str, str]]) -> h11.Response:
    return h11.Response(status_code=status, headers=[("content-type", kind), *headers])
