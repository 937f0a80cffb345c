"""Sends a reply, complete or broken by a fault, and writes the bodies of errors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent_env.models.fake_server.channel import EVENTS, JSON, Channel
from agent_env.models.fake_server.conversation import Refusal
from agent_env.models.fake_server.modes import ErrorStyle

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
