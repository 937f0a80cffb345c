"""What a page says of itself: its language and its dates.

`published` and `modified` are read from meta elements, JSON-LD and, where these are silent, a
single `time` element inside the only article. `dates` are all that is stated: by these, by `time`
elements that are marked as such, in the first and last pieces of text that begin with words such as
"published" or "last updated", in a line of its own near the beginning, in the address, by the
server's Last-Modified or an archive's Memento-Datetime. Not counted: days after the fetch,
1970-01-01 and the like, a Last-Modified that is the server's clock, JSON-LD of things other than
pages, 3/4/2015.
Not covered: sitemaps, and what a page says wrongly; a site may date its pages as it likes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from agent_env.records.pages import DateKind, DateSource, StatedDay
from agent_env.scoring.evidence import WRITTEN_DATES
from agent_env.temporal.written import SHORT_MONTH, month_number

_PUBLISHED = (
    "article:published_time", "og:published_time", "datepublished", "date", "dc.date",
    "dc.date.issued", "dcterms.created", "dcterms.issued", "citation_publication_date",
    "citation_date", "pubdate", "publishdate", "parsely-pub-date", "sailthru.date",
)  # fmt: skip
_MODIFIED = (
    "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified",
    "dc.date.modified", "lastmod",
)  # fmt: skip
_DAY = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)")
_WORDED = re.compile(rf"({SHORT_MONTH})[a-z]{{0,9}}\.? (\d{{1,2}}), (\d{{4}})", re.I)
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,3}")
_LONGEST_DATE = 200
_LONGEST_JSON = 200_000
_DEEPEST = 4

_LINKED: dict[str, DateKind] = {"datePublished": "published", "dateModified": "modified"}
_PAGE_TYPE = re.compile(r"(article|posting|page|report|news)$", re.I)
_MARKED_PUBLISHED = re.compile(r"datepublished|published|pub-?date|entry-date|post-date")
_MARKED_MODIFIED = re.compile(r"datemodified|updated|modified")
_NO_DAYS = ("1970-01-01", "1969-12-31")
"""What a date of 0 becomes."""
_FIRST_YEAR = 1990
"""Of the web."""
_SAME_TIME = timedelta(minutes=10)
_INLINE = frozenset("a abbr b em i small span strong time".split())
_CELLS = frozenset("td th li dt dd caption".split())
"""A date alone in one of these is one of the page's subject."""
_EDGE = 60
"""Pieces of text at either end that are looked at."""
_HEAD_LINES = 12
_LONGEST_LINE = 300
_TIME = r"(?:\d{1,2}[:.]\d\d(?: ?[ap]\.?m\.?)?(?: [A-Z]{3,4})?,? )?"
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? )?"
_MODIFIED_WORD = re.compile(
    r"last|(page )?(updated?|modified|edited|changed|revised|reviewed)", re.I
)
_LABELLED = re.compile(
    r"(?:^|[|·•(] ?|\bthis (?:page|article|document|entry|post|site) (?:was|has been) )"
    r"(?P<label>(?:(?:first |originally |date )?(?:published|posted)|(?:last |page )*(?:updated?|"
    r"modified|edited|changed|revised|reviewed)))\b(?: by(?: [^\W\d][^\s\d.:,|]{0,30}){1,5})?"
    rf" ?[:|,–—-]?[ \n]?(?:on |at )?{_TIME}{_WEEKDAY}(?P<date>{WRITTEN_DATES.text})",
    re.I | re.M,
)
_BYLINE = re.compile(
    rf"(?:by [^\d\n]{{2,60}}[,|·•–—-] ?)?{_WEEKDAY}(?P<date>{WRITTEN_DATES.text})"
    r"(?:,?(?: at)? \d{1,2}[:.]\d\d.{0,12})?",
    re.I,
)
_SOME_YEAR = r"(?:19|20)\d\d"
_COPYRIGHT = re.compile(
    rf"(?:©|\(c\)|copyright)[^\n]{{0,20}}?{_SOME_YEAR}(?:\s?[-–—]\s?{_SOME_YEAR})?(?!\d)", re.I
)
_YEAR = re.compile(_SOME_YEAR)
_IN_PATH = re.compile(
    r"(?<=[/_.-])((?:199|20\d)\d)[-/](0[1-9]|1[0-2])(?:[-/](0[1-9]|[12]\d|3[01]))?(?=[/_.-]|$)"
)


@dataclass(frozen=True, slots=True)
class Metadata:
    """What is known of a page beside its text."""

    language: str | None = None
    published: str | None = None
    """YYYY-MM-DD."""
    modified: str | None = None
    """YYYY-MM-DD."""
    dates: tuple[StatedDay, ...] = ()
    """All that the body states."""


NOTHING = Metadata()


def metadata_of(document: Any) -> Metadata:
    """What the parsed document says; what it does not say is None."""
    named: dict[str, str] = {}
    for meta in document.iter("meta"):
        for key in ("property", "name", "itemprop", "http-equiv"):
            if (name := meta.get(key)) and (content := meta.get("content")):
                named.setdefault(name.strip().lower(), content[:200])
    linked = list(_linked(document))
    first_linked = {name: day for name, day, _ in reversed(linked)}
    articles = document.findall(".//article")
    times = articles[0].findall(".//time[@datetime]") if len(articles) == 1 else []
    only_time = day_of(times[0].get("datetime")) if len(times) == 1 else None
    published = _first(named, _PUBLISHED) or first_linked.get("datePublished") or only_time
    modified = _first(named, _MODIFIED) or first_linked.get("dateModified")
    dates = [
        *(stated(named.get(name), "published", "meta") for name in _PUBLISHED),
        *(stated(named.get(name), "modified", "meta") for name in _MODIFIED),
        *(stated(day, _LINKED[name], "json-ld") for name, day, is_page in linked if is_page),
        *_times(document), stated(only_time, "published", "time"), *_in_text(document),
    ]  # fmt: skip
    lang = document.get("lang") or document.get("xml:lang") or named.get("content-language") or ""
    language = str(lang).strip().lower().replace("_", "-").partition(",")[0]
    return Metadata(
        language if _LANGUAGE.fullmatch(language) else None, published, modified, _distinct(dates)
    )


def all_dates(
    dates: Iterable[StatedDay], url: str, headers: Mapping[str, str], fetched_at: str
) -> tuple[StatedDay, ...]:
    """What the body states, the address and the headers; without what cannot be."""
    stated = _distinct([*dates, *_in_address(url), *_in_headers(headers, fetched_at)])
    seen = next((each.day for each in stated if each.kind == "captured"), fetched_at[:10])
    try:
        last = (date.fromisoformat(seen) + timedelta(days=1)).isoformat()  # it may be west of UTC
    except (ValueError, OverflowError):
        last = "9999"
    return tuple(each for each in stated if each.day <= last)


def _distinct(dates: Iterable[StatedDay | None]) -> tuple[StatedDay, ...]:
    possible = (d for d in dates if d is not None and d.day > "1000" and d.day not in _NO_DAYS)
    return tuple(dict.fromkeys(possible))


def stated(value: object, kind: DateKind, source: DateSource) -> StatedDay | None:
    """The date that a value states; None where none can be read."""
    day = day_of(value)
    return None if day is None else StatedDay(day=day, kind=kind, source=source)


def _times(document: Any) -> Iterator[StatedDay | None]:
    """Of `time` elements that are marked as the page's date."""
    for time in document.iter("time"):
        marks = " ".join(time.get(key) or "" for key in ("itemprop", "class", "pubdate")).lower()
        marks += " published" * ("pubdate" in time.attrib)
        value = time.get("datetime") or "".join(time.itertext())
        if _MARKED_MODIFIED.search(marks):
            yield stated(value, "modified", "time")
        elif _MARKED_PUBLISHED.search(marks):
            yield stated(value, "published", "time")


def _in_text(document: Any) -> Iterator[StatedDay]:
    """In the first and last lines, footers included."""
    texts = document.xpath(
        "(//body//text())[not(parent::script or parent::style) and normalize-space()]"
    )
    ends = [texts] if len(texts) <= 2 * _EDGE else [texts[:_EDGE], texts[-_EDGE:]]
    for end in ends:
        text = "\n".join(" ".join(each.split())[:_LONGEST_LINE] for each in end)
        for match in _LABELLED.finditer(text):
            kind: DateKind = "modified" if _MODIFIED_WORD.match(match["label"]) else "published"
            yield from _written(match["date"], kind)
        for match in _COPYRIGHT.finditer(text):
            yield StatedDay(day=max(_YEAR.findall(match[0])), kind="copyright", source="text")
    for block in dict.fromkeys(map(_block_of, texts[:_HEAD_LINES])):
        line = " ".join("".join(islice(block.itertext(), _HEAD_LINES)).split())
        byline = None if block.tag in _CELLS else _BYLINE.fullmatch(line)
        if byline is not None:
            dates = _written(byline["date"], "unspecified")
            yield from (each for each in dates if len(each.day) > 4 and each.day > str(_FIRST_YEAR))


def _block_of(text: Any) -> Any:
    element = text.getparent().getparent() if text.is_tail else text.getparent()
    while element.tag in _INLINE:
        element = element.getparent()
    return element


def _written(text: str, kind: DateKind) -> Iterator[StatedDay]:
    written = WRITTEN_DATES.read(text)
    if written is not None and written.date is not None:
        yield StatedDay(day=str(written.date), kind=kind, source="text")


def _in_address(url: str) -> Iterator[StatedDay]:
    try:
        path = urlsplit(url).path
    except ValueError:
        return
    for match in _IN_PATH.finditer(path):
        day = "-".join(part for part in match.groups() if part)
        if len(day) == 7 or day_of(day) is not None:
            yield StatedDay(day=day, kind="published", source="url")


def _in_headers(headers: Mapping[str, str], fetched_at: str) -> Iterator[StatedDay | None]:
    """A Last-Modified that is the time of the answer says only that the page is made when asked
    for; one from before the web is a clock that was never set."""
    yield stated(headers.get("memento-datetime"), "captured", "archive")
    changed = moment_of(headers.get("last-modified"))
    answered = [moment_of(headers.get("date")), moment_of(fetched_at)]
    if changed is None or changed.year < _FIRST_YEAR:
        return
    if not any(at is not None and at - changed < _SAME_TIME for at in answered):
        yield stated(changed.date().isoformat(), "modified", "header")


def moment_of(text: str | None) -> datetime | None:
    """The time of an HTTP or ISO date, in UTC; None where it is none."""
    if text is None or len(text) > _LONGEST_DATE:
        return None
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text.strip())
        except (ValueError, TypeError, OverflowError):
            continue
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def day_of(text: object) -> str | None:
    """The day in a written date or time as YYYY-MM-DD; None where none can be read."""
    if not isinstance(text, str):
        return None
    if len(text) > _LONGEST_DATE:
        return None
    match = _DAY.match(text.strip())
    try:
        if match is not None:
            return date(*map(int, match.groups())).isoformat()
        if (worded := _WORDED.fullmatch(text.strip())) is not None:
            month = month_number(worded[1]) or 0
            return date(int(worded[3]), month, int(worded[2])).isoformat()
        return parsedate_to_datetime(text.strip()).date().isoformat()
    except (ValueError, TypeError, OverflowError):
        return None


def _first(named: dict[str, str], names: tuple[str, ...]) -> str | None:
    days = (day_of(named.get(name)) for name in names)
    return next((day for day in days if day is not None), None)


def _linked(document: Any) -> Iterator[tuple[str, str, bool]]:
    """The dates in JSON-LD: name, day, and whether it is said of a page."""
    for script in document.iter("script"):
        if script.get("type", "").strip().lower() != "application/ld+json" or not script.text:
            continue
        try:
            value = json.loads(script.text[:_LONGEST_JSON])
        except (ValueError, RecursionError):
            continue
        for item in _objects(value, _DEEPEST):
            types = item.get("@type") or "Page"
            is_page = any(
                isinstance(each, str) and _PAGE_TYPE.search(each)
                for each in (types if isinstance(types, list) else [types])
            )
            for name in _LINKED:
                if (day := day_of(item.get(name))) is not None:
                    yield name, day, is_page


def _objects(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = value.get("@graph")
    if isinstance(value, list) and depth:
        for item in value:
            yield from _objects(item, depth - 1)
