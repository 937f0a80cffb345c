"""HTTP/1.1 on one connection, and replies over it: whole, broken off, or a drawn error."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from random import Random

import h11

from agent_env.features.agents.apis import exchange, generate_content
from agent_env.features.agents.apis.exchange import EVENTS, JSON, HttpRequest, Refusal, as_json

MAX_BODY = 64 * 1024 * 1024  # bytes of a request


class Channel:
    """One connection of one client."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)

    async def requests(self):
        """The requests in order; each must be answered before the next."""
        try:
            while (request := await self._request()) is not None:
                yield request
                if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                    return
                self._http.start_next_cycle()
        except (h11.ProtocolError, ConnectionError):
            return  # the client is gone or speaks no HTTP

    async def reply(self, status, body, kind=JSON, headers=()):
        """Sends a reply of known length."""
        head = _head(status, kind, [("content-length", str(len(body))), *headers])
        await self._send(head, h11.Data(data=body), h11.EndOfMessage())

    async def stream(self, events, delay_s=0.0):
        """Sends a reply in pieces."""
        await self._send(_head(200, EVENTS, [("cache-control", "no-cache")]))
        for event in events:
            if delay_s:
                await asyncio.sleep(delay_s)
            await self._send(h11.Data(data=event))
        await self._send(h11.EndOfMessage())

    async def cut(self, events, kind):
        """Sends the first half of a reply; the connection is closed when the caller returns."""
        body = b"".join(events)
        head = _head(200, kind, [("content-length", str(len(body)))])
        await self._send(head, h11.Data(data=body[: len(body) // 2]))

    async def wait_for_close(self):
        """Waits until the client closes the connection."""
        while await self._reader.read(65536):
            pass

    def close(self):
        """Closes the connection."""
        self._writer.close()

    async def _request(self):
        head = None
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

    async def _event(self):
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(65536))
        return event

    async def _send(self, *events):
        """Sends in one piece, which wakes either side once."""
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        await self._writer.drain()


def _request(head, body):
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return HttpRequest(
        head.method.decode("latin-1"),
        head.target.decode("latin-1").partition("?")[0],
        body,
        headers,
    )


def _head(status, kind, headers):
    return h11.Response(status_code=status, headers=[("content-type", kind), *headers])


class Faults:
    """Draws a fault, or none, for each request: an HTTP status from 400 to 599, of which 429 comes
    with Retry-After, or one of

    - cut: the connection ends in the middle of the body
    - html, empty, no-reply, error-body: a 200 with a web page, nothing, no choice, an error
    - hang: the request is accepted and never answered

    The draw depends on the seed, the request and how often it was repeated, not on the order of
    concurrent requests: the same run meets the same faults.
    """

    def __init__(self, errors, seed):
        self._errors = dict(errors)
        self._seed = seed
        self._repeats = Counter()

    def draw(self, request):
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


PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
INJECTED = "drawn by the fake server"
RETRY_AFTER = "1"
"""Seconds that a 429 asks for."""
VLLM = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


async def send_body(channel, value, is_cut):
    """Sends a reply in one piece, or a part of it."""
    body = as_json(value)
    if is_cut:
        await channel.cut([body], JSON)
    else:
        await channel.reply(200, body)


async def send_events(channel, events, is_cut, delay_s):
    """Streams a reply, or a part of it."""
    pieces = list(events)  # all of them, so that the reply can still be refused
    if is_cut:
        await channel.cut(pieces, EVENTS)
    else:
        await channel.stream(pieces, delay_s)


async def send_fault(channel, fault, api):
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
            await channel.reply(200, as_json(api.error(Refusal(503, INJECTED))))
        case _:
            headers = [("retry-after", RETRY_AFTER)] if fault == "429" else []
            body = as_json(api.error(Refusal(int(fault), INJECTED)))
            await channel.reply(int(fault), body, headers=headers)


def openai_error(style, refusal):
    """The JSON of the refusal's body, as the server writes it that has OpenAI's APIs."""
    text, status, extra = str(refusal), refusal.status, getattr(refusal, "extra", {})
    if "detail" in extra:
        detail = {"detail": extra["detail"]}
        return {"object": "error", "message": detail} if style == "mistral" else detail
    if style == "mistral":
        fields = {"message": text, "type": "invalid_request_error", "code": refusal.code}
        return {"object": "error", "param": None} | fields
    if style == "gemini":
        return [generate_content.GeminiApi().error(refusal)]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if style == "llama.cpp":
        return {"error": {"code": status, "message": text, "type": kind} | extra}
    if style == "vllm":
        kind = VLLM.get(status, "InternalServerError")
        return {"error": {"message": text, "type": kind, "param": refusal.field, "code": status}}
    return exchange.openai_error(refusal)
