"""Every page of a world, in a fixed order; the same tables and difficulty give the same bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial

from agent_env.extensions.facts.site.encyclopedia import (
    INVENTED,
    CrossLinks,
    Links,
    announcement,
    event_article,
    kind_list,
    living_article,
    object_article,
    person_article,
    presidency_article,
    traps,
)
from agent_env.extensions.facts.site.sheet import (
    DEFAULT,
    LEVELS,
    Difficulty,
    Link,
    Sheet,
    capital,
    chance,
    date_text,
    on_date,
)
from agent_env.extensions.facts.site.tables import table_pages
from agent_env.extensions.facts.tables.articles import (
    EDGE_WORDS,
    Edge,
    almanac_url,
    article_url,
    event_title,
    notes_url,
    report_url,
    reported_day,
)
from agent_env.extensions.facts.tables.tables import EventRow, FactTables, LifeRow, TermRow
from agent_env.sdk.records import MaterialTable

CALLED = "This report was written for the sealed web after a table of facts; no such paper exists."


def reports(row: EventRow, invented: bool, ages: bool = False) -> Iterator[Sheet]:
    """News of the first and the last day, each known to the day; one for what lasted a day. In a
    world that ages, the news of the first day do not know how it went on."""
    edges: tuple[Edge, ...] = ("start",) if row.start == row.end else ("start", "end")
    for edge in edges:
        day = reported_day(row, edge)
        if day is None:
            continue
        rng = chance("report", row.event, edge)
        printed = day + timedelta(days=1)
        is_told = edges[-1] == edge or not ages
        verb = {"start": "began", "end": "ended"}[edge]
        verb = "took place" if row.start == row.end else verb
        title = event_title(row.event)
        yield Sheet(
            report_url(row.event, edge, day),
            f"{title} {EDGE_WORDS[edge]}",
            (
                f"Printed on {date_text(printed, rng)}.",
                f"{capital(row.event)} {verb} on {date_text(day, rng)}. "
                f"{row.summary if is_told else ''}".strip(),
                INVENTED if invented else CALLED,
            ),
            links=((title, article_url(title)),),
            style="gazette",
            since=printed,
        )


def almanac(kind: str, decade: int, rows: tuple[EventRow, ...], is_last: bool = False) -> Sheet:
    """A list with dates of what began in one decade; `is_last` where the next has not begun."""
    title = f"Almanac: {kind}, {decade}s"
    cells = [
        (event_title(row.event), str(row.start), str(row.end))
        for row in sorted(rows, key=lambda row: (str(row.start), row.event))
    ]
    near: list[Link] = [
        (f"Almanac: {kind}, {other}s", almanac_url(kind, other))
        for other in ((decade - 10,) if is_last else (decade - 10, decade + 10))
    ]
    about = (f"First and last days of every {kind} on record that began in these ten years.",)
    return Sheet(almanac_url(kind, decade), title, about, tuple(cells), tuple(near), "almanac")


def notes_on_life(row: LifeRow) -> Iterator[Sheet]:
    """A private page on a person, where someone keeps one."""
    url, name = notes_url(row.person), row.person
    if url is not None:
        rng = chance("notes", name)
        rows = (("Born", date_text(row.start, rng)), ("Died", date_text(row.end, rng)))
        about = (f"A page from my notebook, on {name}.", f"Remembered as {row.description}.")
        links = ((name, article_url(name)),)
        yield Sheet(url, f"My notes: {name}", about, rows, links, "notes")


Memo = dict[tuple[object, ...], tuple[Sheet, ...]]
"""Pages by the function that makes them and all that they depend on."""


def render_all(
    tables: FactTables,
    level: Difficulty = LEVELS[DEFAULT],
    temporal: Sequence[MaterialTable] = (),
    memo: Memo | None = None,
) -> Iterator[Sheet]:
    """Articles, reports, notes, lists, what the temporal tables hold, and what misleads; made as
    they are asked for. In tables as of a day, what had been written by then; the temporal tables
    are to be as of that day, too. What `memo` holds is not made again."""
    for make in _makers(tables, level):
        if memo is None:
            sheets: Iterable[Sheet] = make()
        elif (key := (make.func, *make.args)) in memo:
            sheets = memo[key]
        else:
            sheets = memo[key] = tuple(make())
        for sheet in sheets:
            if tables.today is None or sheet.since is None or sheet.since <= tables.today:
                yield sheet
    for table in temporal:
        yield from table_pages(table, level, today=tables.today)


def _makers(tables: FactTables, level: Difficulty) -> Iterator[partial[Iterator[Sheet]]]:
    """Functions that make all pages but those of temporal tables; their arguments are all that the
    pages depend on."""
    links, today, invented = CrossLinks(tables), tables.today, tables.invented
    for row in tables.events:
        is_printed = today is None or row.start is None or row.start.first < today
        states = (invented, is_printed, today is not None)
        yield partial(_event_pages, row, level, links.of_event(row), *states)
    for row in tables.planned:
        yield partial(_one, announcement, row, links.of_event(row), invented)
    for life in tables.people:
        own = links.spells_of(life.person), links.of_person(life.person)
        yield partial(_one, person_article, life, level, *own, invented)
        yield partial(notes_on_life, life)
    for person in tables.living:
        own = links.spells_of(person.person), links.of_person(person.person)
        yield partial(_one, living_article, person, level, *own, invented)
    for name in dict.fromkeys(spell.object for spell in tables.intervals):
        yield partial(_one, object_article, name, links.spells_of(name))
    terms: dict[str, list[TermRow]] = defaultdict(list)
    for term in tables.presidents:
        terms[term.person].append(term)
    for president, spans in terms.items():
        yield partial(_one, presidency_article, president, tuple(spans), level)
    kinds, planned = _by_kind(tables.events), _by_kind(tables.planned)
    for kind in sorted(kinds.keys() | planned.keys()):
        yield partial(_one, kind_list, kind, kinds.get(kind, ()), planned.get(kind, ()))
    for kind in sorted(kinds):
        for decade, rows in sorted(_decades(kinds[kind]).items()):
            is_last = today is not None and decade + 10 > today.year
            yield partial(_one, almanac, kind, decade, tuple(rows), is_last)


def _one(make: Callable[..., Sheet], *parts: object) -> Iterator[Sheet]:
    yield make(*parts)


def _by_kind(events: Iterable[EventRow]) -> dict[str, tuple[EventRow, ...]]:
    kinds: dict[str, list[EventRow]] = defaultdict(list)
    for row in events:
        kinds[row.kind].append(row)
    return {kind: tuple(rows) for kind, rows in kinds.items()}


def render_event(
    tables: FactTables, row: EventRow, level: Difficulty, decades: Collection[int]
) -> Iterator[Sheet]:
    """Every page that states or misstates a date of one event of the tables: its own, and the
    lists of its kind of these decades."""
    yield from _event_pages(row, level, CrossLinks(tables).of_event(row), tables.invented)
    same_kind = [each for each in tables.events if each.kind == row.kind]
    for decade, rows in sorted(_decades(same_kind).items()):
        if decade in decades:
            yield almanac(row.kind, decade, tuple(rows))


def render_memberships(
    tables: FactTables, names: Collection[str], level: Difficulty
) -> Iterator[Sheet]:
    """Every page that shows the intervals of these people, offices and clubs: their articles."""
    own = replace(
        tables,
        events=tuple(row for row in tables.events if any(name in row.summary for name in names)),
        people=tuple(life for life in tables.people if life.person in names),
        intervals=tuple(row for row in tables.intervals if {row.subject, row.object} & set(names)),
    )
    links = CrossLinks(own)
    for life in own.people:
        spells = links.spells_of(life.person)
        yield person_article(life, level, spells, links.of_person(life.person), tables.invented)
    for name in dict.fromkeys(row.object for row in own.intervals if row.object in names):
        yield object_article(name, links.spells_of(name))


def _event_pages(
    row: EventRow,
    level: Difficulty,
    links: Links,
    invented: bool,
    is_printed: bool = True,
    ages: bool = False,
) -> Iterator[Sheet]:
    """Its article, and what stands on other sites; nothing misleads about what still lasts in a
    world that ages."""
    yield event_article(row, level, links, invented, is_printed)
    yield from reports(row, invented, ages)
    # a private page on an event whose both ends are known, where someone keeps one
    url, title = notes_url(row.event), event_title(row.event)
    if url is not None and row.start is not None and row.end is not None:
        rng = chance("notes", row.event)
        sentence = (
            f"Copied out for my own use: {row.event}, begun {on_date(row.start, rng)}, over "
            f"{on_date(row.end, rng)}."
        )
        paragraphs = (f"A page from my notebook. {row.summary}".strip(), sentence)
        links = ((title, article_url(title)),)
        yield Sheet(url, f"My notes: {title}", paragraphs, (), links, "notes")
    if row.end is not None or not ages:
        yield from traps(row, level)


def _decades(rows: Iterable[EventRow]) -> dict[int, list[EventRow]]:
    """The events whose both ends are known, by the decade in which they began."""
    decades: dict[int, list[EventRow]] = defaultdict(list)
    for row in rows:
        if row.start is not None and row.end is not None:
            decades[row.start.year // 10 * 10].append(row)
    return decades
