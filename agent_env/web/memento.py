"""Pages as a web archive holds them for a day: Memento (RFC 7089).

The TimeGate gets the address behind its own and the end of the day as Accept-Datetime. What it
gives is taken where its Memento-Datetime is no later than the day; where it is later, the memento
before it is, which a `prev` link names, else the TimeMap. Addresses of the Wayback Machine and its
kin, whose 14 digits are a time, are asked for in their `id_` form: the bytes as they were archived,
links and all. A redirect that was archived is followed within the day.
Not covered: TimeMaps in pages, archives that want a login, and what an archive says wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import urljoin

from agent_env.errors import ToolError
from agent_env.records.pages import Page
from agent_env.web.addresses import shortened_url
from agent_env.web.as_of import is_error_page
from agent_env.web.fetch import Answer, HttpFetcher, status_text
from agent_env.web.metadata import moment_of
from agent_env.web.stored import page_key

WAYBACK = "https://web.archive.org/web/"
MOST_REQUESTS = 12
"""Of one page, its redirects included."""
_RAW = re.compile(r"(/\d{14})(?:[a-z]{2}_)?(/https?:)")
_ARCHIVED = re.compile(r"/\d{1,14}(?:[a-z]{2}_)?/(https?:.+)")
_LINK = re.compile(r"<([^<>]{1,4000})>([^<>]{0,1000})")
_PARAMETER = re.compile(r"(\w{1,20}) ?= ?\"([^\"]{0,200})\"")


class MementoFetcher:
    """The Fetcher of pages as of a day. A page's `url` is the address in the web of that day."""

    def __init__(self, http: HttpFetcher, as_of: str, timegate: str | None = None) -> None:
        self._http = http
        self._as_of = as_of
        self._end = datetime.fromisoformat(f"{as_of}T23:59:59+00:00")
        self._timegate = timegate or WAYBACK
        if not self._timegate.endswith(("/", "=")):
            self._timegate += "/"

    async def fetch(self, url: str) -> Page:
        """The page as it was; ToolError where there is none of the day or before."""
        original, at = page_key(url), ""
        for _ in range(MOST_REQUESTS):
            if not original.startswith(("http://", "https://")):
                raise ToolError(f"{shortened_url(original)} is not the address of a page")
            at = at or self._timegate + original
            answer = await self._http.answer(
                at, {"accept-datetime": format_datetime(self._end, usegmt=True)}
            )
            time = moment_of(answer.headers.get("memento-datetime"))
            if time is None and answer.moved_to:
                at = _raw(_joined(at, answer.moved_to))
            elif time is None:
                at = _joined(at, self._named(original, answer))
            elif time > self._end:
                at = _raw(await self._earlier(original, at, answer))
            elif answer.moved_to:
                # Where an archived redirect led in its own web: archives write their own address
                # before it
                target = _joined(original, answer.moved_to)
                match = _ARCHIVED.search(target)
                original, at = page_key(match[1] if match else target), ""
            elif (exact := _raw(_joined(at, answer.headers.get("content-location", "")))) != at:
                at = exact
            else:
                return await self._page(original, answer, time)
        raise ToolError(f"the archive redirects {MOST_REQUESTS} times from {shortened_url(url)}")

    async def _page(self, original: str, answer: Answer, time: datetime) -> Page:
        if answer.status >= 400:
            what = f"answered {status_text(answer.status)}"
            raise ToolError(f"{shortened_url(original)} {what} on {time:%Y-%m-%d}")
        page = await self._http.page_of(answer, original)
        if is_error_page(page.title, page.text):
            what = "it only said it is not a page"
            raise ToolError(f"{shortened_url(original)} was gone on {time:%Y-%m-%d}: {what}")
        return page.model_copy(update={"valid_from": f"{time:%Y-%m-%dT%H:%M:%SZ}"})

    def _named(self, original: str, answer: Answer) -> str:
        """The memento that an answer names which is none itself, such as the frame around it."""
        for link in _links(answer.headers.get("link", "")):
            if "memento" in link.relations and link.time is not None:
                return _raw(link.url)
        if answer.status == 404:
            raise ToolError(f"the archive has no version of {shortened_url(original)}")
        what = "a page without its time" if answer.status < 300 else status_text(answer.status)
        raise ToolError(f"the archive answered {what} for {shortened_url(original)}")

    async def _earlier(self, original: str, at: str, answer: Answer) -> str:
        """Where the last memento of the day or before is, of an answer with a later one."""
        links = list(_links(answer.headers.get("link", "")))
        before = [link for link in links if "prev" in link.relations]
        maps = [link.url for link in links if "timemap" in link.relations]
        if not before and maps:
            answer = await self._http.answer(_joined(at, maps[0]), is_page=False)
            before = list(_links(answer.body.decode("utf-8", "replace")))
        early = [
            (link.time, link.url)
            for link in before
            if "memento" in link.relations and link.time is not None and link.time <= self._end
        ]
        if not early:
            what = f"{shortened_url(original)} did not exist on {self._as_of}"
            raise ToolError(f"{what}, as far as the archive knows; open another page")
        return _joined(at, max(early)[1])


@dataclass(frozen=True, slots=True)
class _Link:
    """A link of a Link header or a TimeMap."""

    url: str
    relations: frozenset[str]
    time: datetime | None


def _links(text: str) -> Iterator[_Link]:
    for match in _LINK.finditer(text):
        values = {name.lower(): value for name, value in _PARAMETER.findall(match[2])}
        relations = frozenset(values.get("rel", "").lower().split())
        yield _Link(match[1], relations, moment_of(values.get("datetime")))


def _joined(base: str, url: str) -> str:
    """ToolError where an archive names what is not an address."""
    try:
        return urljoin(base, url)
    except ValueError as exc:
        raise ToolError(f"the archive leads to an invalid URL: {shortened_url(url)}") from exc


def _raw(url: str) -> str:
    return _RAW.sub(r"\1id_\2", url, count=1)
