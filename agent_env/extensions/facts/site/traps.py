"""Pages whose words fit and whose dates do not. Each says so to whoever reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from agent_env.extensions.facts.site.sheet import Difficulty, Sheet, capital, chance, date_text
from agent_env.extensions.facts.tables.articles import GAZETTE, article_url, event_title, slug
from agent_env.extensions.facts.tables.tables import EventRow

NAMESAKES = ("board game", "song", "café", "ferry", "racehorse", "crossword series")
COPIES = "https://copies.example/page/"
THINGS = "https://things.example/"
LATEST = date(2025, 12, 1)


def traps(row: EventRow, level: Difficulty) -> Iterator[Sheet]:
    """What of its kind the event has at this level."""
    rng = chance("distractor", row.event)
    draw = rng.random()
    if draw < level.copies and row.start is not None and row.end is not None:
        yield outdated_copy(row, rng)
    elif draw < level.copies + level.namesakes:
        yield namesake(row, rng)
    late = chance("anniversary", row.event)
    if late.random() < level.anniversaries and (report := anniversary(row, late)) is not None:
        yield report


def outdated_copy(row: EventRow, rng: Random) -> Sheet:
    """An early copy with the dates that were expected then, which turned out otherwise."""
    assert row.start is not None
    assert row.end is not None
    title = event_title(row.event)
    start = _moved(row.start.first, rng)
    end = max(_moved(row.end.first, rng), start)
    first, last = date_text(start, rng), date_text(end, rng)
    paragraphs = (
        f"{capital(row.event)}: expected from {first} to {last}. {title} ({row.kind}). {title}.",
        f"{row.summary} In short: {row.hint or row.event}.".strip(),
        "This is an outdated copy, kept as if it were from before the event ended, with the dates "
        "expected then; the copy and its dates are an invention of this site.",
    )
    rows = (("Expected first day", first), ("Expected last day", last))
    links = (("Current article", article_url(title)),)
    return Sheet(COPIES + article_url(title).rsplit("/", 1)[1], title, paragraphs, rows, links)


def namesake(row: EventRow, rng: Random) -> Sheet:
    """Something else that bears the event's name."""
    title = event_title(row.event)
    what = rng.choice(NAMESAKES)
    start = date(rng.randint(1960, 2015), rng.randint(1, 12), rng.randint(1, 28))
    end = start + timedelta(days=rng.randint(200, 4000))
    first, last = date_text(start, rng), date_text(end, rng)
    paragraphs = (
        f"{title} is a {what}, named after {row.event}. {title} was to be had from {first} to "
        f"{last}.",
        f"The {what} {title} is an invention of this site and has nothing else to do with "
        f"{row.hint or row.event} ({row.kind}).",
    )
    rows = (("What", what), ("Available from", first), ("Available until", last))
    url = f"{THINGS}{slug(what)}/{article_url(title).rsplit('/', 1)[1]}"
    return Sheet(url, title, paragraphs, rows, (("The event", article_url(title)),))


def anniversary(row: EventRow, rng: Random) -> Sheet | None:
    """A report on the commemoration of an event, with the dates of the commemoration."""
    bound = row.start or row.end
    if bound is None:
        return None
    years = rng.choice([n for n in (10, 25, 50, 75, 100) if bound.year + n < LATEST.year] or [0])
    if not years:
        return None
    first = date(bound.year + years, rng.randint(1, 12), rng.randint(1, 28))
    last = first + timedelta(days=rng.randint(1, 9))
    title = event_title(row.event)
    paragraphs = (
        f"Printed on {date_text(last + timedelta(days=1), rng)}.",
        f"The commemoration of {row.event} was opened on {date_text(first, rng)} and closed on "
        f"{date_text(last, rng)}, {years} years after the event itself.",
        f"Speakers recalled {row.hint or row.event}. The commemoration is an invention of this "
        "site.",
    )
    url = f"{GAZETTE}{last + timedelta(days=1):%Y/%m/%d}/{slug(title)}-{years}-years-on"
    links = ((title, article_url(title)),)
    return Sheet(url, f"{title} remembered", paragraphs, (), links, "gazette")


def _moved(day: date, rng: Random) -> date:
    """Another day, in another year and month more often than not."""
    return day + timedelta(days=rng.choice((-1, 1)) * rng.randint(35, 500))
