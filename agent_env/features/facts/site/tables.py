"""Pages on the rows of temporal tables, and what misleads beside them.

An old version has the rows as they were known on an earlier day; it bears the same title and says
from when it is. A namesake lists the same names with other dates, for something named after them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from random import Random

from agent_env.features.facts.site.misleading import COPIES, NAMESAKES, THINGS
from agent_env.features.facts.site.sheet import (
    Block,
    Difficulty,
    Sheet,
    Writer,
    a,
    chance,
    lines,
    link,
    listed,
)
from agent_env.features.facts.tables.articles import RowPage, TablePages, time_places
from agent_env.sdk.records import MaterialTable
from agent_env.temporal.days import PartialDate

STILL = "still"
"""Stands for the end of what lasts."""
LINKED = 40
"""Links that a page has."""
Cells = tuple[str | int | float | None, ...]


def table_pages(
    table: MaterialTable,
    level: Difficulty,
    only: Collection[int] | None = None,
    today: date | None = None,
) -> Iterator[Sheet]:
    """All pages of the table, or those with one of `only` these rows, in the order of its columns
    and rows, with their traps. No invented date is after `today`."""
    pages = TablePages(table)
    by_value = {page.values[0]: page for page in pages if len(page.values) == 1}
    for page in pages:
        if only is not None and set(page.rows).isdisjoint(only):
            continue
        rows = [table.rows[place] for place in page.rows]
        w = Writer("rows", page.url)
        links = dict.fromkeys(
            (value, by_value[name, value].url)
            for row in rows
            for name, value in _values(table, row)
            if (name, value) in by_value and ((name, value),) != page.values
        )
        table_block = _rows(table, rows, w)
        about = [lines("p", f"{page.title}. {_whole(page)}")]
        if level.hides_dates(page.url):  # the rows are behind what can be said of them
            about.append(lines("p", *_summary(table, rows)))
        ends = lines("ul", *(link(*each) for each in tuple(links)[:LINKED]))
        yield Sheet(page.url, page.title, (*about, table_block, ends), f"table {page.table}")
        rng = chance("distractor", page.url)
        draw = rng.random()
        if draw < level.copies:
            copy = _outdated_copy(table, page, rng)
            if copy is not None:
                yield copy
        elif draw < level.copies + level.namesakes and len(page.rows) > 1:
            yield _namesake(table, page, rng, today)


def _whole(page: RowPage) -> str:
    """What makes the page complete: a reader can rely on it."""
    which = " and ".join(f"{name} {value}" for name, value in page.values)
    count = "The only entry" if len(page.rows) == 1 else f"All {len(page.rows)} entries"
    return f"{count} under {which} in the list of {page.table}, earliest first."


def _values(table: MaterialTable, row: Cells) -> Iterator[tuple[str, str]]:
    time = time_places(table)
    for place, cell in enumerate(row):
        if place not in time and cell not in (None, ""):
            yield table.columns[place], str(cell)


def _summary(table: MaterialTable, rows: Sequence[Cells]) -> Iterator[str]:
    """What else is in the rows, most frequent first."""
    for place, name in enumerate(table.columns):
        if place in time_places(table):
            continue
        values = Counter(str(row[place]) for row in rows if row[place] not in (None, ""))
        if len(values) > 1:
            named = listed(value for value, _ in values.most_common(8))
            more = f", and {len(values) - 8} more" if len(values) > 8 else ""
            yield f"Under {name} stand {named}{more}."


def _rows(table: MaterialTable, rows: Sequence[Cells], w: Writer) -> Block:
    """A line of heads, then a numbered line for each row, its dates last."""
    time = time_places(table)
    own = [place for place in range(len(table.columns)) if place not in time]
    head = ("No.", *(table.columns[place] for place in own), "from", "until")
    own_lines = (
        (
            str(number),
            *(("" if row[place] is None else " ".join(str(row[place]).split())) for place in own),
            _day(row[time[0]], w),
            _day(row[time[1]], w),
        )
        for number, row in enumerate(rows, start=1)
    )
    return "table", (head, *own_lines)


def _day(cell: str | int | float | None, w: Writer) -> str:
    if cell in (None, ""):
        return STILL
    try:
        return w.day(PartialDate.parse(str(cell)))
    except ValueError:
        return str(cell)  # a published table may hold other notations


# What misleads ----------------------------------------------------------------------------------


def _outdated_copy(table: MaterialTable, page: RowPage, rng: Random) -> Sheet | None:
    """The rows as they were known when the last but one began; None where that is now."""
    start, end = time_places(table)
    rows = [table.rows[place] for place in page.rows]
    begun = sorted({str(row[start]) for row in rows})
    if len(begun) < 2:
        return None
    day = begun[-2]
    known_rows = [
        tuple(
            None if place == end and str(cell or "") > day else cell for place, cell in enumerate(r)
        )
        for r in rows
        if str(r[start]) <= day
    ]
    last = known_rows[-1]
    latest = ", ".join(value for _, value in _values(table, last))
    w = Writer("copy", page.url)
    blocks = (
        lines(
            "p",
            f"This page is an old version, kept as it stood on {_day(day, w)}. What came later is "
            "in the current one.",
            f"{page.title}. The latest entry is {latest}, from {_day(last[start], w)} on. "
            f"{len(known_rows)} {'entry' if len(known_rows) == 1 else 'entries'}, earliest first.",
        ),
        _rows(table, known_rows, w),
        lines("ul", link("Current version", page.url)),
    )
    url = f"{COPIES}{page.url.rsplit('/', 2)[1]}/{page.url.rsplit('/', 1)[1]}"
    return Sheet(url, page.title, blocks, f"invented: an old version of a page of {page.table}")


def _namesake(table: MaterialTable, page: RowPage, rng: Random, today: date | None) -> Sheet:
    """The same names, in another order and at other times, of something that is named after it."""
    noun = rng.choice(list(NAMESAKES))
    start, end = time_places(table)
    rows = [table.rows[place] for place in page.rows]
    mixed = rng.sample(rows, len(rows))
    moved = []
    for row, other in zip(rows, mixed, strict=True):
        step = timedelta(days=rng.choice((-1, 1)) * rng.randint(35, 500))
        dates = {place: _moved(row[place], step) for place in (start, end)}
        if today is not None and any(day and day > today.isoformat() for day in dates.values()):
            dates = {place: _moved(row[place], -step) for place in (start, end)}
        moved.append(tuple(dates.get(place, cell) for place, cell in enumerate(other)))
    moved.sort(key=lambda row: str(row[start]))
    about = (
        f"{page.title} is {a(noun)} named after {page.title}. Those who had a part in the {noun}, "
        "and when, are listed here."
    )
    blocks = (
        lines("p", about),
        _rows(table, moved, Writer("namesake", page.url)),
        lines("ul", link("What it is named after", page.url)),
    )
    url = f"{THINGS}{noun.replace(' ', '-')}/{page.url.rsplit('/', 1)[1]}"
    return Sheet(url, page.title, blocks, f"invented: {a(noun)} named after a page of {page.table}")


def _moved(cell: str | int | float | None, step: timedelta) -> str | None:
    """Another day at the same precision; None stays None."""
    if cell in (None, ""):
        return None
    try:
        return (PartialDate.parse(str(cell)).first + step).isoformat()[: len(str(cell))]
    except (ValueError, OverflowError):
        return str(cell)


def passed_over(tables: Sequence[MaterialTable]) -> int:
    """Groups of rows that are too large for a page."""
    return sum(TablePages(table).passed_over for table in tables)
