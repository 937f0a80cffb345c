"""Encyclopedia articles on events, people, presidencies, offices and clubs.

All that they state is computed from the tables, or is in stories.toml. Where a page names
something else, its dates are in the same line: who takes the pages away that state a date finds
these, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta

from agent_env.features.facts.site.sheet import (
    Block,
    Difficulty,
    Link,
    Row,
    Sheet,
    Writer,
    a,
    capital,
    infobox,
    lines,
    link,
    listed,
    note,
    phrases,
    plural,
    stories,
    table,
)
from agent_env.features.facts.site.surroundings import Around, Dated, dated, length_days
from agent_env.features.facts.tables.articles import (
    Edge,
    almanac_url,
    article_url,
    event_title,
    notes_url,
    presidency_title,
    report_title,
    report_url,
    reported_day,
)
from agent_env.features.facts.tables.tables import (
    EventRow,
    IntervalRow,
    LifeRow,
    LivingRow,
    TermRow,
)
from agent_env.temporal.days import PartialDate
from agent_env.temporal.systems.catalogue import open_calendar

DAY = timedelta(days=1)
MANY_DAYS = 100
"""A length above it is told in months and years."""
LATEST = date(2025, 12, 1)
"""What pages tell of as past is not later, in tables that do not age."""


def event_article(
    row: EventRow,
    level: Difficulty,
    around: Around,
    invented: bool,
    is_printed: bool = True,
    anniversaries: tuple[int, ...] = (),
) -> Sheet:
    """The article that proves an event's dates. `is_printed`: the news of its first day are;
    `anniversaries`: which have been."""
    w, title = Writer("article", row.event), event_title(row.event)
    item, is_late = dated(row), level.hides_dates(title)
    words = {"it": row.event, "It": capital(row.event), "kind": row.kind, "kinds": plural(row.kind)}
    sources = list(_sources(row, is_printed, w))
    when = _when(row, w, words) + "".join(note(n) for n in range(1, len(sources) + 1))
    first = when if not is_late else "" if row.summary else w.say("lead.undated", **words)
    blocks = [lines("p", f"{first} {row.summary}".strip())]
    blocks.append(_infobox(row, around, w, is_late))
    story = _story(row, around, w)
    if story:
        blocks += [lines("h2", w.say("headings.story")), lines("p", *story)]
    course = [when] if is_late else []
    if item is not None:
        course += list(_course(item, w, words))
    if len(row.years) > 1:
        course.append(w.say("course.years", count=row.years[-1] - row.years[0]))
    if course:
        blocks += [lines("h2", w.say("headings.course")), lines("p", *course)]
    if item is not None:
        blocks += _people(item, around, w, words)
        blocks += _offices(item, around, w, words)
        blocks += _near(item, around, w, words)
        blocks += _kin(item, around, w, words)
        blocks += _anniversaries(item, anniversaries, w, words)
        blocks += _calendars([("First day", item.start), ("Last day", item.end)], w)
    elif around.times:
        blocks += [lines("h2", w.say("headings.near")), lines("p", w.say("near.years"))]
        blocks.append(
            lines(
                "ul",
                *(
                    f"{each.first.year}: {link(*each.link)} ({dates_text(each, w)})"
                    for each in around.times
                ),
            )
        )
    if sources:
        blocks += [lines("h2", w.say("headings.notes")), lines("ol", *sources)]
    more = [(f"Category: {plural(row.kind)}", category_url(row.kind))]
    if row.start is not None and row.end is not None:
        more.append(
            (f"{capital(plural(row.kind))} by decade", almanac_url(row.kind, row.start.year))
        )
        if (url := notes_url(row.event)) is not None:
            more.append((f"A page of notes on {row.event}", url))
    blocks += [lines("h2", w.say("headings.see_also")), _linked(more)]
    truth = f"{'invented world' if invented else 'fact table'}; event: {row.event}; {row.source}"
    return Sheet(article_url(title), title, tuple(blocks), truth)


def _linked(pairs: Iterable[Link]) -> Block:
    return lines("ul", *(link(*pair) for pair in pairs))


def _sources(row: EventRow, is_printed: bool, w: Writer) -> Iterator[str]:
    if (day := reported_day(row, "start")) is not None and is_printed:
        yield _source(row, "start", day, w)
    if row.start != row.end and (day := reported_day(row, "end")) is not None:
        yield _source(row, "end", day, w)


def _source(row: EventRow, edge: Edge, day: date, w: Writer) -> str:
    title = f"“{report_title(row, edge)}”"
    return f"{link(title, report_url(row.event, edge, day))}, The Gazette, {w.day(day + DAY)}."


def _when(row: EventRow, w: Writer, words: dict[str, str]) -> str:
    start, end = row.start, row.end
    if start is None and end is None:
        key = "lead.when_years_a" if row.event.startswith(("a ", "an ")) else "lead.when_years"
        return w.say(key, years=listed(map(str, row.years)), **words)
    if start is None or end is None:
        key = "lead.when_until" if start is None else "lead.when_since"
        known = {"on": w.on(start)} if start else {"on_end": w.on(end)} if end else {}
        return w.say(key, **known, **words)
    if start == end:
        key = "lead.when_point" if start.day else "lead.when_part"
        return w.say(key, on=w.on(start), **words)
    return w.say(
        "lead.when_span", on=w.on(start), on_end=w.on(end), start=w.day(start), end=w.day(end),
        **words,
    )  # fmt: skip


def _infobox(row: EventRow, around: Around, w: Writer, is_late: bool) -> Block:
    rows: list[Row] = [
        (event_title(row.event),),
        (w.rng.choice(["Kind", "Type", "Nature"]), kind_name(row)),
    ]
    bounds = [("First day", row.start), ("Last day", row.end)]
    names = w.rng.choice([("First day", "Last day"), ("Began", "Ended"), ("Start", "End")])
    if not is_late and row.start == row.end and row.start is not None:
        rows.append(("Date", w.day(row.start)))
    elif not is_late:
        rows += [(name, w.day(day)) for name, (_, day) in zip(names, bounds, strict=True) if day]
    if row.years:
        rows.append(("Years", ", ".join(map(str, row.years))))
    item = dated(row)
    if item is not None and length_days(item) is not None:
        rows.append(("Length", span_text(item)))
    rows += [("People", link(*person.link)) for person in around.people]
    return infobox(*rows)


def _story(row: EventRow, around: Around, w: Writer) -> list[str]:
    """What happened; nothing of what is not over."""
    if not row.summary:
        return []
    if (known := stories().get(row.event)) is not None:
        return [known]
    names = {key: person.title for key, person in zip("ab", around.people, strict=False)}
    if f"stories.{row.kind}" not in phrases() or len(names) < 2 - (row.kind == "tenure"):
        return []
    text = w.say(f"stories.{row.kind}", it=row.event, It=capital(row.event), **names)
    return [text, w.say(f"stories_more.{row.kind}", it=row.event, It=capital(row.event), **names)]


def _course(item: Dated, w: Writer, words: dict[str, str]) -> Iterator[str]:
    days = length_days(item)
    if days is None:
        return
    end = item.end or item.start
    key = "course.one_weekday" if days == 1 else "course.two_weekdays"
    text = w.say(key, weekday=w.weekday(item.start), weekday_end=w.weekday(end), **words)
    if days > 1:
        span = length_text(item.first, item.last + DAY)
        more = w.say(
            "course.long_length" if days > MANY_DAYS else "course.length",
            days=counted(days, "day"), length=span, **words,
        )  # fmt: skip
        text = f"{text} {more}"
    yield text


def _people(item: Dated, around: Around, w: Writer, words: dict[str, str]) -> Iterator[Block]:
    texts = [
        w.say(
            "people.part", person=link(*life.link), born=w.day(life.start),
            on_born=w.on(life.start), age=years_between(life.first, item.first), **words,
        )
        for life in around.people
    ]  # fmt: skip
    if alive := around.alive:
        ages = [years_between(life.first, item.first) for life in alive]
        named = listed(
            f"{link(*life.link)} (born {w.day(life.start)}, then {age})"
            for life, age in zip(alive, ages, strict=True)
        )
        key = "people.alive" if len(alive) > 1 else "people.alive_one"
        texts.append(w.say(key, people=named, People=named, **words))
        if len(alive) > 2 and ages[0] - ages[-1] > 1:
            years = counted(years_between(alive[0].first, alive[-1].first), "year")
            texts[-1] += " " + w.say(
                "people.older", elder=alive[0].title, younger=alive[-1].title, years=years
            )
    if texts:
        yield lines("h2", w.say("headings.people"))
        yield lines("p", " ".join(texts[:2]), " ".join(texts[2:]))


def _offices(item: Dated, around: Around, w: Writer, words: dict[str, str]) -> Iterator[Block]:
    if not around.holders:
        return
    yield lines("h2", w.say("headings.office"))
    yield lines("p", w.say("office.table", **words))
    rows = [("Reign or office", "From", "Until")]
    rows += [(link(*h.link), w.day(h.start), "in office" if h.end is None else w.day(h.end))
             for h in around.holders]  # fmt: skip
    yield table(*rows)
    if len(around.holders) > 1:
        oldest = around.holders[0]
        length = length_text(oldest.first, item.first)
        title = f"{oldest.phrase} ({dates_text(oldest, w)})"
        yield lines("p", w.say("office.longest", title=title, Title=title, length=length))


def _near(item: Dated, around: Around, w: Writer, words: dict[str, str]) -> Iterator[Block]:
    texts = []
    for other in (*reversed(around.before), *around.after):
        days = (other.first - item.first).days
        key = "near.before" if days < 0 else "near.after" if days else "near.same_day"
        gap = (
            counted(abs(days), "day")
            if abs(days) < 62
            else length_text(*sorted((other.first, item.first)))
        )
        texts.append(w.say(key, gap=gap, title=link(*other.named), dates=dates_text(other, w)))
    if texts:
        yield lines("h2", w.say("headings.near"))
        yield lines("p", w.say("near.list", **words))
        yield lines("ul", *texts)


def _kin(item: Dated, around: Around, w: Writer, words: dict[str, str]) -> Iterator[Block]:
    named = {
        key: f"{link(*other.named)} ({dates_text(other, w)})"
        for key, other in zip(("before", "after"), around.kin, strict=True)
        if other is not None
    }
    if not named:
        return
    key = "between" if len(named) == 2 else "last" if "before" in named else "first"
    text = w.say(f"others.{key}", **named, **words)
    days, others = length_days(item), [length_days(each) for each in around.kin if each]
    if key == "between" and days is not None and all(others):
        known = [each or 0 for each in others]
        which = "longer" if days > max(known) else "shorter" if days < min(known) else ""
        if which:
            text += " " + w.say(f"others.{which}", days=counted(days, "day"), **words)
    yield lines("h2", w.say("headings.others"))
    yield lines("p", text)


def anniversaries_by(row: EventRow, today: date) -> tuple[int, ...]:
    """Which anniversaries of its first day have been by then: of 10, 25, 50, … years, the last
    two."""
    if row.start is None or row.start.day is None:
        return ()
    first = row.start.first
    return tuple(n for n in (1, 10, 25, 50, 100, 150, 200) if _later(first, n) <= today)[-2:]


def _later(day: date, years: int) -> date:
    try:
        return day.replace(year=day.year + years)
    except ValueError:  # 29 February, or beyond the calendar
        return date.max if day.year + years > date.max.year else date(day.year + years, 3, 1)


def _anniversaries(
    item: Dated, years: Sequence[int], w: Writer, words: dict[str, str]
) -> Iterator[Block]:
    if years:
        yield lines("h2", w.say("headings.anniversary"))
        for n in years:
            weekday = w.weekday(_later(item.first, n))
            text = w.say("anniversary.fell", n=n, nth=_nth(n), weekday=weekday, **words)
            yield lines("p", capital(text.replace("1 years", "one year") if n == 1 else text))


KIND_NAMES = {"office": "term of office", "talks": "round of talks"}
"""Of kinds of events whose word alone says too little."""


def kind_name(row: EventRow) -> str:
    """What kind of event it is, as its page says."""
    return KIND_NAMES.get(row.kind, row.kind)


CALENDARS = ("hebrew", "persian", "coptic", "ethiopic")
_EPOCH = date(1, 1, 1).toordinal() + 1721424.5


def _calendars(
    bounds: Sequence[tuple[str, PartialDate | date | None]], w: Writer
) -> Iterator[Block]:
    """A table of the days in other calendars. Its lines begin with the names of the calendars, by
    which a page that is copied with other dates leaves them out."""
    days = {
        name: bound.first if isinstance(bound, PartialDate) else bound
        for name, bound in bounds
        if bound is not None and (not isinstance(bound, PartialDate) or bound.day)
    }
    if len(set(days.values())) == 1:
        days = {"Date": next(iter(days.values()))}
    if not days:
        return
    rows: list[Row] = [("Calendar", *days)]
    rows.append(("Julian", *(_julian(day) for day in days.values())))
    for name in CALENDARS:
        calendar = open_calendar(name)
        if all(calendar.first <= day <= calendar.last for day in days.values()):
            dates = [calendar.from_gregorian(day) for day in days.values()]
            cells = (f"{d.day} {calendar.month_name(d)} {d.year}" for d in dates)
            rows.append((name.capitalize(), *cells))
    weeks = (day.isocalendar() for day in days.values())
    rows.append(("ISO week", *(f"{y}-W{week:02}-{n}" for y, week, n in weeks)))
    yield lines("h2", w.say("headings.calendars"))
    yield table(*rows)


def _julian(day: date) -> str:
    """The day as the Julian calendar counts it, by its four-year cycles."""
    number = day.toordinal() + 1721425 + 32082  # days since 1 March 4801 BC
    year, rest = divmod(4 * number + 3, 1461)
    month, of_month = divmod(5 * (rest // 4) + 2, 153)
    number = month + 3 - 12 * (month // 10)
    name = date(2000, number, 1).strftime("%B")
    return f"{of_month // 5 + 1} {name} {year - 4800 + month // 10}"


# Words for spans --------------------------------------------------------------------------------


def dates_text(item: Dated, w: Writer) -> str:
    if item.end is None:
        return f"since {w.day(item.start)}"
    if item.start == item.end:
        return w.day(item.start)
    return f"{w.day(item.start)} – {w.day(item.end)}"


def years_between(first: date, last: date) -> int:
    """Full years."""
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


def length_text(first: date, last: date) -> str:
    """Such as `3 years and 2 months`; days where it is less than two months."""
    months = 12 * (last.year - first.year) + last.month - first.month - (last.day < first.day)
    years, rest = divmod(months, 12)
    if months < 2:
        return counted((last - first).days, "day")
    parts = [counted(years, "year")] if years else []
    return listed([*parts, counted(rest, "month")] if rest or not parts else parts)


def span_text(item: Dated) -> str:
    """How long it lasted, both ends counted; "" where that is unknown."""
    days = length_days(item)
    if days is None:
        return ""
    return counted(days, "day") if days <= MANY_DAYS else length_text(item.first, item.last + DAY)


def counted(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def _nth(number: int) -> str:
    if number == 1:
        return "first"
    end = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else end}"


# What has not begun -----------------------------------------------------------------------------


def announcement(row: EventRow, invented: bool) -> Sheet:
    """The article on an event that has not begun. Each of its dates is in a sentence or a line
    that says that it is planned."""
    assert row.start is not None  # nothing is announced without
    w = Writer("announcement", row.event)
    title, start, end = event_title(row.event), row.start, row.end
    when = f"will take place {w.on(start)}"
    rows: list[Row] = [("Kind", row.kind), ("Planned first day", w.day(start))]
    if start != end:
        when = f"will begin {w.on(start)}" + (f" and end {w.on(end)}" if end else "")
        rows += [("Planned last day", w.day(end))] if end else []
    blocks = (
        lines("p", f"{capital(row.event)} is planned and {when}.", "It has not begun yet."),
        infobox(*rows),
        _linked([(f"Category: {plural(row.kind)}", category_url(row.kind))]),
    )
    truth = f"{'invented world' if invented else 'fact table'}; planned event: {row.event}"
    return Sheet(article_url(title), title, blocks, truth)


# People -----------------------------------------------------------------------------------------

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


def person_article(row: LifeRow, level: Difficulty, around: Around, invented: bool) -> Sheet:
    """The article that proves the days of a life."""
    w, name, is_late = Writer("person", row.person), row.person, level.hides_dates(row.person)
    what = a(row.description)
    days = {"born": w.day(row.start), "died": w.day(row.end), "on_born": w.on(row.start),
            "on_died": w.on(row.end)}  # fmt: skip
    lead = (
        f"{name} was {what}." if is_late else w.say("person.lead", person=name, what=what, **days)
    )
    age = years_between(row.start, row.end)
    box: list[Row] = [(name,)]
    box += [] if is_late else [("Born", days["born"]), ("Died", days["died"])]
    life = [w.say("person.life", person=name, **days)] if is_late else []
    life.append(
        w.say(
            "person.weekdays", person=name, weekday=w.weekday(row.start),
            weekday_end=w.weekday(row.end),
        )
    )  # fmt: skip
    life.append(w.say("person.age", person=name, age=age))
    return _on_person(row, [lead], box, life, w, around, invented)


def living_article(row: LivingRow, level: Difficulty, around: Around, invented: bool) -> Sheet:
    """The article on someone who has not died."""
    w, is_late = Writer("person", row.person), level.hides_dates(row.person)
    born = f"{row.person} was born {w.on(row.start)}."
    lead = [f"{row.person} is {a(row.description)}."] if row.description else []
    lead += [] if is_late else [born]
    box: list[Row] = [(row.person,)] if is_late else [(row.person,), ("Born", w.day(row.start))]
    life = [born] if is_late else []
    life.append(f"The day of birth was {w.weekday(row.start)}.")
    return _on_person(row, lead, box, life, w, around, invented)


def _on_person(
    row: LifeRow | LivingRow,
    lead: list[str],
    box: list[Row],
    life: list[str],
    w: Writer,
    around: Around,
    invented: bool,
) -> Sheet:
    name = row.person
    blocks = [lines("p", *lead), infobox(*box)]
    if isinstance(row, LifeRow) and (story := stories().get(name)):
        blocks += [lines("h2", w.say("headings_of_people.story_head")), lines("p", story)]
    blocks += [
        lines("h2", w.say("headings_of_people.life_head")),
        lines("p", life[0], " ".join(life[1:])),
    ]
    if around.spells:
        blocks += [lines("h2", w.say("headings_of_people.post_head"))]
        blocks += [lines("p", w.say("person.post", person=name))]
        blocks.append(table(*(_spell(RELATIONS, s, s.object, w) for s in around.spells)))
    for key, events in (("part", around.events), ("times", around.times)):
        if events:
            items = (
                f"{capital(link(*each.named))} ({dates_text(each, w)}), "
                f"at {years_between(row.start, each.first)}"
                for each in events
                if each.first.year > row.start.year
            )
            blocks += [lines("h2", w.say(f"headings_of_people.{key}_head"))]
            blocks += [lines("p", w.say(f"person.{key}", person=name)), lines("ul", *items)]
    blocks += _calendars([("Birth", row.start), ("Death", getattr(row, "end", None))], w)
    near = [f"{link(*each.link)} (born {w.day(each.start)})"
            for each in (*around.before, *around.after)]  # fmt: skip
    if near:
        blocks += [lines("h2", w.say("headings.see_also")), lines("ul", *near)]
    truth = f"{'invented world' if invented else 'fact table'}; life: {name}; {row.source}"
    return Sheet(article_url(name), name, tuple(blocks), truth)


def _spell(words: dict[str, str], spell: IntervalRow, other: str, w: Writer) -> Row:
    until = f"to {w.day(spell.end)}" if spell.end else "to the present"
    named = link(other, article_url(other))
    return (words[spell.relation], named, f"from {w.day(spell.start)}", until)


def object_article(name: str, spells: tuple[IntervalRow, ...]) -> Sheet:
    """The article on an office or a club, with everyone in it."""
    w = Writer("object", name)
    is_office = spells[0].relation == "holds_office"
    what = "an office for which the townspeople vote" if is_office else "a club"
    people = dict.fromkeys(spell.subject for spell in spells)
    first, last = spells[0], spells[-1]
    told = (
        (
            f"Its list of {counted(len(people), 'name')} begins with {first.subject}, from "
            f"{w.day(first.start)} on; the latest is {last.subject}, from {w.day(last.start)} on."
        )
        if len(people) > 1
        else ""
    )
    rows = tuple(_spell(INVERSES, spell, spell.subject, w) for spell in spells)
    blocks = (lines("p", f"{name} is {what}.", told), table(*rows))
    return Sheet(article_url(name), name, blocks, f"invented world; {name}")


def presidency_article(
    person: str,
    terms: tuple[TermRow, ...],
    level: Difficulty,
    around: Around,
    kin: tuple[Link | None, Link | None],
) -> Sheet:
    """The article that proves the days of a US president in office."""
    w, title = Writer("president", person), presidency_title(person)
    is_late = level.hides_dates(title)
    spans = [
        f"from {w.day(term.start)} "
        + (f"to {w.day(term.end)}" if term.end else "on, a term that still lasts")
        for term in terms
    ]
    stated = w.say("presidency.terms", person=person, spans=listed(spans))
    box: list[Row] = [(title,), ("Office", "President of the United States")]
    for number, term in enumerate(terms if not is_late else (), start=1):
        which = f" (term {number})" if len(terms) > 1 else ""
        box.append((f"First day in office{which}", w.day(term.start)))
        if term.end:
            box.append((f"Last day in office{which}", w.day(term.end)))
    blocks = [lines("p", w.say("presidency.lead", person=person) if is_late else stated)]
    blocks.append(infobox(*box))
    if (story := stories().get(title)) and all(term.end for term in terms):
        blocks += [lines("h2", w.say("headings.story")), lines("p", story)]
    course = [stated] if is_late else []
    for term in terms:
        course.append(w.say("presidency.sworn", person=person, weekday=w.weekday(term.start)))
        if term.end:
            days = counted((term.end - term.start).days + 1, "day")
            span = length_text(term.start, term.end + DAY)
            course[-1] += " " + w.say("presidency.length", person=person, days=days, length=span)
    blocks += [lines("h2", w.say("headings.course")), lines("p", *course)]
    named = {
        k: link(each[0].removeprefix(presidency_title("")), each[1])
        for k, each in zip(("before", "after"), kin, strict=True)
        if each
    }
    if named:
        key = "between" if len(named) == 2 else f"only_{next(iter(named))}"
        blocks.append(lines("p", w.say(f"presidency.{key}", person=person, **named)))
    if around.times:
        items = (f"{capital(link(*each.named))} ({dates_text(each, w)})" for each in around.times)
        blocks += [lines("h2", w.say("headings_of_people.times_head"))]
        blocks += [lines("p", w.say("presidency.events", person=person)), lines("ul", *items)]
    days_of = [("First day", terms[0].start), ("Last day", terms[-1].end)]
    blocks += _calendars(days_of, w)
    return Sheet(article_url(title), title, tuple(blocks), f"fact table; {title}")


def category_url(kind: str) -> str:
    """Where the articles of a kind are listed."""
    return article_url(f"Category: {plural(kind)}")


def category(
    kind: str,
    rows: tuple[EventRow, ...],
    planned: tuple[EventRow, ...] = (),
    decades: tuple[int, ...] = (),
) -> Sheet:
    """Links to the articles of one kind with their years, and to the lists by decade."""
    w = Writer("category", kind)
    titles = {event_title(row.event): _years_text(row) for row in rows}
    titles |= {event_title(row.event): "planned" for row in planned}
    items = (
        f"{link(title, article_url(title))} ({text})" for title, text in sorted(titles.items())
    )
    lead = w.say("calendar_pages.category", kinds=plural(kind), count=counted(len(titles), "page"))
    lists = (link(f"{decade}s", almanac_url(kind, decade)) for decade in decades)
    more = f"By decade: {listed(lists)}." if decades else ""
    title = f"Category: {plural(kind)}"
    blocks = (lines("p", lead, more), lines("ul", *items))
    return Sheet(category_url(kind), title, blocks, "list of articles")


def _years_text(row: EventRow) -> str:
    years = [str(day.year) for day in (row.start, row.end) if day is not None]
    if not years:
        return ", ".join(map(str, row.years))
    if row.end is None:
        return f"since {years[0]}"
    return "–".join(dict.fromkeys(years)) if row.start else f"until {years[0]}"
