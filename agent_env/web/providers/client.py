"""The client of all live search services: asks at their pace, waits where asked to.

Guarantees: every request has a timeout and a largest size; a request is tried a bounded number of
times, not before the Retry-After of any other is over; no redirect is followed, for the key would
go along; the key is in no hit and no error, and errors have no cause attached, because the
HTTP library's own may quote the key. An error is a ToolError where the same search may succeed
later or another one now, for the model can mend that; a SearchError where only the user can.
Not covered: the wait for a turn grows with the number of searches that wait; a key shorter than
eight characters counts as a placeholder.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue

from agent_env.errors import ConfigError, SearchError, ToolError
from agent_env.permits import Permit
from agent_env.records.pages import Hit
from agent_env.records.reach import Reach
from agent_env.records.waits import doubled_s, retry_after_s
from agent_env.version import __version__
from agent_env.web.metadata import day_of
from agent_env.web.providers.api import Json, Pace, RawHit, Request, SearchApi

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
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if isinstance(value, dict):
                return self._unless_error(value, reply)
            if value is None and ("json" in kind or not reply.body.strip()):
                return Passing("sent broken JSON" if reply.body.strip() else "sent an empty reply")
            excerpt = shortened(plain(kind, self.key.lower()), 60)
            what = "JSON that is not an object" if value is not None else excerpt
            raise self.unknown(f"{what or 'something'} instead of search results")
        message = self._said(value)
        if reply.status in PASSING or reply.status >= 500:
            if reply.status == 429 and _SPENT.search(message):
                raise self._spent(reply.status, message)
            return Passing(f"answered HTTP {reply.status}", asked_wait_s(reply.headers))
        raise self._refusal(reply.status, message)

    def unknown(self, what: str) -> SearchError:
        """The error for a reply that is not this service's."""
        return SearchError(f"{self.name} sent {what}; check that the base URL is right")

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


class Turns:
    """Gives turns in the order in which they are asked for; belongs to one event loop."""

    def __init__(self, pace: Pace) -> None:
        self._interval_s = 1.0 / pace.per_second
        self._seats = asyncio.Semaphore(pace.at_once)
        self._gate = asyncio.Lock()
        self._free_at = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """One request's time; waits for its start."""
        async with self._seats:
            async with self._gate:
                while (wait_s := self._free_at - _now()) > 0:  # noqa: ASYNC110  # `hold` moves it
                    await asyncio.sleep(wait_s)
                self._free_at = _now() + self._interval_s
            yield

    def hold(self, wait_s: float) -> None:
        """No request starts before `wait_s` seconds are over."""
        self._free_at = max(self._free_at, _now() + wait_s)


def _now() -> float:
    return asyncio.get_running_loop().time()


MOST_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to bear with a service."""

    attempts: int = 4
    first_wait_s: float = 1.0
    """Doubled from attempt to attempt, where the service names no wait of its own."""
    longest_wait_s: float = 60.0
    """A service that asks for more is not waited for."""
    timeout_s: float = 20.0
    """For one whole request."""

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """How long to wait after this attempt, counted from 1."""
        if asked_s is not None:
            return asked_s
        return doubled_s(attempt, self.first_wait_s, self.longest_wait_s)


@dataclass(frozen=True, slots=True)
class Access:
    """Where a service is and how it lets us in."""

    base_url: str
    key: str = ""
    variable: str = ""
    """The environment variable that the key comes from; errors name it."""
    contact: str = ""
    """An e-mail address or URL of whoever runs this, for the User-Agent."""


class LiveSearch:
    """The SearchProvider over one service; belongs to one event loop. Close it when done."""

    def __init__(
        self,
        api: SearchApi,
        access: Access,
        http: httpx.AsyncClient | None = None,
        pace: Pace | None = None,
        patience: Patience | None = None,
        *,
        permit: Permit,
    ) -> None:
        permit.check(Reach.ADDRESS, access.base_url)
        self.name = api.name
        self._api = api
        key = access.key
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            where = access.variable or "the search provider"
            raise ConfigError(
                f"the key in {where} holds a space, a line break or a non-ASCII letter"
            )
        self._key = key
        self._base_url = _checked_url(access.base_url)
        self._agent = _agent(access.contact)
        self._patience = patience or (
            Patience(timeout_s=api.timeout_s) if api.timeout_s else Patience()
        )
        pace = pace or api.pace
        if not (0 < pace.per_second < float("inf") and pace.at_once >= 1):
            raise ConfigError("a search pace needs per_second above 0 and at_once of 1 or more")
        self._turns = Turns(pace)
        denied = f"check the key in {access.variable}" if access.variable else api.denied
        self._reader = Reader(api.name, self._key, denied)
        self._owns_http = http is None
        self._http = httpx.AsyncClient() if http is None else http

    async def search(self, query: str, limit: int) -> list[Hit]:
        """At most `limit` hits, best first; a ToolError is the model's to mend."""
        sendable = " ".join(blotted(query, "").split())
        if not sendable:
            raise ToolError("the query is empty; say what to look for")
        if len(sendable) > self._api.longest_query:
            most = self._api.longest_query
            raise ToolError(f"the query has {len(sendable)} characters; write at most {most}")
        number = max(1, min(limit, self._api.most))
        body = await self._answer(self._api.request(sendable, number, self._key))
        raw_hits = self._api.found(body, self._base_url)
        if raw_hits is None:
            raise self._reader.unknown("JSON that holds no search results")
        hits = hits_of(raw_hits, self._key)
        if raw_hits and not hits:
            raise self._reader.unknown(f"{len(raw_hits)} results, none with an address")
        return hits[:limit]

    async def close(self) -> None:
        """Closes the connections, unless they came from outside."""
        if self._owns_http:
            await self._http.aclose()

    async def _answer(self, request: Request) -> Json:
        attempt = 0
        while True:
            outcome = await self._ask(request)
            if not isinstance(outcome, Passing):
                return outcome
            attempt += 1
            wait_s = self._patience.wait_s(attempt, outcome.wait_s)
            if attempt >= self._patience.attempts or wait_s > self._patience.longest_wait_s:
                raise self._given_up(outcome, attempt, wait_s)
            self._turns.hold(wait_s)

    async def _ask(self, request: Request) -> Json | Passing:
        try:
            async with self._turns.turn(), asyncio.timeout(self._patience.timeout_s):
                async with self._http.stream(
                    "GET" if request.body is None else "POST",
                    self._base_url + request.path,
                    params=request.parameters or None,
                    json=request.body,
                    headers={
                        "accept": "application/json",
                        "accept-encoding": "gzip",
                        "user-agent": self._agent,
                        **request.headers,
                    },
                    timeout=self._patience.timeout_s,
                    follow_redirects=False,
                ) as response:
                    body = await self._body(response)
                headers = {name.lower(): value for name, value in response.headers.items()}
                reply = Reply(response.status_code, headers, body)
        except (TimeoutError, httpx.TimeoutException):
            return Passing(f"did not answer within {self._patience.timeout_s:g} s")
        except (httpx.ConnectError, httpx.ProxyError, httpx.UnsupportedProtocol) as exc:
            return Passing(f"cannot be reached ({type(exc).__name__})", unreachable=True)
        except httpx.HTTPError as exc:
            return Passing(f"broke off ({type(exc).__name__})")
        return self._reader.read(reply)

    async def _body(self, response: httpx.Response) -> bytes:
        parts, size = [], 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > MOST_BYTES:
                raise self._reader.unknown(f"more than {MOST_BYTES} bytes")
            parts.append(part)
        return b"".join(parts)

    def _given_up(self, why: Passing, attempts: int, wait_s: float) -> ToolError | SearchError:
        attempts_text = f"asked {attempts} times" if attempts > 1 else "asked once"
        text = f"{self.name} {why.reason} ({attempts_text})"
        if why.unreachable:
            return SearchError(f"{text}; check the network and the base URL")
        if wait_s > self._patience.longest_wait_s:
            return SearchError(f"{text} and asks to wait {wait_s:.0f} s; search later or slower")
        return ToolError(f"{text}; try again later, or continue with what you have")


def _checked_url(base_url: str) -> str:
    """Without a closing slash; an unsound address is not repeated, for it may hold a password."""
    try:
        parts = urlsplit(base_url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(base_url)
    except (ValueError, httpx.InvalidURL):
        sound = False
    if not sound:
        raise ConfigError("the search provider's base URL is not an address; write https://HOST")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConfigError("the search provider's base URL holds a user, query or fragment; drop it")
    return base_url.rstrip("/")


def _agent(contact: str) -> str:
    if not (contact.isascii() and contact.isprintable()):
        raise ConfigError("a contact is an e-mail address or URL in plain ASCII")
    who = f"agent-env/{__version__}" + (f" ({contact})" if contact else "")
    return f"{who} httpx/{httpx.__version__}"


SNIPPET = 500
TITLE = 200
LONGEST_URL = 2000
READ = 20_000
"""Characters of one text that are looked at."""

_ADDRESS = re.compile(r"https?://[^\s/?#<>\"]++[^\s<>\"]*+", re.I)
_SCRIPT = re.compile(r"<(script|style)\b[^<>]*>.*?(</\1\s*>|$)", re.I | re.S)
_TAG = re.compile(r"<!--.*?(-->|$)|</?[a-z][^<>]*>", re.I | re.S)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
SECRET = 8
"""Characters that a key has; a shorter one is a placeholder and would blot out words."""


def hits_of(raw_hits: Iterable[RawHit], key: str) -> list[Hit]:
    """The results that have an address, in their order; a missing title is the address."""
    hits: dict[str, Hit] = {}
    for each in raw_hits:
        url = blotted(each.url.strip(), key) if isinstance(each.url, str) else ""
        if url not in hits and len(url) <= LONGEST_URL and _ADDRESS.fullmatch(url):
            title = shortened(plain(each.title, key), TITLE)
            snippet = shortened(plain(each.snippet, key), SNIPPET)
            day = day_of(each.day)
            hits[url] = Hit(url=url, title=title or url, snippet=snippet, published=day)
    return list(hits.values())


def plain(value: JsonValue, key: str) -> str:
    """Text, or a list of texts, on one line without tags and entities; empty for anything else."""
    if isinstance(value, list):
        return " … ".join(text for each in value if (text := plain(each, key)))
    if not isinstance(value, str):
        return ""
    bare = _TAG.sub("", _SCRIPT.sub(" ", blotted(value, key)[:READ]))
    return blotted(" ".join(_CONTROL.sub(" ", html.unescape(bare)).split()), key)


def shortened(text: str, most: int) -> str:
    """The text's beginning, cut at a word where it is too long."""
    if len(text) <= most:
        return text
    return text[: most - 2].rsplit(" ", 1)[0] + " …"


def blotted(text: str, key: str) -> str:
    """The text without the key and without halves of letters, which no file takes."""
    if len(key) >= SECRET:
        text = text.replace(key, "***")
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
