"""HTTP/1.1 on one connection, and replies over it: whole, broken off, or a drawn error."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import h11  # comes with httpx; parses, and leaves the socket to us

from agent_env.extensions.fake_server.conversation import Refusal
from agent_env.extensions.fake_server.modes import ErrorStyle
from agent_env.sdk.errors import ConfigError

KEY_HEADERS = ("x-api-key", "x-goog-api-key")
"""Beside Authorization: Anthropic's and Google's."""
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
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in small letters."""

    @property
    def keys(self) -> frozenset[str]:
        """The API key, by each of the headers in which an API wants it."""
        bearer = self.headers.get("authorization", "").removeprefix("Bearer ")
        return frozenset([bearer, *(self.headers.get(name, "") for name in KEY_HEADERS)])


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
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return HttpRequest(
        head.method.decode("latin-1"),
        head.target.decode("latin-1").partition("?")[0],
        body,
        headers,
    )


def _head(status: int, kind: str, headers: list[tuple[str, str]]) -> h11.Response:
    return h11.Response(status_code=status, headers=[("content-type", kind), *headers])


KINDS = {
    "cut": "the connection ends in the middle of the body",
    "html": "a 200 with a web page",
    "empty": "a 200 without a body",
    "no-reply": "a 200 with neither choice nor output",
    "error-body": "a 200 with an error in it",
    "hang": "the request is accepted and never answered",
    "stall": "half of the body, then silence on an open connection",
    "half": "half of the body, then an orderly end: a stream without its last events",
}
"""Beside these, any HTTP status from 400 to 599; 429 comes with Retry-After."""


def parse_errors(text: str) -> dict[str, float]:
    """The probabilities in a text like `429:0.1,cut:0.02`; raises ConfigError."""
    errors: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        kind, _, chance = part.strip().partition(":")
        try:
            errors[kind] = float(chance)
        except ValueError:
            raise ConfigError(f"{part!r}: write KIND:PROBABILITY, such as 429:0.1") from None
    Faults(errors, seed=0)
    return errors


class Faults:
    """Draws a fault, or none, for each request.

    The draw depends on the seed, the request and how often it was repeated, not on the order of
    concurrent requests: the same run meets the same faults.
    """

    def __init__(self, errors: Mapping[str, float], seed: int) -> None:
        for kind, chance in errors.items():
            if kind not in KINDS and not (kind.isdecimal() and 400 <= int(kind) <= 599):
                kinds = ", ".join(KINDS)
                raise ConfigError(f"no error {kind!r}; there are {kinds} and 400 to 599")
            if not 0 <= chance <= 1:
                raise ConfigError(f"{kind}:{chance}: a probability is between 0 and 1")
        if sum(errors.values()) > 1:
            raise ConfigError("the probabilities of all errors together are more than 1")
        self._errors = dict(errors)
        self._seed = seed
        self._repeats: Counter[str] = Counter()

    def draw(self, request: bytes) -> str | None:
        """The kind of fault for this request; None for none."""
        if not self._errors:
            return None
        digest = hashlib.sha256(request).hexdigest()
        self._repeats[digest] += 1
        rest = Random(f"{self._seed}/{digest}/{self._repeats[digest]}").random()
        for kind, chance in self._errors.items():
            rest -= chance
            if rest < 0:
                return kind
        return None


PARTIAL = ("cut", "stall", "half")
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
INJECTED = "drawn by the fake server"
GOOGLE = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}  # fmt: skip
ANTHROPIC = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
}  # fmt: skip
VLLM = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


async def send_body(channel: Channel, value: object, fault: str | None) -> None:
    """Sends a reply in one piece, or a part of it."""
    body = as_json(value)
    if fault is None:
        await channel.reply(200, body)
    elif fault == "half":
        await channel.reply(200, body[: len(body) // 2])
    else:
        await _send_part(channel, [body], JSON, fault)


async def send_events(
    channel: Channel, events: Iterable[bytes], fault: str | None, delay_s: float
) -> None:
    """Streams a reply, or a part of it."""
    pieces = list(events)  # all of them, so that the reply can still be refused
    if fault is None:
        await channel.stream(pieces, delay_s)
    elif fault == "half":
        await channel.stream(pieces[: len(pieces) // 2], delay_s)
    else:
        await _send_part(channel, pieces, EVENTS, fault)


async def send_fault(channel: Channel, fault: str, style: ErrorStyle) -> None:
    """Sends a fault instead of a reply, an error in the API's style."""
    match fault:
        case "hang":
            await channel.wait_for_close()
        case "html":
            await channel.reply(200, PAGE, "text/html")
        case "empty":
            await channel.reply(200, b"")
        case "no-reply":
            await channel.reply(200, as_json({"choices": [], "output": [], "status": "completed"}))
        case "error-body":
            await channel.reply(200, as_json(error_body(style, Refusal(503, INJECTED))))
        case _:
            headers = [("retry-after", "1")] if fault == "429" else []
            body = as_json(error_body(style, Refusal(int(fault), INJECTED)))
            await channel.reply(int(fault), body, headers=headers)


def as_json(value: Any) -> bytes:
    """The value as JSON bytes."""
    return json.dumps(value).encode()


async def _send_part(channel: Channel, pieces: list[bytes], kind: str, fault: str) -> None:
    await channel.cut(pieces, kind)
    if fault == "stall":
        await channel.wait_for_close()


def error_body(style: ErrorStyle, refusal: Refusal) -> Any:
    """The JSON of the refusal's body, as the provider writes it."""
    text, status = str(refusal), refusal.status
    if "detail" in refusal.extra:
        detail = {"detail": refusal.extra["detail"]}
        return {"object": "error", "message": detail} if style == "mistral" else detail
    if style == "mistral":
        fields = {"message": text, "type": "invalid_request_error", "code": refusal.code}
        return {"object": "error", "param": None} | fields
    if style in ("gemini", "google"):
        word = GOOGLE.get(status, "INTERNAL")
        body = {"error": {"code": status, "message": text, "status": word}}
        return [body] if style == "gemini" else body
    if style == "anthropic":
        kind = ANTHROPIC.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": text} | refusal.extra}
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if style == "llama.cpp":
        return {"error": {"code": status, "message": text, "type": kind} | refusal.extra}
    if style == "vllm":
        kind = VLLM.get(status, "InternalServerError")
        return {"error": {"message": text, "type": kind, "param": refusal.field, "code": status}}
    code = refusal.code or status
    error = {"message": text, "type": kind, "param": refusal.field, "code": code}
    return {"error": error | refusal.extra}
