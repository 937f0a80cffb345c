"""Sends a reply, whole or broken as a drawn fault says."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agent_env.models.fake_server.channel import EVENTS, JSON, Channel
from agent_env.models.fake_server.error_bodies import error_body
from agent_env.models.fake_server.talk import Refusal

PARTIAL = ("cut", "stall", "half")
PAGE = b"<html><body><h1>502 Bad Gateway</h1></body></html>"
DRAWN = "drawn by the fake server"


async def send_body(channel: Channel, value: object, fault: str | None) -> None:
    """A reply in one piece, or a part of it."""
    body = as_json(value)
    if fault is None:
        await channel.reply(200, body)
    elif fault == "half":
        await channel.reply(200, body[: len(body) // 2])
    else:
        await _broken(channel, [body], JSON, fault)


async def send_events(
    channel: Channel, events: Iterable[bytes], fault: str | None, delay_s: float
) -> None:
    """A streamed reply, or a part of it."""
    pieces = list(events)  # all of them, so that the reply can still be refused
    if fault is None:
        await channel.stream(pieces, delay_s)
    elif fault == "half":
        await channel.stream(pieces[: len(pieces) // 2], delay_s)
    else:
        await _broken(channel, pieces, EVENTS, fault)


async def send_fault(channel: Channel, fault: str) -> None:
    """What comes instead of a reply."""
    match fault:
        case "hang":
            await channel.gone()
        case "html":
            await channel.reply(200, PAGE, "text/html")
        case "empty":
            await channel.reply(200, b"")
        case "no-reply":
            await channel.reply(200, as_json({"choices": [], "output": [], "status": "completed"}))
        case "error-body":
            await channel.reply(200, as_json(error_body("openai", Refusal(503, DRAWN))))
        case _:
            headers = [("retry-after", "1")] if fault == "429" else []
            body = as_json(error_body("openai", Refusal(int(fault), DRAWN)))
            await channel.reply(int(fault), body, headers=headers)


def as_json(value: Any) -> bytes:
    """The value as it goes over the wire."""
    return json.dumps(value).encode()


async def _broken(channel: Channel, pieces: list[bytes], kind: str, fault: str) -> None:
    await channel.cut(pieces, kind)
    if fault == "stall":
        await channel.gone()
