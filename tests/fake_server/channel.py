"""HTTP/1.1 on one connection, and replies over it: whole, broken off, or a drawn error."""

import asyncio
import hashlib
from collections import Counter
from contextlib import suppress
from random import Random

from agent_env.features.agents.apis import exchange, generate_content
from agent_env.features.agents.apis.exchange import EVENTS, JSON, HttpRequest, Refusal, as_json

GONE = (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class Channel:
    """One connection of one client."""

    def __init__(self, reader, writer):
        self._reader, self._writer = reader, writer

    async def requests(self):
        """The requests in order, until the client leaves; each must be answered before the next."""
        with suppress(*GONE):
            while not self._writer.is_closing():
                head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                method, target, _ = first.split(" ")
                pairs = (line.partition(":") for line in lines)
                headers = {name.lower(): value.strip() for name, _, value in pairs}
                body = await self._reader.readexactly(int(headers.get("content-length", 0)))
                yield HttpRequest(method, target.partition("?")[0], body, headers)
                if headers.get("connection") == "close":
                    return

    async def reply(self, status, body, kind=JSON, headers=()):
        """Sends a reply of known length."""
        await self._send(_head(status, kind, ("content-length", len(body)), *headers) + body)

    async def stream(self, events, delay_s=0.0):
        """Sends a reply in pieces."""
        more = ("cache-control", "no-cache"), ("transfer-encoding", "chunked")
        await self._send(_head(200, EVENTS, *more))
        for event in events:
            if delay_s:
                await asyncio.sleep(delay_s)
            await self._send(b"%x\r\n%s\r\n" % (len(event), event))
        await self._send(b"0\r\n\r\n")

    async def cut(self, events, kind):
        """Sends the first half of a reply, and closes the connection."""
        body = b"".join(events)
        await self._send(_head(200, kind, ("content-length", len(body))) + body[: len(body) // 2])
        self.close()

    async def wait_for_close(self):
        """Waits until the client closes the connection."""
        while await self._reader.read(65536):
            pass

    def close(self):
        self._writer.close()

    async def _send(self, data):
        self._writer.write(data)
        await self._writer.drain()


def _head(status, kind, *headers):
    lines = (f"{name}: {value}" for name, value in (("content-type", kind), *headers))
    return "\r\n".join([f"HTTP/1.1 {status} ", *lines, "", ""]).encode()


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


NO_REPLY = {"choices": [], "output": [], "status": "completed"}
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
INJECTED = "drawn by the fake server"
RETRY_AFTER = "1"
"""Seconds that a 429 asks for."""
VLLM = {400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError"}


async def send(channel, pieces, kind, is_cut, delay_s):
    """Sends a reply, or a part of it."""
    if is_cut:
        await channel.cut(pieces, kind)
    elif kind == EVENTS:
        await channel.stream(pieces, delay_s)
    else:
        await channel.reply(200, pieces[0])


async def send_fault(channel, fault, api):
    """Sends a fault instead of a reply, an error in the API's style."""
    bodies = {"empty": b"", "no-reply": as_json(NO_REPLY)}
    match fault:
        case "hang":
            await channel.wait_for_close()
        case "html":
            await channel.reply(200, PAGE, "text/html")
        case "empty" | "no-reply":
            await channel.reply(200, bodies[fault])
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
