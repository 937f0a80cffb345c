"""What other sites say of the same things: a gazette, an almanac, private notes. It is all true."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from agent_env.temporal.facts.articles import (
    EDGE_WORDS,
    Edge,
    almanac_url,
    article_url,
    event_title,
    notes_url,
    report_url,
    reported_day,
)
from agent_env.temporal.facts.tables import EventRow, LifeRow
from agent_env.web.site.encyclopedia import INVENTED
from agent_env.web.site.sheet import Link, Sheet, capital, chance, date_text, on_date

CALLED = "This report was written for the sealed web after a table of facts; no such paper exists."


def reports(row: EventRow, invented: bool) -> Iterator[Sheet]:
    """News of the first and the last day, each known to the day; one for what lasted a day."""
    edges: tuple[Edge, ...] = ("start",) if row.start == row.end else ("start", "end")
    for edge in edges:
        day = reported_day(row, edge)
        if day is None:
            continue
        rng = chance("report", row.event, edge)
        verb = {"start": "began", "end": "ended"}[edge]
        if row.start == row.end:
            verb = "took place"
        title = event_title(row.event)
        yield Sheet(
            report_url(row.event, edge, day),
            f"{title} {EDGE_WORDS[edge]}",
            (
                f"Printed on {date_text(day + timedelta(days=1), rng)}.",
                f"{capital(row.event)} {verb} on {date_text(day, rng)}. {row.summary}".strip(),
                INVENTED if invented else CALLED,
            ),
            links=((title, article_url(title)),),
            style="gazette",
        )


def almanac(kind: str, decade: int, rows: list[EventRow]) -> Sheet:
    """A list with dates of what began in one decade."""
    title = f"Almanac: {kind}, {decade}s"
    cells = []
    for row in sorted(rows, key=lambda row: (str(row.start), row.event)):
        cells.append((event_title(row.event), str(row.start), str(row.end)))
    near: list[Link] = [
        (f"Almanac: {kind}, {other}s", almanac_url(kind, other))
        for other in (decade - 10, decade + 10)
    ]
    about = (f"First and last days of every {kind} on record that began in these ten years.",)
    return Sheet(almanac_url(kind, decade), title, about, tuple(cells), tuple(near), "almanac")


def notes_on_event(row: EventRow) -> Sheet | None:
    """A private page on an event whose both ends are known, where someone keeps one."""
    url = notes_url(row.event)
    if url is None or row.start is None or row.end is None:
        return None
    rng = chance("notes", row.event)
    title = event_title(row.event)
    sentence = (
        f"Copied out for my own use: {row.event}, begun {on_date(row.start, rng)}, over "
        f"{on_date(row.end, rng)}."
    )
    paragraphs = (f"A page from my notebook. {row.summary}".strip(), sentence)
    return Sheet(url, f"My notes: {title}", paragraphs, (), ((title, article_url(title)),), "notes")


def notes_on_life(row: LifeRow) -> Sheet | None:
    """A private page on a person, where someone keeps one."""
    url = notes_url(row.person)
    if url is None:
        return None
    rng = chance("notes", row.person)
    rows = (("Born", date_text(row.start, rng)), ("Died", date_text(row.end, rng)))
    sentences = (f"A page from my notebook, on {row.person}.", f"Remembered as {row.description}.")
    links = ((row.person, article_url(row.person)),)
    return Sheet(url, f"My notes: {row.person}", sentences, rows, links, "notes")
