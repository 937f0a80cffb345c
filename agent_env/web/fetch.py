"""Pages from the live web, for a caller that follows whatever URLs a model writes.

Guaranteed: only http and https; every connection, those of redirects and of robots.txt included,
goes to an address that passed `allow`, the very one that was checked; a fetch ends within its
time cap and holds at most the size cap packed and unpacked; robots.txt is obeyed unless told
otherwise; at most `per_host` requests run against one host; every failure is a ToolError written
for the model. No cookies are kept and no proxy of the environment is used.

Not covered: pages that need JavaScript or a login, redirects written into a page, error pages
that a server sends as 200, and hiding from a site who asks. The system's resolver runs in a
thread, as does extraction: when the time cap ends a fetch they may run on for a while. One
fetcher serves one event loop.

robots.txt as RFC 9309 has it: which paths a site lets us open.

Guaranteed: the rules of the groups that name us, else those of `*`; the longest pattern that fits
decides and Allow wins a tie. Not covered: Crawl-delay.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Literal

import httpx
from protego import Protego

from agent_env.errors import ToolError
from agent_env.permits import PUBLIC_WEB, Permit
from agent_env.records.pages import Page
from agent_env.records.reach import Reach
from agent_env.web.addresses import (
    Address,
    Allow,
    Resolve,
    SafeUrl,
    ask_system,
    checked_addresses,
    is_public,
    parse_target,
    shortened_url,
)
from agent_env.web.as_of import MOVED, is_challenge_page
from agent_env.web.fetch_content import kind_of, read_content
from agent_env.web.fetch_request import PRODUCT, FetchLimits, opened, read_body, user_agent
from agent_env.web.metadata import all_dates, day_of

_READ_CHARACTERS = 512 * 1024
_NAME = re.compile(r"^([ \t]*user-agent)[ \t]*:([^/\r\n]*)(/[^\r\n]*)?", re.I | re.M)
"""A line that names a program; a version behind the name says nothing."""


class Robots:
    """What one site asks of us."""

    def __init__(self, text: str = "", product: str = "*") -> None:
        """From the file's text; whatever cannot be read is passed over."""
        text = text[:_READ_CHARACTERS].removeprefix("\ufeff")
        self._rules = Protego.parse(_NAME.sub(r"\1:\2", text))
        self._product = product

    def allows(self, path: str) -> bool:
        """Whether the path with its query may be opened."""
        return bool(self._rules.can_fetch(path, self._product))


_NOT_KEPT = frozenset({"set-cookie", "set-cookie2"})
_What = Literal["page", "robots", "data"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; its body is read where the status is one of success."""

    target: SafeUrl
    status: int
    content_type: str
    moved_to: str | None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    """Names in lower case; cookies left out."""


class HttpFetcher:
    """The Fetcher over the network. A page's `url` is the address that redirects led to.

    `open_hosts` are HOST:PORT that the user opened by name: they are reached wherever they are,
    and by redirects too.
    """

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        permit: Permit,
        allow: Allow = is_public,
        open_hosts: frozenset[str] = frozenset(),
        resolve: Resolve = ask_system,
        obey_robots: bool = True,
        contact: str = "",
        tls: ssl.SSLContext | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        for host in (PUBLIC_WEB, *open_hosts):
            permit.check(Reach.HOST, host)
        self._limits = limits or FetchLimits()
        self._allow = allow
        self._open_hosts = open_hosts
        self._resolve = resolve
        self._obey_robots = obey_robots
        self._agent = user_agent(contact)
        self._tls = tls
        self._clock = clock
        self._gates: dict[str, asyncio.Semaphore] = {}
        self._robots: dict[str, Robots] = {}
        self._robots_locks: dict[str, asyncio.Lock] = {}

    async def fetch(self, url: str) -> Page:
        """The page behind the URL; ToolError where it cannot be had."""
        async with self._timed(url) as timer:
            answer = await self._followed(self._target(url), timer, "page")
            return await self.page_of(answer, answer.target.url)

    async def answer(
        self, url: str, headers: Mapping[str, str] | None = None, is_page: bool = True
    ) -> Answer:
        """What the address itself answers, a redirect too, to these headers; ToolError where there
        is not an answer, or where it should be a page and is of a kind without text."""
        async with self._timed(url) as timer:
            return await self._hop(self._target(url), timer, "page" if is_page else "data", headers)

    @asynccontextmanager
    async def _timed(self, url: str) -> AsyncIterator[asyncio.Timeout]:
        try:
            async with asyncio.timeout(self._limits.time_s) as timer:
                yield timer
        except TimeoutError as exc:
            took = f"took longer than {self._limits.time_s:g} s"
            raise ToolError(f"{shortened_url(url)} {took}; try another page") from exc

    async def page_of(self, answer: Answer, url: str) -> Page:
        """The page that an answer holds, as one at this address; ToolError for an error's."""
        if not 200 <= answer.status < 300:
            raise ToolError(f"{shortened_url(url)} answered {status_text(answer.status)}")
        content = await asyncio.to_thread(read_content, answer.body, answer.content_type, url)
        if is_challenge_page(content.title, content.text):
            only = "shows a check for robots instead of its content"
            raise ToolError(f"{shortened_url(url)} {only}; open another page")
        fetched_at = self._clock().isoformat(timespec="seconds")
        return Page(
            url=url,
            status=answer.status,
            content_type=answer.content_type,
            body=answer.body,
            title=content.title,
            text=content.text,
            fetched_at=fetched_at,
            headers=answer.headers,
            language=content.metadata.language or _language(answer.headers),
            published=content.metadata.published,
            modified=content.metadata.modified or day_of(answer.headers.get("last-modified")),
            dates=all_dates(content.metadata.dates, url, answer.headers, fetched_at),
            extractor=content.extractor,
        )

    async def _followed(self, target: SafeUrl, timer: asyncio.Timeout, what: _What) -> Answer:
        """The answer at the end of the redirects, each address checked like the first."""
        visited: list[str] = []
        while len(visited) <= self._limits.redirects:
            if target.url in visited:
                loop = " → ".join(shortened_url(url, 80) for url in [*visited, target.url])
                raise ToolError(f"the page redirects in a loop: {loop}")
            visited.append(target.url)
            try:
                answer = await self._hop(target, timer, what)
            except ToolError as exc:
                if len(visited) == 1:
                    raise
                raise ToolError(f"{shortened_url(visited[0])} redirects: {exc}") from exc
            if answer.moved_to is None:
                return answer
            target = self._next(target, answer.moved_to)
        raise ToolError(
            f"{shortened_url(visited[0])} redirects more than {self._limits.redirects} times"
        )

    async def _hop(
        self,
        target: SafeUrl,
        timer: asyncio.Timeout,
        what: _What,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request, where robots.txt lets us."""
        if what != "robots" and self._obey_robots:
            robots = await self._robots_of(target, timer)
            if not robots.allows(target.path):
                raise ToolError(
                    f"{shortened_url(target.url)} is closed to programs by the site's robots.txt"
                )
        async with self._turn(target.host, timer):
            allow = self._allow if target.site not in self._open_hosts else _any
            addresses = await checked_addresses(target, self._resolve, allow)
            if self._tls is None:
                self._tls = httpx.create_ssl_context(trust_env=False)
            async with opened(
                target,
                addresses,
                headers={"user-agent": self._agent, **(headers or {})},
                tls=self._tls,
                limits=self._limits,
            ) as response:
                status, headers = response.status_code, response.headers
                moved_to = headers.get("location") if status in MOVED else None
                content_type = headers.get("content-type", "")
                kept_headers = {
                    name: value for name, value in headers.items() if name not in _NOT_KEPT
                }
                if moved_to is not None or not 200 <= status < 300:
                    return Answer(target, status, content_type, moved_to, headers=kept_headers)
                if what == "page":
                    kind_of(content_type)
                body = await read_body(response, self._limits)
                return Answer(target, status, content_type, None, body, kept_headers)

    async def _robots_of(self, target: SafeUrl, timer: asyncio.Timeout) -> Robots:
        """The site's rules, asked for once; a site without them allows everything."""
        async with self._robots_locks.setdefault(target.origin, asyncio.Lock()):
            if target.origin not in self._robots:
                file = self._next(target, "/robots.txt")
                answer = await self._followed(file, timer, "robots")
                if answer.status >= 500:
                    raise ToolError(
                        f"{shortened_url(file.url)} answered {status_text(answer.status)}, so "
                        "the site counts as closed; try later, or open another page"
                    )
                text = answer.body.decode("utf-8", "replace")
                self._robots[target.origin] = Robots(text, PRODUCT)
            return self._robots[target.origin]

    @asynccontextmanager
    async def _turn(self, host: str, timer: asyncio.Timeout) -> AsyncIterator[None]:
        """One of the host's places; the fetch's time stands still while it waits."""
        gate = self._gates.setdefault(host, asyncio.Semaphore(self._limits.per_host))
        loop = asyncio.get_running_loop()
        since, ends = loop.time(), timer.when()
        assert ends is not None
        timer.reschedule(None)
        try:
            async with asyncio.timeout(self._limits.turn_s):
                await gate.acquire()
        except TimeoutError as exc:
            raise ToolError(
                f"too many pages of {shortened_url(host)} are requested at once"
            ) from exc
        finally:
            timer.reschedule(ends + loop.time() - since)
        try:
            yield
        finally:
            gate.release()

    def _target(self, url: str) -> SafeUrl:
        return parse_target(url, self._open_hosts)

    def _next(self, target: SafeUrl, location: str) -> SafeUrl:
        """Where a redirect leads."""
        try:
            return self._target(str(httpx.URL(target.url).join(location.strip())))
        except (httpx.InvalidURL, ValueError) as exc:
            raise ToolError(f"{shortened_url(target.url)} redirects to an invalid URL") from exc
        except ToolError as exc:
            raise ToolError(f"{shortened_url(target.url)} redirects elsewhere: {exc}") from exc


def _any(address: Address) -> bool:
    """The guard of a host that the user opened by name."""
    return True


def _language(headers: dict[str, str]) -> str | None:
    language = headers.get("content-language", "").strip().lower()
    return (
        language if language.isascii() and 0 < len(language) <= 20 and "," not in language else None
    )


def status_text(status: int) -> str:
    """Such as `404 Not Found`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
