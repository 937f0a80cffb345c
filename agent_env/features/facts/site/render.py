"""Every page of a world, in a fixed order; the same tables and difficulty give the same bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, timedelta
from functools import partial

from agent_env.features.facts.site.calendar_pages import almanac, calendar_pages
from agent_env.features.facts.site.encyclopedia import (
    LATEST,
    anniversaries_by,
    announcement,
    category,
    event_article,
    length_text,
    living_article,
    object_article,
    person_article,
    presidency_article,
)
from agent_env.features.facts.site.misleading import traps
from agent_env.features.facts.site.sheet import (
    DEFAULT,
    LEVELS,
    Difficulty,
    Sheet,
    Writer,
    capital,
    infobox,
    lines,
    link,
)
from agent_env.features.facts.site.surroundings import Around, Surroundings, presidency
from agent_env.features.facts.site.tables import table_pages
from agent_env.features.facts.tables.articles import (
    Edge,
    article_url,
    event_title,
    notes_url,
    presidency_title,
    report_title,
    report_url,
    reported_day,
)
from agent_env.features.facts.tables.tables import EventRow, FactTables, LifeRow, TermRow
from agent_env.sdk.records import MaterialTable


def reports(row: EventRow, around: Around, invented: bool) -> Iterator[Sheet]:
    """News of the first and the last day, each known to the day; one for what lasted a day."""
    edges: tuple[Edge, ...] = ("start",) if row.start == row.end else ("start", "end")
    for edge in edges:
        day = reported_day(row, edge)
        if day is None:
            continue
        w, title = Writer("report", row.event, edge), event_title(row.event)
        printed = day + timedelta(days=1)
        key = {"start": "begins", "end": "ended"}[edge]
        key = "took_place" if row.start == row.end else key
        words = {"it": row.event, "It": capital(row.event), "day": w.weekday(day)}
        texts = [w.say(f"reports.{key}", **words)]
        if edge == "end" and (start := reported_day(row, "start")) is not None:
            gap = length_text(start, day)
            texts.append(w.say("reports.since", gap=gap, start=w.day(start)))
        if edges[-1] == edge:  # the news of the first day do not know how it went on
            texts.append(row.summary)
        year = timedelta(days=400)
        lately = [each for each in around.before if day - year < each.last < day]
        more = ""
        if lately:
            last = lately[-1]
            dates = w.span(last.start, last.end).removeprefix("on ")
            more = w.say("reports.lately", title=link(*last.named), dates=dates)
        yield Sheet(
            report_url(row.event, edge, day),
            report_title(row, edge),
            (
                lines("p", w.say("reports.dateline", printed=w.day(printed))),
                lines("p", " ".join(texts).strip(), more),
                lines("ul", link(title, article_url(title))),
            ),
            f"written after {'an invented world' if invented else 'the fact table'}: {row.event}",
            "gazette",
            printed,
        )


def notes_on_life(row: LifeRow) -> Iterator[Sheet]:
    """A private page on a person, where someone keeps one."""
    url, name = notes_url(row.person), row.person
    if url is not None:
        w = Writer("notes", name)
        blocks = (
            lines("p", w.say("notes.life", person=name, what=row.description)),
            infobox(("Born", w.day(row.start)), ("Died", w.day(row.end))),
            lines("ul", link(name, article_url(name))),
        )
        yield Sheet(url, f"My notes: {name}", blocks, f"life: {name}", "notes")


Maker = partial[Iterator[Sheet]]
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
        elif (key := _key(make)) in memo:
            sheets = memo[key]
        else:
            sheets = memo[key] = tuple(make())
        yield from _written_by(sheets, tables.today)
    for table in temporal:
        yield from table_pages(table, level, today=tables.today)


def render_changed(
    plain: FactTables, moved: FactTables, level: Difficulty
) -> tuple[list[Sheet], list[Sheet]]:
    """Of two worlds, the pages of each that depend on rows that the other does not have. What makes
    the pages of the plain one is kept for the next call."""
    if not _kept or _kept[0][0] is not plain or _kept[0][1] != level:
        _kept[:] = [(plain, level, {_key(make): make for make in _makers(plain, level)})]
    makers = _kept[0][2], {_key(make): make for make in _makers(moved, level)}
    rest = ([m for key, m in own.items() if key not in other]
            for own, other in (makers, reversed(makers)))  # fmt: skip
    one, two = ([sheet for make in own for sheet in make()] for own in rest)
    return one, two


_kept: list[tuple[FactTables, Difficulty, dict[tuple[object, ...], Maker]]] = []
"""The plain world of the last call of `render_changed`, if any."""


def _key(make: Maker) -> tuple[object, ...]:
    return (make.func, *make.args)


def _written_by(sheets: Iterable[Sheet], today: date | None) -> Iterator[Sheet]:
    return (s for s in sheets if today is None or s.since is None or s.since <= today)


def _makers(tables: FactTables, level: Difficulty) -> Iterator[Maker]:
    """Functions that make all pages but those of temporal tables; their arguments are all that the
    pages depend on."""
    found, today, invented = Surroundings(tables), tables.today, tables.invented
    for row in tables.events:
        is_printed = today is None or row.start is None or row.start.first < today
        years = anniversaries_by(row, today or LATEST)
        own = (level, found.of_event(row), invented, is_printed, years, today is not None)
        yield partial(_event_pages, row, *own)
    for row in tables.planned:
        yield partial(_one, announcement, row, invented)
    for life in tables.people:
        around = found.of_person(life.person)
        yield partial(_one, person_article, life, level, around, invented)
        yield partial(notes_on_life, life)
    for person in tables.living:
        around = found.of_person(person.person)
        yield partial(_one, living_article, person, level, around, invented)
    for name in dict.fromkeys(spell.object for spell in tables.intervals):
        yield partial(_one, object_article, name, found.spells_of(name))
    terms: dict[str, list[TermRow]] = defaultdict(list)
    for term in tables.presidents:
        terms[term.person].append(term)
    names = list(terms)
    near = [None, *((n, article_url(presidency_title(n))) for n in names), None]
    for at, (name, spans) in enumerate(terms.items()):
        own_times = found.of_term([presidency(term) for term in spans])
        kin = (near[at], near[at + 2]) if len(spans) == 1 else (None, None)
        yield partial(_one, presidency_article, name, tuple(spans), level, own_times, kin)
    kinds, planned = _by_kind(tables.events), _by_kind(tables.planned)
    for kind in sorted(kinds.keys() | planned.keys()):
        decades = sorted(_decades(kinds.get(kind, ())).items())
        own_decades = tuple(decade for decade, _ in decades)
        parts = (kinds.get(kind, ()), planned.get(kind, ()), own_decades)
        yield partial(_one, category, kind, *parts)
        for decade, rows in decades:
            is_last = today is not None and decade + 10 > today.year
            yield partial(_one, almanac, kind, decade, tuple(rows), is_last)
    yield from calendar_pages(tables, found)


def _one(make: Callable[..., Sheet], *parts: object) -> Iterator[Sheet]:
    yield make(*parts)


def _by_kind(events: Iterable[EventRow]) -> dict[str, tuple[EventRow, ...]]:
    kinds: dict[str, list[EventRow]] = defaultdict(list)
    for row in events:
        kinds[row.kind].append(row)
    return {kind: tuple(rows) for kind, rows in kinds.items()}


def _event_pages(
    row: EventRow,
    level: Difficulty,
    around: Around,
    invented: bool,
    is_printed: bool,
    anniversaries: tuple[int, ...],
    ages: bool,
) -> Iterator[Sheet]:
    """Its article, and what is on other sites; nothing misleads about what still lasts in a
    world that ages."""
    yield event_article(row, level, around, invented, is_printed, anniversaries)
    yield from reports(row, around, invented)
    # a private page on an event whose both ends are known, where someone keeps one
    url, title = notes_url(row.event), event_title(row.event)
    if url is not None and row.start is not None and row.end is not None:
        w = Writer("notes", row.event)
        sentence = w.say("notes.event", it=row.event, on=w.on(row.start), on_end=w.on(row.end))
        blocks = (
            lines("p", row.summary, sentence),
            lines("ul", link(title, article_url(title))),
        )
        yield Sheet(url, f"My notes: {title}", blocks, f"event: {row.event}", "notes")
    if row.end is not None or not ages:
        yield from traps(row, level)


def _decades(rows: Iterable[EventRow]) -> dict[int, list[EventRow]]:
    """The events whose both ends are known, by the decade in which they began."""
    decades: dict[int, list[EventRow]] = defaultdict(list)
    for row in rows:
        if row.start is not None and row.end is not None:
            decades[row.start.year // 10 * 10].append(row)
    return decades
