"""Whether a page can be of a day or before: its dates, and the later days that its text speaks of.

The latest of all dates decides. A date without its day or month counts as the last that it can be.
What was fetched, or taken by an archive, by the end of the day is of that day, whatever it says.
Not covered: changes that no date tells of, and later knowledge that names no date.

A text speaks of later days where it names one between the day asked for and the fetch: a full date,
a month with its year, the address of a dated page, or a year in words such as "since 2021", in a
sentence in the past tense, in a citation or a copyright notice, in a span of years, before a row of
a table; and where the sentence does not speak of plans. Not covered: other languages than English,
years alone. Seen without need: calendars of days to come, quantities like "in 2021 cases".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from agent_env.errors import ToolError
from agent_env.records.manifest import Undated
from agent_env.records.pages import Page, StatedDay
from agent_env.scoring.evidence import WRITTEN_DATES
from agent_env.web.metadata import all_dates, day_of, stated

LATER, CHANGED, NO_DATE, MENTIONS = "later", "changed", "undated", "mentions-later"
"""Flags: dated later; published by the day and changed after it; without a date; see above."""
_MOST_MENTIONS = 2_000
"""Years of a text that are looked at."""

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FIGURES = re.compile(r"\d{4}([-/])(0[1-9]|1[0-2])\1(0[1-9]|[12]\d|3[01])(?!\d)")
_SENTENCE_END = re.compile(r"\n|(?<=[\w)\]\"”]{2}[.!?]) +(?=[A-Z\"“])")
_PLAN = re.compile(
    r"\b(will|shall|would|going to|(is|are|was|were) (to|due|set) |plan(s|ned)?\b|schedul|expect|"
    r"project(ed|ion)|forecast|anticipat|upcoming|future|target|goal|aims? |expir|deadline|could|"
    r"should|by (the end of )?(19|20)\d\d)",
    re.I,
)
_PAST = re.compile(
    r"\b(was|were|had|has|have|did|been|won|lost|became|began|took|made|led|left|met|held|ran|"
    r"wrote|said|saw|got|came|went|gave|grew|fell|rose|[a-z]{2,}ed)\b",
    re.I,
)
_SINCE = re.compile(r"\bsince( (early|late|mid))?[ -]$", re.I)
_AROUND = re.compile(
    r"\b(in|during|throughout|until|till|after|before|early|late|mid|"
    r"(spring|summer|autumn|fall|winter|end|beginning|start|middle)( of)?)[ -]$",
    re.I,
)
_OTHER_ERA = re.compile(r" ?(BCE?|B\.C|AH|AM)\b")
_CITED = re.compile(r"\(([^()\n]{0,60}[ ,])?$")
_COPYRIGHT = re.compile(r"(©|\(c\)|copyright)[^\n]{0,30}$", re.I)
_SPAN = re.compile(r"(?<![\d./-])(?<!p\. )(?<!pp )(?<!pages )(19|20)\d\d ?[–—-] ?$")
_ROW = re.compile(r"(^|\n)(- )?$")


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen in a page or result."""

    flags: tuple[str, ...] = ()
    latest: StatedDay | None = None
    """The latest of its dates."""
    mention: str | None = None
    """The first words that speak of a later day."""


@dataclass(frozen=True, slots=True)
class AsOf:
    """A day, and what is done with pages that bear no date."""

    day: str
    """YYYY-MM-DD."""
    undated: Undated = "withhold"

    def look(self, dates: Sequence[StatedDay], text: str, seen: str | None) -> Finding:
        """What is to be said of a page or result; `seen`: when it was fetched, None if unknown."""
        bearing = sorted((d for d in dates if d.kind != "copyright"), key=_last)
        captured = [d.day for d in bearing if d.kind == "captured"]
        if any(each[:10] <= self.day for each in (seen, *captured) if each):
            return Finding(latest=bearing[-1] if bearing else None)
        is_later = bool(bearing) and _last(bearing[-1]) > self.day
        is_changed = is_later and any(
            d.kind == "published" and _last(d) <= self.day for d in bearing
        )
        notices = (d.day for d in dates if d.kind == "copyright" and d.day > self.day)
        mention = next((f"copyright {year}" for year in notices), None)
        mention = mention or later_mention(text, self.day, seen)
        flags = {
            LATER: is_later, CHANGED: is_changed, MENTIONS: mention is not None,
            NO_DATE: not bearing and self.undated != "serve",
        }  # fmt: skip
        names = tuple(name for name, holds in flags.items() if holds)
        return Finding(names, bearing[-1] if bearing else None, mention)

    def reason(self, flags: Iterable[str]) -> str | None:
        """Why what has these flags is withheld; None where it is not."""
        if LATER in flags:
            return f"it is dated after {self.day}"
        if NO_DATE in flags and self.undated == "withhold":
            return f"it has no date, so it may be from a day after {self.day}"
        return None


def _last(date: StatedDay) -> str:
    """The last day that it may be."""
    return date.day + {4: "-12-31", 7: "-31"}.get(len(date.day), "")


def dates_of(page: Page) -> tuple[StatedDay, ...]:
    """Every date that is stated of the page, found now where nobody looked before."""
    if page.dates is not None:
        return page.dates
    from agent_env.web.fetch_content import read_content

    try:
        found = read_content(page.body, page.content_type, page.url).metadata.dates
    except ToolError:
        found = ()
    dates = all_dates(found, page.url, page.headers, page.fetched_at)
    own = {each.day for each in dates} | {day_of(page.headers.get("last-modified"))}
    fields = (
        stated(page.published, "published", "fetcher"), stated(page.modified, "modified", "fetcher")
    )  # fmt: skip
    return dates + tuple(each for each in fields if each is not None and each.day not in own)


def later_mention(text: str, day: str, seen: str | None) -> str | None:
    """The first sentence, cut to 160 characters, that speaks of a time after `day` (YYYY-MM-DD) and
    not after `seen`, which is an ISO time or None for no bound; None where none does."""
    last = (seen or "")[:10] or "9999"
    years = (m for m in _YEAR.finditer(text) if day[:4] <= m[0] <= last[:4])
    for number, year in enumerate(years):
        if number == _MOST_MENTIONS:
            return None
        at = max(0, year.start() - 300)
        start = max((m.end() for m in _SENTENCE_END.finditer(text, at, year.start())), default=at)
        end = _SENTENCE_END.search(text, year.end(), year.end() + 200)
        sentence = text[start : end.start() if end else year.end() + 200]
        if _is_later(text, year, sentence, day, last):
            return " ".join(sentence.split())[:160]
    return None


def _is_later(text: str, year: re.Match[str], sentence: str, day: str, last: str) -> bool:
    before, after = text[max(0, year.start() - 80) : year.start()], text[year.end() :][:12]
    if _COPYRIGHT.search(before):
        return year[0] > day
    if _PLAN.search(sentence):
        return False
    if (figures := _FIGURES.match(text, year.start())) is not None:
        return day < figures[0].replace("/", "-") <= last
    begin = max(0, year.start() - 20)
    for written in WRITTEN_DATES.find(text[begin : year.end() + 6]):
        low, high = written.at
        if low <= year.start() - begin < high and written.month and written.date is not None:
            return day < str(written.date) <= last
    if year[0] <= day[:4] or _OTHER_ERA.match(after):
        return False
    if _SINCE.search(before) or (_CITED.search(before) and re.match(r"[a-z]?\)", after)):
        return True
    if _SPAN.search(before) or (_ROW.search(before) and after.startswith(":")):
        return True
    return bool(_AROUND.search(before) and _PAST.search(sentence))


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


_CHALLENGE = re.compile(
    r"^\W{0,9}(just a moment|one moment|please wait|attention required|access (is |was )?denied|"
    r"robot check|security (check|verification)|bot verification|human verification|"
    r"pardon our interruption|one more step|ddos-guard)\b"
    r"|\b(checking|verifying) (if the site connection|your browser|that you are|you are)\b"
    r"|\b(enable|turn on|requires?|activate) (javascript|js|cookies)\b"
    r"|\b(verify|confirm|prove|check) (that )?(you are|you're) (a |not a )?(human|robot|bot)\b"
    r"|\bare you a (human|robot)\b|\b(complete|solve) (the|this) (captcha|security check)\b"
    r"|\bunusual traffic from your\b",
    re.I,
)
_CHALLENGE_LINES = 6


def is_challenge_page(title: str, text: str) -> bool:
    """Whether a page only asks its reader to wait, to be no robot or to run scripts."""
    text = text.strip()
    lines = [title, *text.split("\n", _CHALLENGE_LINES)[:_CHALLENGE_LINES]]
    return len(text) <= _LONGEST_NOTICE and any(_CHALLENGE.search(line[:300]) for line in lines)


def is_error_page(title: str, text: str) -> bool:
    """Whether a page that came with status 200 only says that there is none (a soft 404)."""
    text = text.strip()
    if len(text) > _LONGEST_NOTICE:
        return False
    return any(_NOT_FOUND.search(line[:200]) for line in (title, text.partition("\n")[0]))


def days_before(seen: str, day: str) -> int | None:
    """Days from when a version was last known to hold to `day`; 0 where that is no earlier, None
    where `seen` is not a time."""
    try:
        return max(0, (date.fromisoformat(day) - date.fromisoformat(seen[:10])).days)
    except ValueError:
        return None
