"""Versions of pages: how far one is from the day asked for, and pages that only say that there is
none."""

from __future__ import annotations

import re
from datetime import date

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
