"""Pages whose words fit and whose dates do not: old versions, namesakes, later commemorations.

Each reads like what it is on the real web; that it is invented is in the page's source.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from agent_env.features.facts.site.encyclopedia import LATEST, kind_name
from agent_env.features.facts.site.sheet import (
    Difficulty,
    Sheet,
    Writer,
    a,
    capital,
    chance,
    infobox,
    lines,
    link,
)
from agent_env.features.facts.site.surroundings import OFFICES
from agent_env.features.facts.tables.articles import GAZETTE, article_url, event_title, slug
from agent_env.features.facts.tables.tables import EventRow

NAMESAKES = {
    "board game": "sold", "song": "played on the radio", "stage play": "performed",
    "comic series": "published", "radio play": "broadcast", "crossword series": "printed",
}  # fmt: skip
"""What may bear the name of something else, and what is said of its time."""
PLANNED = frozenset(
    """campaign congress coronation council conference election exhibition expedition exposition
    festival flight games hearing journey match mission programme referendum talks tournament visit
    voyage""".split()
)
"""Kinds of events whose days are set before they begin."""
COPIES = "https://copies.example/page/"
THINGS = "https://things.example/"


def traps(row: EventRow, level: Difficulty) -> Iterator[Sheet]:
    rng = chance("distractor", row.event)
    draw = rng.random()
    if draw < level.copies and row.start is not None and row.end is not None:
        yield outdated_copy(row, rng)
    elif draw < level.copies + level.namesakes and (thing := namesake(row, rng)) is not None:
        yield thing
    late = chance("anniversary", row.event)
    if late.random() < level.anniversaries and (report := anniversary(row, late)) is not None:
        yield report


def outdated_copy(row: EventRow, rng: Random) -> Sheet:
    """An early version with the dates that were expected then, or with wrong ones."""
    assert row.start is not None
    assert row.end is not None
    w, title = Writer("copy", row.event), event_title(row.event)
    start = moved(row.start.first, rng)
    end = start + (row.end.first - row.start.first)
    is_plan = row.kind in PLANNED
    before = min(start, row.start.first) - timedelta(days=20)
    kept = w.day(before if is_plan else end + timedelta(days=40))
    first, last = w.day(start), w.day(end)
    names = ("Expected first day", "Expected last day") if is_plan else ("First day", "Last day")
    span = w.span(start, end)
    key = "plan_when" if is_plan else "copy_when"
    when = w.say(f"misleading.{key}", it=row.event, It=capital(row.event), span=span)
    blocks = (
        lines("p", w.say(f"misleading.{'planned' if is_plan else 'mirror'}", kept=kept)),
        lines("p", when if is_plan else f"{when} {row.summary}".strip()),
        infobox((title,), ("Kind", kind_name(row)), (names[0], first), (names[1], last)),
        lines("ul", link("Current version", article_url(title))),
    )
    url = COPIES + article_url(title).rsplit("/", 1)[1]
    since = max(end + timedelta(days=40), row.end.last)
    truth = f"invented: an old version with other dates than {row.event}"
    return Sheet(url, title, blocks, truth, since=since)


def namesake(row: EventRow, rng: Random) -> Sheet | None:
    """Something else that bears the event's name, and is younger; None where that is too young."""
    w, title = Writer("namesake", row.event), event_title(row.event)
    noun = rng.choice(list(NAMESAKES))
    year = max(1960, row.end.year + 1) if row.end else 1960
    if year > 2015:
        return None
    start = date(rng.randint(year, 2015), rng.randint(1, 12), rng.randint(1, 28))
    end = start + timedelta(days=rng.randint(200, 4000))
    first, last = w.day(start), w.day(end)
    words = {"title": title, "it": row.event, "noun": noun, "kind": kind_name(row)}
    blocks = (
        lines("p", w.say("misleading.thing", what=a(noun), sold=NAMESAKES[noun], first=first,
                         last=last, **words), w.say("misleading.thing_more", **words)),
        infobox((title,), ("What", noun), ("From", first), ("Until", last)),
        lines("ul", f"{link(title, article_url(title))}, the {kind_name(row)}"),
    )  # fmt: skip
    url = f"{THINGS}{slug(noun)}/{article_url(title).rsplit('/', 1)[1]}"
    return Sheet(url, title, blocks, f"invented: {a(noun)} named after {row.event}", since=end)


def anniversary(row: EventRow, rng: Random) -> Sheet | None:
    """A report on the commemoration of an event, with the dates of the commemoration."""
    bound = row.end or row.start
    if bound is None or row.kind in OFFICES:
        return None
    years = rng.choice([n for n in (10, 25, 50, 75, 100) if bound.year + n < LATEST.year] or [0])
    if not years:
        return None
    first = date(bound.year + years, rng.randint(1, 12), rng.randint(1, 28))
    last = first + timedelta(days=rng.randint(1, 9))
    printed = last + timedelta(days=1)
    w, title = Writer("remembered", row.event), event_title(row.event)
    days = {"first": w.day(first), "last": w.day(last)}
    text = w.say("misleading.remembered", it=row.event, years=years, **days)
    more = w.say("misleading.remembered_more", summary=row.summary) if row.summary else ""
    blocks = (
        lines("p", w.say("reports.dateline", printed=w.day(printed)), text, more),
        lines("ul", link(title, article_url(title))),
    )
    url = f"{GAZETTE}{printed:%Y/%m/%d}/{slug(title)}-{years}-years-on"
    truth = f"invented: a commemoration of {row.event}"
    return Sheet(url, f"{title} remembered", blocks, truth, "gazette", printed)


def moved(day: date, rng: Random) -> date:
    """Another day, in another year and month more often than not."""
    return day + timedelta(days=rng.choice((-1, 1)) * rng.randint(35, 500))
