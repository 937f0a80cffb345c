"""Encyclopedia articles on events, people, presidencies, offices and clubs, their links, and the
pages that mislead beside them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from agent_env.extensions.facts.site.sheet import (
    Difficulty,
    Link,
    Row,
    Sheet,
    a,
    capital,
    chance,
    date_text,
    listed,
    on_date,
)
from agent_env.extensions.facts.tables.articles import (
    GAZETTE,
    almanac_url,
    article_url,
    event_title,
    notes_url,
    presidency_title,
    report_url,
    reported_day,
    slug,
)
from agent_env.extensions.facts.tables.event_names import series_of
from agent_env.extensions.facts.tables.tables import (
    EventRow,
    FactTables,
    IntervalRow,
    LifeRow,
    LivingRow,
    TermRow,
)
from agent_env.sdk.web import words_of

Links = tuple[Link, ...]
Spells = tuple[IntervalRow, ...]
MOST = 12
"""Links of one sort that a page has."""
_NAME = re.compile(r"(?=\b([A-Z][\w'’.-]* [A-Z][\w'’-]*))")


class CrossLinks:
    """Found once for all pages of a world."""

    def __init__(self, tables: FactTables) -> None:
        self._people = {row.person for row in tables.people}
        self._people |= {row.person for row in tables.living}
        self._part_in: dict[str, list[EventRow]] = defaultdict(list)
        self._series: dict[str, list[EventRow]] = defaultdict(list)
        self._place: dict[str, int] = {}
        self._spells: dict[str, list[IntervalRow]] = defaultdict(list)
        for row in (*tables.events, *tables.planned):
            for person in self._people_in(row):
                self._part_in[person].append(row)
            series = self._series[series_of(row.event)]
            self._place[row.event] = len(series)
            series.append(row)
        for spell in sorted(tables.intervals, key=lambda spell: spell.start):
            self._spells[spell.subject].append(spell)
            self._spells[spell.object].append(spell)

    def of_event(self, row: EventRow) -> tuple[Link, ...]:
        """The people in it, and those before and after it in its series."""
        links = [(person, article_url(person)) for person in self._people_in(row)]
        series, at = self._series[series_of(row.event)], self._place[row.event]
        near = [*series[max(0, at - 1) : at], *series[at + 1 : at + 2]]
        return (*links, *map(_to, near))

    def of_person(self, person: str) -> tuple[Link, ...]:
        """What the person had part in, and offices and clubs."""
        links = [_to(row) for row in self._part_in[person][:MOST]]
        objects = dict.fromkeys(spell.object for spell in self.spells_of(person))
        return (*links, *((name, article_url(name)) for name in objects))

    def spells_of(self, name: str) -> tuple[IntervalRow, ...]:
        """Of a person, or of an office or club: who stood in which relation, in order of time."""
        return tuple(self._spells.get(name, ()))

    def _people_in(self, row: EventRow) -> list[str]:
        names = _NAME.findall(row.summary) if self._people else []
        return [name for name in dict.fromkeys(names) if name in self._people]


def _to(row: EventRow) -> Link:
    title = event_title(row.event)
    return title, article_url(title)


INVENTED = "Everything on this page belongs to an imaginary world."
PASSAGE = (
    "Several accounts of {it} have come down to us, and they do not agree in everything. Letters, "
    "ledgers and a number of later retellings are kept in public collections; whoever quotes from "
    "them is asked to compare them first, to mind the difference between hearsay and record, and "
    "to read on to the end of this article before copying anything out of it."
)
RELATIONS = {
    "holds_office": "Office", "plays_for": "Played for", "manages": "Managed",
    "works_for": "Worked for", "member_of": "Member of", "attends": "Attended",
    "owns": "Owned", "heads": "Headed",
}  # fmt: skip
INVERSES = {
    "holds_office": "Holder", "plays_for": "Player", "manages": "Manager",
    "works_for": "Employee", "member_of": "Member", "attends": "Student",
    "owns": "Owner", "heads": "Head",
}  # fmt: skip


def event_article(
    row: EventRow, level: Difficulty, links: Links, invented: bool, is_printed: bool = True
) -> Sheet:
    """The article that proves an event's dates. `is_printed`: the news of its first day are."""
    rng = chance("article", row.event)
    title = event_title(row.event)
    when = f"{capital(row.event)}{_when(row, rng)}."
    paragraphs = [when, row.summary]
    rows: list[Row] = [("Kind", row.kind)]
    if level.hides_dates(title):
        paragraphs = [PASSAGE.format(it=row.event), row.summary, when]
    else:
        named = (("First day", row.start), ("Last day", row.end))
        rows += [(name, date_text(day, rng)) for name, day in named if day is not None]
    if row.years:
        rows.append(("Years", ", ".join(map(str, row.years))))
    if row.hint:
        rows.append(("Keywords", ", ".join(keywords(row.hint, level.keywords, rng))))
    rows.append(("Source", row.source or "not stated"))
    return Sheet(
        article_url(title),
        title,
        tuple(filter(None, [*paragraphs, INVENTED if invented else ""])),
        tuple(rows),
        (*_sites(row, is_printed), *links),
    )


def announcement(row: EventRow, links: Links, invented: bool) -> Sheet:
    """The article on an event that has not begun. Each of its dates stands in a sentence or a line
    that says that it is planned."""
    assert row.start is not None  # nothing is announced without
    rng = chance("announcement", row.event)
    title = event_title(row.event)
    start, end = row.start, row.end
    when = f"will take place {on_date(start, rng)}"
    rows: list[Row] = [("Kind", row.kind), ("Planned first day", date_text(start, rng))]
    if start != end:
        when = f"will begin {on_date(start, rng)}"
        when += f" and end {on_date(end, rng)}" if end else ""
        rows += [("Planned last day", date_text(end, rng))] if end else []
    paragraphs = [f"{capital(row.event)} is planned and {when}.", "It has not begun yet."]
    paragraphs += [INVENTED] if invented else []
    all_links = (_list_link(row), *links)
    return Sheet(article_url(title), title, tuple(paragraphs), tuple(rows), all_links)


def _list_link(row: EventRow) -> Link:
    return f"List of articles: {row.kind}", list_url(row.kind)


def _sites(row: EventRow, is_printed: bool) -> Iterator[Link]:
    yield _list_link(row)
    if row.start is not None and row.end is not None:
        yield f"Almanac: {row.kind}", almanac_url(row.kind, row.start.year)
    if (day := reported_day(row, "start")) is not None and is_printed:
        yield "In the Gazette", report_url(row.event, "start", day)
    if (notes := notes_url(row.event)) is not None and row.start is not None and row.end:
        yield "Someone's notes", notes


def _when(row: EventRow, rng: Random) -> str:
    if row.start is not None and row.end is None:
        return f" began {on_date(row.start, rng)} and still lasts"
    if row.start is None and row.end is not None:
        return f" ended {on_date(row.end, rng)}"
    if row.start is None or row.end is None:
        return f" took place in {listed([str(year) for year in row.years])}"
    if row.start == row.end:
        return f" took place {on_date(row.start, rng)}"
    start, end = on_date(row.start, rng), on_date(row.end, rng)
    return rng.choice(
        [
            f" lasted from {start[3:]} to {end[3:]}",
            f" began {start} and ended {end}",
            f", which opened {start}, came to its end {end}",
        ]
    )


def keywords(hint: str, share: float, rng: Random) -> list[str]:
    """A part of the words by which a puzzle may allude to an event: enough to find its article
    by, though the whole allusion may find nothing."""
    words = list(dict.fromkeys(words_of(hint)))
    chosen_words = set(rng.sample(words, min(len(words), -int(-share * len(words) // 1))))
    return [word for word in words if word in chosen_words]


def person_article(
    row: LifeRow, level: Difficulty, spells: Spells, links: Links, invented: bool
) -> Sheet:
    rng = chance("person", row.person)
    born, died = date_text(row.start, rng), date_text(row.end, rng)
    lead = f"{row.person} (born {born}, died {died}) was {a(row.description)}."
    rows: list[Row] = [("Born", born), ("Died", died)]
    paragraphs = [lead]
    if level.hides_dates(row.person):
        life_text = f"{row.person} was born on {born} and died on {died}."
        paragraphs = [
            PASSAGE.format(it=row.person),
            f"{row.person} was {a(row.description)}.",
            life_text,
        ]
        rows = []
    return _on_person(row, paragraphs, rows, rng, spells, links, invented)


def living_article(
    row: LivingRow, level: Difficulty, spells: Spells, links: Links, invented: bool
) -> Sheet:
    """The article on someone who has not died."""
    rng = chance("person", row.person)
    born = date_text(row.start, rng)
    paragraphs = [f"{row.person} was born on {born}."]
    rows: list[Row] = [("Born", born)]
    if level.hides_dates(row.person):
        paragraphs, rows = [PASSAGE.format(it=row.person), *paragraphs], []
    if row.description:
        paragraphs.insert(-1, f"{row.person} is {a(row.description)}.")
    return _on_person(row, paragraphs, rows, rng, spells, links, invented)


def _on_person(
    row: LifeRow | LivingRow,
    paragraphs: list[str],
    rows: list[Row],
    rng: Random,
    spells: Spells,
    links: Links,
    invented: bool,
) -> Sheet:
    rows += [_spell(RELATIONS, s, s.object, rng) for s in spells]
    rows.append(("Source", row.source or "an invented world"))
    if invented:
        paragraphs.append(INVENTED)
    return Sheet(article_url(row.person), row.person, tuple(paragraphs), tuple(rows), links)


def _spell(words: dict[str, str], spell: IntervalRow, other: str, rng: Random) -> Row:
    until = date_text(spell.end, rng) if spell.end else "still"
    return (words[spell.relation], other, f"from {date_text(spell.start, rng)}", f"to {until}")


def object_article(name: str, spells: Spells) -> Sheet:
    """The article on an office or a club, with everyone in it."""
    rng = chance("object", name)
    is_office = spells[0].relation == "holds_office"
    what = "an office that the townspeople vote on" if is_office else "a club"
    rows = tuple(_spell(INVERSES, spell, spell.subject, rng) for spell in spells)
    people = dict.fromkeys(spell.subject for spell in spells)
    links = tuple((person, article_url(person)) for person in people)
    return Sheet(article_url(name), name, (f"{name} is {what}.", INVENTED), rows, links)


def presidency_article(person: str, terms: tuple[TermRow, ...], level: Difficulty) -> Sheet:
    """The article that proves the days of a US president in office."""
    rng = chance("president", person)
    title = presidency_title(person)
    spans = [
        f"from {date_text(term.start, rng)} "
        + (f"to {date_text(term.end, rng)}" if term.end else "on, a term that still lasts")
        for term in terms
    ]
    terms_text = f"{person} was President of the United States {listed(spans)}."
    rows: list[Row] = [("Office", "President of the United States")]
    for number, term in enumerate(terms, start=1):
        which = f" (term {number})" if len(terms) > 1 else ""
        rows.append((f"First day in office{which}", date_text(term.start, rng)))
        if term.end:
            rows.append((f"Last day in office{which}", date_text(term.end, rng)))
    if level.hides_dates(title):
        return Sheet(
            article_url(title), title, (PASSAGE.format(it=title), terms_text), tuple(rows[:1])
        )
    return Sheet(article_url(title), title, (terms_text,), tuple(rows))


def list_url(kind: str) -> str:
    return article_url(f"List of articles: {kind}")


def kind_list(kind: str, rows: tuple[EventRow, ...], planned: tuple[EventRow, ...] = ()) -> Sheet:
    """Links to the articles of one kind, without dates."""
    links = [_to(row) for row in rows]
    links += [(f"{title} (planned)", url) for title, url in map(_to, planned)]
    return Sheet(
        list_url(kind), f"List of articles: {kind}", ("Articles of one kind.",), (), tuple(links)
    )


# Pages whose words fit and whose dates do not; each says so to whoever reads it -----------------

NAMESAKES = ("board game", "song", "café", "ferry", "racehorse", "crossword series")
COPIES = "https://copies.example/page/"
THINGS = "https://things.example/"
LATEST = date(2025, 12, 1)


def traps(row: EventRow, level: Difficulty) -> Iterator[Sheet]:
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
    url = COPIES + article_url(title).rsplit("/", 1)[1]
    return Sheet(url, title, paragraphs, rows, links, since=max(end, row.end.last))


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
    links = (("The event", article_url(title)),)
    return Sheet(url, title, paragraphs, rows, links, since=end)


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
    printed = last + timedelta(days=1)
    title = event_title(row.event)
    paragraphs = (
        f"Printed on {date_text(printed, rng)}.",
        f"The commemoration of {row.event} was opened on {date_text(first, rng)} and closed on "
        f"{date_text(last, rng)}, {years} years after the event itself.",
        f"Speakers recalled {row.hint or row.event}. The commemoration is an invention of this "
        "site.",
    )
    url = f"{GAZETTE}{printed:%Y/%m/%d}/{slug(title)}-{years}-years-on"
    links = ((title, article_url(title)),)
    return Sheet(url, f"{title} remembered", paragraphs, (), links, "gazette", printed)


def _moved(day: date, rng: Random) -> date:
    """Another day, in another year and month more often than not."""
    return day + timedelta(days=rng.choice((-1, 1)) * rng.randint(35, 500))
