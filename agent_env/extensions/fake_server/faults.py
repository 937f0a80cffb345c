"""Which requests fail, randomly drawn; sends replies, complete or broken, and errors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from agent_env.extensions.fake_server.channel import EVENTS, JSON, Channel
from agent_env.extensions.fake_server.conversation import Refusal
from agent_env.extensions.fake_server.modes import ErrorStyle
from agent_env.sdk.errors import ConfigError

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
GOOGLE = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 503: "UNAVAILABLE"}
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


async def send_fault(channel: Channel, fault: str) -> None:
    """Sends a fault instead of a reply."""
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
            await channel.reply(200, as_json(error_body("openai", Refusal(503, INJECTED))))
        case _:
            headers = [("retry-after", "1")] if fault == "429" else []
            body = as_json(error_body("openai", Refusal(int(fault), INJECTED)))
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
    if style == "gemini":
        word = GOOGLE.get(status, "INTERNAL")
        return [{"error": {"code": status, "message": text, "status": word}}]
    kind = "server_error" if status >= 500 else "invalid_request_error"
    if style == "llama.cpp":
        return {"error": {"code": status, "message": text, "type": kind} | refusal.extra}
    if style == "vllm":
        kind = VLLM.get(status, "InternalServerError")
        return {"error": {"message": text, "type": kind, "param": refusal.field, "code": status}}
    code = refusal.code or status
    error = {"message": text, "type": kind, "param": refusal.field, "code": code}
    return {"error": error | refusal.extra}
