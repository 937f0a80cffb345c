"""What a service's reply amounts to: JSON, a passing failure, or an error with advice.

The rule: ToolError where the same search may succeed later or another one now, for the model can
mend that; SearchError where only the user can.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from pydantic import JsonValue

from agent_env.errors import SearchError, ToolError
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
        value = _parsed(reply.body)
        if 200 <= reply.status < 300:
            return self._good(value, reply)
        said = self._said(value)
        if reply.status in PASSING or reply.status >= 500:
            if reply.status == 429 and _SPENT.search(said):
                raise self._spent(reply.status, said)
            return Passing(f"answered HTTP {reply.status}", asked_wait_s(reply.headers))
        raise self._refusal(reply.status, said)

    def unknown(self, what: str) -> SearchError:
        """The error for a reply that is not this service's."""
        return SearchError(f"{self.name} sent {what}; check that the base URL is right")

    def _good(self, value: JsonValue, reply: Reply) -> Json | Passing:
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if isinstance(value, dict):
            return self._unless_error(value, reply)
        if value is None and ("json" in kind or not reply.body.strip()):
            return Passing("sent broken JSON" if reply.body.strip() else "sent an empty reply")
        shown = shortened(plain(kind, self.key.lower()), 60)
        what = "JSON that is no object" if value is not None else shown
        raise self.unknown(f"{what or 'something'} instead of search results")

    def _unless_error(self, value: Json, reply: Reply) -> Json | Passing:
        error = value.get("error")
        if not error:
            return value
        code = plain(error.get("code"), self.key) if isinstance(error, dict) else ""
        if _BUSY.search(code):
            return Passing(f"is busy ({code[:60]})", asked_wait_s(reply.headers))
        said = self._said(value) or "no reason given"
        raise ToolError(f"{self.name} refused this query: {said}; try other words")

    def _refusal(self, status: int, said: str) -> ToolError | SearchError:
        heard = f"HTTP {status}" + (f": {said}" if said else "")
        if status in PAYMENT or (status in (400, 403) and _SPENT.search(said)):
            return self._spent(status, said)
        if status in (401, 403) or (status in (400, 422) and _KEY.search(said)):
            return SearchError(f"{self.name} refused access ({heard}); {self.denied}")
        if status in (400, 413, 414, 422):
            return ToolError(f"{self.name} refused this query ({heard}); try other or fewer words")
        return SearchError(f"{self.name} answered {heard}; check that the base URL is right")

    def _spent(self, status: int, said: str) -> SearchError:
        heard = f"HTTP {status}" + (f": {said}" if said else "")
        return SearchError(f"{self.name} has no searches left on this account ({heard}); add some")

    def _said(self, value: JsonValue) -> str:
        return shortened(plain(_message(value), self.key), 200)


def asked_wait_s(headers: Mapping[str, str]) -> float | None:
    """Seconds by Retry-After, as a number or a time; else until a spent X-RateLimit starts anew."""
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,9}(\.[0-9]*)?", text):
        return float(text)
    until = _time(text)
    if until is not None:
        now = _time(headers.get("date", "")) or datetime.now(UTC)
        return max(0.0, (until - now).total_seconds())
    left = headers.get("x-ratelimit-remaining", "").split(",")
    starts = headers.get("x-ratelimit-reset", "").split(",")
    pairs = [(a.strip(), b.strip()) for a, b in zip(left, starts, strict=False)]
    spent = [float(b) for a, b in pairs if a == "0" and re.fullmatch("[0-9]{1,9}", b)]
    return max(spent, default=None)


def _time(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _parsed(body: bytes) -> JsonValue:
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
