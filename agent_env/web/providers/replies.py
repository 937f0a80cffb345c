"""What a service's reply amounts to: JSON, a passing failure, or an error with advice.

The rule: ToolError where the same search may succeed later or another one now, for the model can
mend that; SearchError where only the user can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from agent_env.errors import SearchError, ToolError
from agent_env.records.waits import retry_after_s
from agent_env.web.providers.api import Json
from agent_env.web.providers.cleaning import plain, shortened

PASSING = frozenset({408, 425, 429})
"""And all from 500 on."""
PAYMENT = frozenset({402, 432, 433})
"""The last two are Tavily's."""
_KEY = re.compile(r"subscription.?token|api.?key|unauthori[sz]ed|authenticat", re.I)
_SPENT = re.compile(r"credits?\b|quota|billing|usage limit", re.I)
_BUSY = re.compile(r"maxlag|ratelimited|readonly|internal_api_error")
_MESSAGES = ("message", "detail", "info", "error", "code")


@dataclass(frozen=True, slots=True)
class Passing:
    """A failure that may be over later."""

    reason: str
    wait_s: float | None = None
    """What the service asks for."""
    unreachable: bool = False
    """Nobody was there: if it lasts, it is the user's to mend."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the replies of one service."""

    name: str
    key: str
    denied: str
    """What to do about a refused key or client."""

    def read(self, reply: Reply) -> Json | Passing:
        """The JSON object of a good reply; ToolError or SearchError for a lasting failure."""
        value = _parse_json(reply.body)
        if 200 <= reply.status < 300:
            return self._good(value, reply)
        message = self._said(value)
        if reply.status in PASSING or reply.status >= 500:
            if reply.status == 429 and _SPENT.search(message):
                raise self._spent(reply.status, message)
            return Passing(f"answered HTTP {reply.status}", asked_wait_s(reply.headers))
        raise self._refusal(reply.status, message)

    def unknown(self, what: str) -> SearchError:
        """The error for a reply that is not this service's."""
        return SearchError(f"{self.name} sent {what}; check that the base URL is right")

    def _good(self, value: JsonValue, reply: Reply) -> Json | Passing:
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if isinstance(value, dict):
            return self._unless_error(value, reply)
        if value is None and ("json" in kind or not reply.body.strip()):
            return Passing("sent broken JSON" if reply.body.strip() else "sent an empty reply")
        excerpt = shortened(plain(kind, self.key.lower()), 60)
        what = "JSON that is no object" if value is not None else excerpt
        raise self.unknown(f"{what or 'something'} instead of search results")

    def _unless_error(self, value: Json, reply: Reply) -> Json | Passing:
        error = value.get("error")
        if not error:
            return value
        code = plain(error.get("code"), self.key) if isinstance(error, dict) else ""
        if _BUSY.search(code):
            return Passing(f"is busy ({code[:60]})", asked_wait_s(reply.headers))
        message = self._said(value) or "no reason given"
        raise ToolError(f"{self.name} refused this query: {message}; try other words")

    def _refusal(self, status: int, message: str) -> ToolError | SearchError:
        status_text = f"HTTP {status}" + (f": {message}" if message else "")
        if status in PAYMENT or (status in (400, 403) and _SPENT.search(message)):
            return self._spent(status, message)
        if status in (401, 403) or (status in (400, 422) and _KEY.search(message)):
            return SearchError(f"{self.name} refused access ({status_text}); {self.denied}")
        if status in (400, 413, 414, 422):
            return ToolError(
                f"{self.name} refused this query ({status_text}); try other or fewer words"
            )
        return SearchError(f"{self.name} answered {status_text}; check that the base URL is right")

    def _spent(self, status: int, message: str) -> SearchError:
        status_text = f"HTTP {status}" + (f": {message}" if message else "")
        return SearchError(
            f"{self.name} has no searches left on this account ({status_text}); add some"
        )

    def _said(self, value: JsonValue) -> str:
        return shortened(plain(_message(value), self.key), 200)


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds by Retry-After, as a number or a time; else until a spent X-RateLimit starts anew."""
    if (wait_s := retry_after_s(headers)) is not None:
        return wait_s
    remaining = headers.get("x-ratelimit-remaining", "").split(",")
    starts = headers.get("x-ratelimit-reset", "").split(",")
    pairs = [(a.strip(), b.strip()) for a, b in zip(remaining, starts, strict=False)]
    spent = [float(b) for a, b in pairs if a == "0" and re.fullmatch("[0-9]{1,9}", b)]
    return max(spent, default=None)


def _parse_json(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value


def _message(value: JsonValue, depth: int = 4) -> JsonValue:
    """The sentence in an error object, however its service wraps it."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return value if isinstance(value, str) else None
    inner = (_message(value[name], depth - 1) for name in _MESSAGES if depth and value.get(name))
    return next((text for text in inner if text), None)
