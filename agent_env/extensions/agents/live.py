"""A reply that is passed on while it comes, in the events of the API that was asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agent_env.extensions.agents.apis.exchange import (
    Answer,
    ApiCodec,
    ModelRequest,
    Tokens,
    slices,
)

MARK = "TEXT-GOES-HERE"
"""Stands for a piece of the text in an event that is made beforehand; short enough for one."""


class LiveReply:
    """The events of one reply: text as it comes, calls and the end when it is whole."""

    def __init__(self, api: ApiCodec, request: ModelRequest, number: int) -> None:
        self._api, self._request, self._number = api, request, number
        empty = Answer(text=MARK, usage=Tokens(0, 0))
        events = [bytes(event) for event in api.stream(request, empty, number)]
        at = next(n for n, event in enumerate(events) if MARK.encode() in event)
        self._opening, self._delta = events[:at], events[at]
        self.sent = ""
        """The text that is on its way."""
        self._again: str | None = None
        """What a second attempt at the reply has said so far; None in the first."""
        self.is_broken = False
        """Whether a second attempt says something else than what was sent."""

    def add(self, piece: str | None) -> Iterator[bytes]:
        """The events for a piece of text; for None, the reply begins anew."""
        if piece is None:
            self._again = "" if self.sent else None
            return
        if self._again is not None:
            self._again += piece
            longer, shorter = sorted((self._again, self.sent), key=len, reverse=True)
            self.is_broken |= not longer.startswith(shorter)
            piece = self._again[len(self.sent) :]
        if piece and not self.is_broken:
            yield from () if self.sent else self._opening
            yield self._event(piece)
            self.sent += piece

    def rest(self, answer: Answer) -> Iterator[bytes]:
        """The events behind those that were sent."""
        events = list(self._api.stream(self._request, answer, self._number))
        if not self.sent:
            yield from events
            return
        if not answer.text.startswith(self.sent):  # a thought, or a call in text, was taken out
            yield from events[len(self._opening) + len(slices(answer.text)) :]
            return
        if more := answer.text[len(self.sent) :]:
            yield self._event(more)
        yield from events[len(self._opening) + len(slices(answer.text)) :]

    def _event(self, piece: str) -> bytes:
        return self._delta.replace(MARK.encode(), json.dumps(piece)[1:-1].encode())
