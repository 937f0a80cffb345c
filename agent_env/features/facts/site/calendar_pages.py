"""Pages that list much and are asked for seldom: years, months, days of the year, timelines, lists
by decade and of presidents, and names that several things share."""

from __future__ import annotations

import calendar
import re
from calendar import day_name, month_name
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial

from agent_env.features.facts.site.encyclopedia import category_url, dates_text, span_text
from agent_env.features.facts.site.sheet import (
    Block,
    Row,
    Sheet,
    Writer,
    capital,
    lines,
    link,
    plural,
    table,
)
from agent_env.features.facts.site.surroundings import (
    Dated,
    Surroundings,
    dated,
    presidency,
)
from agent_env.features.facts.tables.articles import (
    almanac_url,
    article_url,
    event_title,
    presidency_title,
)
from agent_env.features.facts.tables.tables import EventRow, FactTables, TermRow
from agent_env.temporal.days import PartialDate

Entry = tuple[date, str, str, str]
"""A day, whether it begins or ends, the title of its article, and what it is."""
BEFORE_NAMES = {"born": "birth of ", "died": "death of "}
LEAST_OF_MONTH, LEAST_OF_DAY, LEAST_ALIKE, LEAST_OF_KIND = 2, 3, 3, 5
PAGES_UP_TO = 2_000
"""Events and people of a world above which it has pages of years alone."""


def entries_of(tables: FactTables) -> Iterator[Entry]:
    """Beginnings, ends, births and deaths that are known to the day."""
    items = [(dated(row), "began", "ended", row.summary) for row in tables.events]
    items += [(presidency(term), "began", "ended", "") for term in tables.presidents]
    lives = [(Dated(r.person, r.start, r.end), r.description) for r in tables.people]
    lives += [(Dated(r.person, r.start, None), r.description) for r in tables.living]
    items += [(life, "born", "died", what) for life, what in lives]
    for item, begins, ends, about in items:
        if item is None:
            continue
        if item.start == item.end:
            begins = ""
        for bound, what in ((item.start, begins), (item.end if begins else None, ends)):
            if bound is not None and (not isinstance(bound, PartialDate) or bound.day):
                day = bound.first if isinstance(bound, PartialDate) else bound
                yield day, what, item.title, about if what != "ended" else ""


def calendar_pages(tables: FactTables, around: Surroundings) -> Iterator[partial[Iterator[Sheet]]]:
    """Makers of all these pages."""
    entries = sorted(entries_of(tables))
    years: dict[int, list[Entry]] = defaultdict(list)
    months: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    days: dict[tuple[int, int], list[Entry]] = defaultdict(list)
    for entry in entries:
        years[entry[0].year].append(entry)
        months[entry[0].year, entry[0].month].append(entry)
        days[entry[0].month, entry[0].day].append(entry)
    for year, own in years.items():
        ruling = tuple(around.ruling(date(year, 1, 1), date(year, 12, 31)))
        yield partial(_one, year_page, year, tuple(own), ruling[:12])
    if len(tables.events) + len(tables.people) <= PAGES_UP_TO:
        for month, own in months.items():
            if len(own) >= LEAST_OF_MONTH:
                yield partial(_one, month_page, month, tuple(own))
        for day, own in days.items():
            if len(own) >= LEAST_OF_DAY:
                yield partial(_one, day_page, day, tuple(own))
    kinds: dict[str, list[Dated]] = defaultdict(list)
    alike: dict[str, list[Dated]] = defaultdict(list)
    for row in tables.events:
        if (item := dated(row)) is not None:
            kinds[row.kind].append(item)
            if (name := _shared_name(item.title)) is not None:
                alike[name].append(item)
    for kind, items in kinds.items():
        if LEAST_OF_KIND <= len(items) <= 60:
            yield partial(_one, timeline, kind, tuple(sorted(items, key=lambda i: i.first)))
    for name, items in alike.items():
        if LEAST_ALIKE <= len(items) <= 60:
            yield partial(_one, disambiguation, name, tuple(sorted(items, key=lambda i: i.first)))
    if tables.presidents:
        yield partial(_one, presidents_list, tables.presidents)


def _one(make: object, *parts: object) -> Iterator[Sheet]:
    yield make(*parts)  # type: ignore[operator]


def _items(w: Writer, entries: Iterable[Entry], before: Mapping[str, str] = BEFORE_NAMES) -> Block:
    """Each with its whole date, so that the line can be told apart from what only names it."""
    items = []
    for day, what, title, about in entries:
        item = f"{w.weekday(day)}: {before.get(what, '')}{link(title, article_url(title))}"
        if what in ("born", "died"):
            items.append(f"{item}, {about}" if about else item)
        else:
            items.append(f"{item} {what}. {about}".replace(" .", ".").strip())
    return lines("ul", *items)


def year_page(year: int, entries: tuple[Entry, ...], ruling: tuple[Dated, ...]) -> Sheet:
    w = Writer("year", str(year))
    is_leap = calendar.isleap(year)
    first, last = date(year, 1, 1), date(year, 12, 31)
    lead = w.say(
        "calendar_pages.year", year=year, leap="a leap year" if is_leap else "a common year",
        first=day_name[first.weekday()], last=day_name[last.weekday()], days=365 + is_leap,
    )  # fmt: skip
    blocks = [lines("p", lead)]
    for name, whats in (
        ("Events", ("", "began", "ended")),
        ("Births", ("born",)),
        ("Deaths", ("died",)),
    ):
        own = [entry for entry in entries if entry[1] in whats]
        if own:
            blocks += [lines("h2", name), _items(w, own, {})]
    if ruling:
        rows: list[Row] = [("Reign or office", "From", "Until")]
        rows += [
            (link(*h.link), w.day(h.start), "in office" if h.end is None else w.day(h.end))
            for h in ruling
        ]
        blocks += [lines("h2", w.say("headings.office")), table(*rows)]
    return Sheet(article_url(str(year)), str(year), tuple(blocks), "list of what the tables have")


def month_page(month: tuple[int, int], entries: tuple[Entry, ...]) -> Sheet:
    year, number = month
    name = f"{month_name[number]} {year}"
    w, days = Writer("month", name), calendar.monthrange(year, number)
    words = {"month": name, "first": day_name[days[0]], "days": days[1],
             "last": day_name[date(year, number, days[1]).weekday()]}  # fmt: skip
    blocks = (lines("p", w.say("calendar_pages.month", **words)), _items(w, entries))
    return Sheet(article_url(name), name, blocks, "list of what the tables have")


def day_page(day: tuple[int, int], entries: tuple[Entry, ...]) -> Sheet:
    name = f"{day[1]} {month_name[day[0]]}"
    w = Writer("day", name)
    lead = lines("p", w.say("calendar_pages.day", day=name))
    return Sheet(
        article_url(name),
        f"On this day: {name}",
        (lead, _items(w, entries)),
        "list of what the tables have",
    )


def timeline(kind: str, items: tuple[Dated, ...]) -> Sheet:
    """A table with a row for each, those of one year beside it."""
    w, title = Writer("timeline", kind), f"Timeline of {plural(kind)}"
    rows: list[Row] = [("Year", capital(kind), "Dates", "Length")]
    for item in items:
        rows.append(
            (
                str(item.first.year),
                link(*item.link),
                dates_text(item, w),
                span_text(item) or "not known to the day",
            )
        )
    lead = lines("p", w.say("calendar_pages.timeline", kinds=plural(kind)))
    more = lines("ul", link(f"Category: {plural(kind)}", category_url(kind)))
    return Sheet(
        article_url(title),
        title,
        (lead, table(*rows), more),
        "list of what the tables have",
    )


def almanac(kind: str, decade: int, rows: tuple[EventRow, ...], is_last: bool = False) -> Sheet:
    """A list with dates of what began in one decade; `is_last` where the next has not begun."""
    w, title = Writer("almanac", kind, str(decade)), f"{capital(plural(kind))} by decade: {decade}s"
    cells: list[Row] = [
        (event_title(row.event), str(row.start), str(row.end))
        for row in sorted(rows, key=lambda row: (str(row.start), row.event))
    ]
    near = (
        link(f"{capital(plural(kind))} by decade: {other}s", almanac_url(kind, other))
        for other in ((decade - 10,) if is_last else (decade - 10, decade + 10))
    )
    about = lines("p", w.say("calendar_pages.almanac", kinds=plural(kind)))
    blocks = (about, table(*cells), lines("ul", *near))
    return Sheet(
        almanac_url(kind, decade), title, blocks, "list of what the tables have", "almanac"
    )


def presidents_list(terms: Sequence[TermRow]) -> Sheet:
    """Who held the office, one after the other; who came back appears twice."""
    title = "List of presidents of the United States"
    w = Writer("list", title)
    rows: list[Row] = [("Name", "Term", "First day", "Last day")]
    seen: dict[str, int] = defaultdict(int)
    for term in terms:
        seen[term.person] += 1
        name = presidency_title(term.person)
        last = w.day(term.end) if term.end else "in office"
        rows.append(
            (link(name, article_url(name)), str(seen[term.person]), w.day(term.start), last)
        )
    first = f"The list begins with {terms[0].person}, who took office on {w.day(terms[0].start)}."
    return Sheet(
        article_url(title),
        title,
        (lines("p", first), table(*rows)),
        "list of what the tables have",
    )


_HEAD = re.compile(
    r"Men's football World Cup|World exposition|(?:Summer|Winter) Olympics|Apollo|Gemini"
    r"|Chess world championship match|(?:Battle|Siege|Pontificate|Flood|Uprising) of"
    r"|[\w'’]+ (?:Congress|Games|Conference)"
)


def _shared_name(title: str) -> str | None:
    match = _HEAD.match(title)
    return match[0].removesuffix(" of") if match else None


def disambiguation(name: str, items: tuple[Dated, ...]) -> Sheet:
    """What a short name may stand for."""
    w, title = Writer("disambiguation", name), f"{name} (disambiguation)"
    lead = lines("p", w.say("calendar_pages.named_alike", name=name))
    listed = lines("ul", *(f"{link(*item.named)} ({dates_text(item, w)})" for item in items))
    return Sheet(article_url(title), title, (lead, listed), "list of what the tables have")
