"""Articles of a wiki as they were on a day, from the revisions that its API (MediaWiki) gives.

The page is the revision's own source, with links written as addresses: a template is left as it
stands, as a wiki fills it with what it says today. Its time is the revision's, and it is known to
have held until the end of the day. An article that was renamed since is found by the wiki's log.
Not covered: wikis that want a login, wikis that deleted their log, and an article asked for by a
name that it got later, which is given all the same.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urljoin, urlsplit

from agent_env.errors import ToolError
from agent_env.records.pages import Page, StatedDay
from agent_env.web.addresses import shortened_url
from agent_env.web.as_of import MOST_REDIRECTS
from agent_env.web.fetch import HttpFetcher
from agent_env.web.stored import now

EXTRACTOR = "agent-env-wikitext/1"
API_PATH = "/w/api.php"
"""Where Wikimedia's wikis have it."""
_REDIRECT = re.compile(r"\s{0,99}#\w{1,40}\s{0,9}:?\s{0,9}\[\[([^\]|#]{1,300})")
_COMMENT = re.compile("<!--")
_REFERENCE = re.compile(r"<ref\b[^<>]{0,300}>", re.I)
_INNER = re.compile(r"\[\[:?([^\[\]|]{1,300})(?:\|([^\[\]]{0,500}))?\]\]")
_OUTER = re.compile(r"\[(https?://[^\s\[\]]{1,2000})\s{1,9}([^\[\]]{1,500})\]")
_HEADING = re.compile(r"^(={2,6})\s{0,9}([^\n=][^\n]{0,300}?)\s{0,9}\1[^\S\n]{0,9}$", re.M)
_QUOTES = re.compile(r"'{2,5}")


@dataclass(frozen=True, slots=True)
class _Wiki:
    """How a wiki writes its addresses."""

    api: str
    article_path: str
    """With $1 for the title."""
    language: str | None

    def title_of(self, url: str) -> str:
        """The title that an address names; ToolError where it is none of the wiki's articles."""
        parts, (before, _, after) = urlsplit(url), self.article_path.partition("$1")
        titles = parse_qs(parts.query).get("title", [])
        if not titles and parts.path.startswith(before) and parts.path.endswith(after):
            titles = [unquote(parts.path[len(before) : len(parts.path) - len(after)])]
        if parts.netloc.lower() != urlsplit(self.api).netloc.lower() or not any(titles):
            raise ToolError(f"{shortened_url(url)} is not an article of the wiki at {self.api}")
        return titles[0].replace("_", " ")

    def url_of(self, title: str) -> str:
        """The address of an article, with its section if the title names one."""
        path = quote(title.strip().replace(" ", "_"), safe=";@$!*(),/~:#")
        return urljoin(self.api, self.article_path.replace("$1", path))


class WikiRevisions:
    """The Fetcher of articles as of a day. `api` is the address of the wiki's api.php; without it,
    of each page's host the one below /w/."""

    def __init__(self, http: HttpFetcher, as_of: str, api: str | None = None) -> None:
        self._http = http
        self._as_of = as_of
        self._end = f"{as_of}T23:59:59Z"
        self._api = api
        self._wikis: dict[str, _Wiki] = {}

    async def fetch(self, url: str) -> Page:
        """The article as it was; ToolError where there was none, or where it cannot be had."""
        try:
            api = self._api or urljoin(url, API_PATH)
            if api not in self._wikis:
                answer = await self._query(api, meta="siteinfo", siprop="general")
                general = answer.get("general", {})
                path = general.get("articlepath")
                if not isinstance(path, str) or "$1" not in path:
                    raise ToolError(f"{api} does not say where its wiki has its articles")
                self._wikis[api] = _Wiki(api, path, general.get("lang"))
            wiki = self._wikis[api]
            title, address = wiki.title_of(url), url.partition("#")[0]
            for _ in range(MOST_REDIRECTS):
                revision = await self._revision(wiki, title)
                slot = revision.get("slots", {}).get(
                    "main", revision
                )  # wikis before 1.32 have no slots
                if not isinstance(slot.get("content"), str):
                    raise ToolError(f"the wiki hides the version of '{title[:200]}' of that day")
                source = str(slot["content"])
                if (redirect := _REDIRECT.match(source)) is None:
                    since = datetime.fromisoformat(revision["timestamp"]).astimezone(UTC)
                    return Page(
                        url=address,
                        status=200,
                        content_type="text/x-wiki; charset=utf-8",
                        body=source.encode(),
                        title=title,
                        text=readable(source, wiki.url_of),
                        fetched_at=now(),
                        language=wiki.language,
                        dates=(
                            StatedDay(day=str(since.date()), kind="captured", source="archive"),
                        ),
                        valid_from=f"{since:%Y-%m-%dT%H:%M:%SZ}",
                        held_until=self._end,
                        extractor=EXTRACTOR,
                    )
                title = redirect[1].replace("_", " ").strip()
                address = wiki.url_of(title)
            raise ToolError(f"{shortened_url(url)} redirects more than {MOST_REDIRECTS} times")
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as exc:
            raise ToolError(f"no wiki answers so for {shortened_url(url)}: {exc!r:.99}") from exc

    async def _revision(self, wiki: _Wiki, title: str) -> dict[str, Any]:
        """The revision that stood at the end of the day under this title."""
        name = title
        for _ in range(MOST_REDIRECTS):
            answer = await self._query(
                wiki.api, prop="revisions", titles=name, rvstart=self._end, rvdir="older",
                rvlimit="1", rvprop="ids|timestamp|content", rvslots="main",
            )  # fmt: skip
            page: dict[str, Any] = next(iter(answer.get("pages", [])), {})
            if page.get("invalid"):
                raise ToolError(f"'{title[:200]}' can be no title of an article")
            if revisions := page.get("revisions"):
                return dict(revisions[0])
            name = await self._later_name(wiki, name, title, bool(page.get("missing")))
        raise ToolError(f"the article '{title[:200]}' was renamed more than {MOST_REDIRECTS} times")

    async def _later_name(self, wiki: _Wiki, name: str, title: str, is_missing: bool) -> str:
        """What an article of this name was renamed to after the day; ToolError, which calls it by
        the title that was asked for, where it was not."""
        answer = await self._query(
            wiki.api,
            list="logevents",
            letitle=name,
            leprop="type|timestamp|details",
            lelimit="max",
        )
        events = [e for e in answer.get("logevents", []) if e.get("type") in ("move", "delete")]
        later = [event for event in events if event.get("timestamp", "") > self._end]
        if later and later[-1]["type"] == "move":
            return str(later[-1].get("params", {}).get("target_title"))
        what = f"the article '{title[:200]}'"
        if later:
            raise ToolError(f"{what} was deleted since with its versions; open another page")
        if events and is_missing:
            how = "renamed" if events[0]["type"] == "move" else "deleted"
            raise ToolError(f"{what} was {how} on {events[0]['timestamp'][:10]}")
        if is_missing:
            raise ToolError(f"there is no article '{title[:200]}'")
        raise ToolError(f"{what} did not exist on {self._as_of}; open another page")

    async def _query(self, api: str, **parameters: str) -> dict[str, Any]:
        """The answer's `query`; ToolError where the API refuses or is none."""
        query = {"action": "query", "format": "json", "formatversion": "2", **parameters}
        answer = await self._http.answer(f"{api}?{urlencode(query)}", is_page=False)
        try:
            body = json.loads(answer.body)
            error, content = body.get("error"), body.get("query", {})
        except (ValueError, AttributeError, RecursionError) as exc:
            raise ToolError(f"{shortened_url(api)} is not the API of a wiki") from exc
        if error is not None or not isinstance(content, dict):
            info = error.get("info") if isinstance(error, dict) else None
            raise ToolError(f"the wiki refused: {str(info)[:200]}")
        return content


def readable(source: str, url_of: Callable[[str], str]) -> str:
    """An article's source as a model reads it: without references and marks of type, links
    followed by their address, headings as #."""
    text = _without(_without(source, _COMMENT, "-->"), _REFERENCE, "</ref>")
    text = _QUOTES.sub("", text)
    text = _INNER.sub(lambda link: f"{link[2] or link[1]} <{url_of(link[1])}>", text)
    text = _OUTER.sub(r"\2 <\1>", text)
    text = _HEADING.sub(lambda heading: f"{'#' * len(heading[1])} {heading[2]}", text)
    return html.unescape(text).strip()


def _without(text: str, begin: re.Pattern[str], end: str) -> str:
    """The text without all from a beginning to the next end; in time that grows with the text."""
    parts, at = [], 0
    for match in begin.finditer(text):
        if match.start() < at:
            continue
        stop = match.end() if match[0].endswith("/>") else text.find(end, match.end()) + len(end)
        if stop < match.end():  # it has no end
            break
        parts.append(text[at : match.start()])
        at = stop
    return "".join(parts) + text[at:]
