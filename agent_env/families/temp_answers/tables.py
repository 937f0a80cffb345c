"""Questions about one fictional person's table: ages, spans, years and dates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from random import Random

from agent_env.families.temp_answers.drafts import Draft, day, number, year
from agent_env.records.schema import MaterialTable
from agent_env.temporal.facts.tables import IntervalRow, LifeRow
from agent_env.temporal.fiction.world import make_world

COLUMNS = ("section", "entry", "date")
PER_TABLE = 5
"""Questions about one table."""
TODAY = date(2026, 1, 1)
"""The current date that table prompts state."""
When = date | int
"""A day, or a year where the table gives only that."""


def make_people(count: int, seed: int) -> tuple[MaterialTable, ...]:
    """Tables of people with at least one career entry; every third table gives years only."""
    world = make_world(min(max(1500, count * 12), 200_000), seed)
    people = list(world.people)
    Random(f"tables/{seed}").shuffle(people)
    careers: dict[str, list[IntervalRow]] = defaultdict(list)
    for row in world.intervals:
        careers[row.subject].append(row)
    busy = [person for person in people if careers[person.person]][:count]
    return tuple(
        _table(careers[who.person], who, years_only=number % 3 == 2)
        for number, who in enumerate(busy)
    )


def _table(intervals: Sequence[IntervalRow], who: LifeRow, years_only: bool) -> MaterialTable:
    person = who.person
    words = {"plays_for": ("Joined", "Left"), "manages": ("Began to manage", "Ceased to manage"),
             "holds_office": ("Took office as", "Left office as")}  # fmt: skip
    career = [
        (f"{word} {row.object}", when)
        for row in sorted(intervals, key=lambda row: row.start)
        for word, when in zip(words[row.relation], (row.start, row.end), strict=True)
        if when is not None
    ]
    entries = [("Life", "Born", who.start), *(("Career", *entry) for entry in career)]
    entries.append(("Life", "Died", who.end))
    rows_by_entry = {
        entry: (
            section,
            entry,
            str(when.year) if years_only else f"{when:%B} {when.day}, {when.year}",
        )
        for section, entry, when in reversed(entries)
    }
    rows = (("", person, ""), *reversed(rows_by_entry.values()))
    return MaterialTable(name="person", columns=COLUMNS, rows=rows)


def make(rng: Random, table: MaterialTable, number_of: int) -> Draft:
    """Question types in turn; a table of years gets no question that needs days."""
    name = str(table.rows[0][1])
    entries = {str(entry): read_date(str(when)) for _, entry, when in table.rows[1:]}
    career = [entry for entry in entries if entry not in ("Born", "Died")]
    entry = rng.choice(career)
    exact = isinstance(entries["Born"], date)
    kind = number_of % 5
    if kind == 0:
        text = f"How many full years old was {name} at the entry “{entry}”?"
        amount = full_years(entries["Born"], entries[entry])
        return number("age", text, "years", amount, "line", table=table, years_only=not exact)
    if kind == 1:
        text = f"In which year was the entry “{entry}” of {name}?"
        return year("year", text, _year(entries[entry]), "line", table=table, years_only=not exact)
    one, other = sorted(rng.sample(career, 2), key=lambda e: _order(entries[e]))
    if kind == 2 and exact:
        text = f"How many days lie between the entries “{one}” and “{other}” of {name}?"
        apart = (entries[other] - entries[one]).days  # type: ignore[operator,union-attr]
        return number("days", text, "days", apart, "line", table=table)
    if kind == 3 and exact:
        if rng.random() < 0.4:
            text = f"On what date was the entry “{entry}” of {name}?"
            return day("date", text, entries[entry], "line", table=table)  # type: ignore[arg-type]
        text = f"How many full months lie between “{one}” and “{other}” of {name}?"
        months = full_months(entries[one], entries[other])  # type: ignore[arg-type]
        return number("months", text, "months", months, "line", table=table)
    text = f"How many full years before the current date was the entry “{entry}” of {name}?"
    amount = full_years(entries[entry], TODAY)
    return number("since", text, "years", amount, "line", table=table, years_only=not exact)


def read_date(text: str) -> When:
    """The day or year in a cell."""
    if text.isdigit():
        return int(text)
    return datetime.strptime(text, "%B %d, %Y").date()  # noqa: DTZ007 - a day has no zone


def _order(when: When) -> date:
    return when if isinstance(when, date) else date(when, 1, 1)


def full_years(first: When, last: When) -> int:
    """Completed years; the difference of the years where either is only a year."""
    if isinstance(first, int) or isinstance(last, int):
        return _year(last) - _year(first)
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


def full_months(first: date, last: date) -> int:
    """Completed months."""
    months = 12 * (last.year - first.year) + last.month - first.month
    return months - (last.day < first.day)


def _year(when: When) -> int:
    return when.year if isinstance(when, date) else when
