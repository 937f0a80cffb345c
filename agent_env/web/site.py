"""Renders the sealed web's pages: articles, lists, outdated copies and namesakes."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from random import Random

from agent_env.temporal.facts.articles import (
    article_url,
    event_title,
    presidency_title,
)
from agent_env.temporal.facts.tables import EventRow, FactTables, LifeRow, TermRow
from agent_env.temporal.partial import PartialDate
from agent_env.web.full_text import words_of

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
NAMESAKES = ("board game", "song", "café", "ferry", "racehorse", "crossword series")
COPIES = "https://copies.example/page/"
THINGS = "https://things.example/"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page as a site serves it."""

    url: str
    html: str


def render_all(tables: FactTables) -> Iterator[Rendered]:
    """Every page, in a fixed order; the same tables give the same bytes."""
    for row in tables.events:
        yield event_article(row)
        yield from distractors(row)
    for life in tables.people:
        yield person_article(life)
    terms: dict[str, list[TermRow]] = defaultdict(list)
    for term in tables.presidents:
        terms[term.person].append(term)
    for person, held in terms.items():
        yield presidency_article(person, held)
    yield from kind_lists(tables)


def event_article(row: EventRow) -> Rendered:
    """The article that proves an event's dates."""
    rng = _chance("article", row.event)
    title = event_title(row.event)
    paragraphs = [f"{_capital(row.event)}{_when(row, rng)}.", row.summary]
    rows = [("Kind", row.kind)]
    if row.start is not None:
        rows.append(("First day", written(row.start, rng)))
    if row.end is not None:
        rows.append(("Last day", written(row.end, rng)))
    if row.years:
        rows.append(("Years", ", ".join(map(str, row.years))))
    if row.hint:
        rows.append(("Keywords", ", ".join(keywords(row.hint, rng))))
    rows.append(("Source", row.source))
    links = [(f"List of articles: {row.kind}", list_url(row.kind))]
    return Rendered(article_url(title), _page(title, paragraphs, rows, links))


def _when(row: EventRow, rng: Random) -> str:
    if row.start is not None and row.end is None:
        return f" began on {written(row.start, rng)} and still lasts"
    if row.start is None and row.end is not None:
        return f" ended on {written(row.end, rng)}"
    if row.start is None or row.end is None:
        return f" took place in {_listed([str(year) for year in row.years])}"
    if row.start == row.end:
        return f" took place on {written(row.start, rng)}"
    start, end = written(row.start, rng), written(row.end, rng)
    return rng.choice(
        [
            f" lasted from {start} to {end}",
            f" began on {start} and ended on {end}",
            f", which opened on {start}, came to its end on {end}",
        ]
    )


def keywords(hint: str, rng: Random) -> list[str]:
    """Two thirds of the words by which a puzzle may allude to an event: enough to find its article
    by, though the whole allusion may find nothing."""
    words = list(dict.fromkeys(words_of(hint)))
    kept = set(rng.sample(words, -(-2 * len(words) // 3)))
    return [word for word in words if word in kept]


def person_article(row: LifeRow) -> Rendered:
    """The article that proves a lifespan."""
    rng = _chance("person", row.person)
    born, died = written(row.start, rng), written(row.end, rng)
    paragraphs = [f"{row.person} (born {born}, died {died}) was {_a(row.description)}."]
    rows = [("Born", born), ("Died", died), ("Source", row.source)]
    return Rendered(article_url(row.person), _page(row.person, paragraphs, rows, []))


def presidency_article(person: str, terms: list[TermRow]) -> Rendered:
    """The article that proves the days of a US president in office."""
    rng = _chance("president", person)
    title = presidency_title(person)
    spans = [
        f"from {written(term.start, rng)} "
        + (f"to {written(term.end, rng)}" if term.end else "on, a term that still lasts")
        for term in terms
    ]
    paragraphs = [f"{person} was President of the United States {_listed(spans)}."]
    rows = [("Office", "President of the United States")]
    for number, term in enumerate(terms, start=1):
        which = f" (term {number})" if len(terms) > 1 else ""
        rows.append((f"First day in office{which}", written(term.start, rng)))
        if term.end:
            rows.append((f"Last day in office{which}", written(term.end, rng)))
    return Rendered(article_url(title), _page(title, paragraphs, rows, []))


def distractors(row: EventRow) -> Iterator[Rendered]:
    """For every other event, a page that may rank above the article and misleads."""
    rng = _chance("distractor", row.event)
    draw = rng.random()
    if draw < 0.3 and row.start is not None and row.end is not None:
        yield outdated_copy(row, rng)
    elif draw < 0.55:
        yield namesake(row, rng)


def outdated_copy(row: EventRow, rng: Random) -> Rendered:
    """An early copy with the dates that were expected then, which turned out otherwise."""
    assert row.start is not None
    assert row.end is not None
    title = event_title(row.event)
    start = _moved(row.start.first, rng)
    end = max(_moved(row.end.first, rng), start)
    first, last = written(start, rng), written(end, rng)
    paragraphs = [
        f"{_capital(row.event)}: expected from {first} to {last}. {title} ({row.kind}). {title}.",
        f"{row.summary} In short: {row.hint or row.event}.",
        "This is an outdated copy, kept as if it were from before the event ended, with the dates "
        "expected then; the copy and its dates are an invention of this site.",
    ]
    rows = [("Expected first day", first), ("Expected last day", last)]
    links = [("Current article", article_url(title))]
    url = COPIES + article_url(title).rsplit("/", 1)[1]
    return Rendered(url, _page(title, paragraphs, rows, links))


def namesake(row: EventRow, rng: Random) -> Rendered:
    """Something else that bears the event's name."""
    title = event_title(row.event)
    what = rng.choice(NAMESAKES)
    start = date(rng.randint(1960, 2015), rng.randint(1, 12), rng.randint(1, 28))
    end = start + timedelta(days=rng.randint(200, 4000))
    first, last = written(start, rng), written(end, rng)
    paragraphs = [
        f"{title} is a {what}, named after {row.event}. {title} was to be had from {first} to "
        f"{last}.",
        f"The {what} {title} is an invention of this site and has nothing else to do with "
        f"{row.hint or row.event} ({row.kind}).",
    ]
    rows = [("What", what), ("Available from", first), ("Available until", last)]
    url = (
        f"{THINGS}{what.replace(' ', '-').replace('é', 'e')}/{article_url(title).rsplit('/', 1)[1]}"
    )
    return Rendered(url, _page(title, paragraphs, rows, [("The event", article_url(title))]))


def list_url(kind: str) -> str:
    """Address of the list of all articles of a kind."""
    return article_url(f"List of articles: {kind}")


def kind_lists(tables: FactTables) -> Iterator[Rendered]:
    """One list page for each kind of event, with links and no dates."""
    kinds: dict[str, list[EventRow]] = defaultdict(list)
    for row in tables.events:
        kinds[row.kind].append(row)
    for kind, rows in sorted(kinds.items()):
        links = [(event_title(row.event), article_url(event_title(row.event))) for row in rows]
        title = f"List of articles: {kind}"
        yield Rendered(list_url(kind), _page(title, ["Articles of one kind."], [], links))


def written(day: PartialDate | date, rng: Random) -> str:
    """A date in one of the ways in which sites write it."""
    if isinstance(day, PartialDate):
        if day.month is None:
            return str(day.year)
        if day.day is None:
            return f"{MONTHS[day.month - 1]} {day.year}"
        day = day.first
    month = MONTHS[day.month - 1]
    return rng.choice([f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}"])


def _page(
    title: str, paragraphs: list[str], rows: list[tuple[str, str]], links: list[tuple[str, str]]
) -> str:
    body = "".join(f"<p>{escape(text)}</p>\n" for text in paragraphs)
    if rows:
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>\n" for k, v in rows)
        body += f"<table>\n{cells}</table>\n"
    if links:
        items = "".join(f'<li><a href="{escape(u)}">{escape(t)}</a></li>\n' for t, u in links)
        body += f"<ul>\n{items}</ul>\n"
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f"<title>{escape(title)}</title></head>\n<body>\n<nav><a href='/'>Front page</a></nav>\n"
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


def _moved(day: date, rng: Random) -> date:
    """Another day, in another year and month more often than not."""
    days = rng.choice((-1, 1)) * rng.randint(35, 500)
    return day + timedelta(days=days)


def _chance(*names: str) -> Random:
    """Chance that depends on the names alone."""
    return Random(hashlib.sha256("/".join(names).encode()).digest())


def _a(noun: str) -> str:
    if noun.split(" ", 1)[0].lower() in ("a", "an", "the"):
        return noun
    return f"an {noun}" if noun[0].lower() in "aeiou" else f"a {noun}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
