"""Every page of a world, in a fixed order; the same tables and difficulty give the same bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from agent_env.records.schema import MaterialTable
from agent_env.temporal.facts.tables import EventRow, FactTables, TermRow
from agent_env.web.site.crosslinks import CrossLinks
from agent_env.web.site.difficulty import DEFAULT, LEVELS, Difficulty
from agent_env.web.site.encyclopedia import (
    event_article,
    kind_list,
    object_article,
    person_article,
    presidency_article,
)
from agent_env.web.site.others import almanac, notes_on_event, notes_on_life, reports
from agent_env.web.site.sheet import Sheet
from agent_env.web.site.tables import table_pages
from agent_env.web.site.traps import traps


def render_all(
    tables: FactTables,
    level: Difficulty = LEVELS[DEFAULT],
    temporal: Sequence[MaterialTable] = (),
) -> Iterator[Sheet]:
    """Articles, reports, notes, lists, what the temporal tables hold, and what misleads; made as
    they are asked for."""
    links = CrossLinks(tables)
    for row in tables.events:
        yield from _event_pages(row, level, links, tables.invented)
    for life in tables.people:
        yield person_article(life, level, links, tables.invented)
        if (notes := notes_on_life(life)) is not None:
            yield notes
    for name in dict.fromkeys(spell.object for spell in tables.intervals):
        yield object_article(name, links.spells[name])
    yield from _presidencies(tables, level)
    yield from _lists(tables)
    for table in temporal:
        yield from table_pages(table, level)


def render_event(
    tables: FactTables, row: EventRow, level: Difficulty, decades: Collection[int]
) -> Iterator[Sheet]:
    """Every page that states or misstates a date of one event of the tables: its own, and the
    lists of its kind of these decades."""
    yield from _event_pages(row, level, CrossLinks(tables), tables.invented)
    same_kind = [each for each in tables.events if each.kind == row.kind]
    for decade, rows in sorted(_decades(same_kind).items()):
        if decade in decades:
            yield almanac(row.kind, decade, rows)


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
        yield person_article(life, level, links, tables.invented)
    for name in dict.fromkeys(row.object for row in own.intervals if row.object in names):
        yield object_article(name, links.spells[name])


def _event_pages(
    row: EventRow, level: Difficulty, links: CrossLinks, invented: bool
) -> Iterator[Sheet]:
    yield event_article(row, level, links, invented)
    yield from reports(row, invented)
    if (notes := notes_on_event(row)) is not None:
        yield notes
    yield from traps(row, level)


def _presidencies(tables: FactTables, level: Difficulty) -> Iterator[Sheet]:
    terms: dict[str, list[TermRow]] = defaultdict(list)
    for term in tables.presidents:
        terms[term.person].append(term)
    for person, spans in terms.items():
        yield presidency_article(person, spans, level)


def _lists(tables: FactTables) -> Iterator[Sheet]:
    kinds: dict[str, list[EventRow]] = defaultdict(list)
    for row in tables.events:
        kinds[row.kind].append(row)
    for kind, rows in sorted(kinds.items()):
        yield kind_list(kind, rows)
    for kind in sorted(kinds):
        for decade, rows in sorted(_decades(kinds[kind]).items()):
            yield almanac(kind, decade, rows)


def _decades(rows: Iterable[EventRow]) -> dict[int, list[EventRow]]:
    """The events whose both ends are known, by the decade in which they began."""
    decades: dict[int, list[EventRow]] = defaultdict(list)
    for row in rows:
        if row.start is not None and row.end is not None:
            decades[row.start.year // 10 * 10].append(row)
    return decades
