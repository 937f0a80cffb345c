"""Versions of pages: how far one is from the day asked for, and pages that only say that there is
none."""

from __future__ import annotations

import re
from datetime import date

from agent_env.errors import ToolError
from agent_env.protocols import Fetcher
from agent_env.records.pages import Page
from agent_env.web.addresses import shortened_url

GONE = frozenset({404, 410})
"""What a server answers where there is no page any more; other errors are of the server and tell
nothing of the page."""
MOVED = frozenset({301, 302, 303, 307, 308})
MOST_REDIRECTS = 8
_LONGEST_NOTICE = 1500
"""Characters of a page that only says that there is none."""
_NOT_FOUND = re.compile(
    r"^\W{0,9}(error )?(404|410)\b|\b(404|410) (error|not found)|\berror (404|410)\b"
    r"|^\W{0,9}not found\W{0,9}$"
    r"|\b(page|file|document|article|site|url|content)\b.{0,30}\b(not (be )?found|does(n.t| not) "
    r"exist|no longer (exists|available)|not available|unavailable|(was|been) (removed|deleted))\b",
    re.I,
)


def is_error_page(title: str, text: str) -> bool:
    """Whether a page that came with status 200 only says that there is none (a soft 404)."""
    text = text.strip()
    if len(text) > _LONGEST_NOTICE:
        return False
    return any(_NOT_FOUND.search(line[:200]) for line in (title, text.partition("\n")[0]))


def days_before(seen: str, day: str) -> int | None:
    """Days from when a version was last known to hold to `day`; 0 where that is no earlier, None
    where `seen` is no time."""
    try:
        return max(0, (date.fromisoformat(day) - date.fromisoformat(seen[:10])).days)
    except ValueError:
        return None


def seen_until(page: Page) -> str:
    """The latest time at which this version is known to have held."""
    return page.held_until or page.valid_from or page.fetched_at


class TolerantFetcher:
    """A Fetcher whose pages were last seen at most `most_days` before the day asked for."""

    def __init__(self, inner: Fetcher, as_of: str, most_days: int) -> None:
        self._inner = inner
        self._as_of = as_of
        self._most_days = most_days

    async def fetch(self, url: str) -> Page:
        page = await self._inner.fetch(url)
        distance = days_before(seen_until(page), self._as_of)
        if distance is None or distance > self._most_days:
            far = "an unknown number of" if distance is None else distance
            raise ToolError(
                f"{shortened_url(url)} is known only {far} days before {self._as_of}, and "
                f"this run takes {self._most_days} at most; open another page"
            )
        return page
