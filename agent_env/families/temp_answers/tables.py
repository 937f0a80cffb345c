"""Questions about one fictional person's table: ages, spans, years and dates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from random import Random

from agent_env.families.temp_answers.drafts import Draft, day, number, year
from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.tables.tables import IntervalRow, LifeRow
from agent_env.sdk.records import MaterialTable

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
    person = Person(name, table, entries, isinstance(entries["Born"], date))
    makers = (*OF_YEARS, *OF_DAYS) if person.exact else OF_YEARS
    return makers[number_of % len(makers)](rng, person)


def make_easy(rng: Random, table: MaterialTable) -> Draft:
    """The year or date of one of three entries."""
    name, *rows = table.rows
    career = [row for row in rows if row[1] not in ("Born", "Died")]
    kept = rng.sample(career, min(2, len(career)))
    short = [row for row in rows if row[1] == "Born" or row in kept]
    table = MaterialTable(name=table.name, columns=COLUMNS, rows=(name, *short))
    entries = {str(entry): read_date(str(when)) for _, entry, when in short}
    person = Person(str(name[1]), table, entries, isinstance(entries["Born"], date))
    return rng.choice((_year_of, _date_of) if person.exact else (_year_of,))(rng, person)


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    table: MaterialTable
    entries: Mapping[str, When]
    exact: bool
    """Whether the table gives days, not only years."""

    @property
    def career(self) -> list[str]:
        """The entries apart from birth and death, as the table lists them."""
        return [entry for entry in self.entries if entry not in ("Born", "Died")]

    def pair(self, rng: Random) -> tuple[str, str]:
        """Two entries of the career, the earlier one first."""
        one, other = sorted(rng.sample(self.career, 2), key=lambda e: _order(self.entries[e]))
        return one, other

    def years(self, kind: str, text: str, amount: int) -> Draft:
        return number(
            kind, text, "years", amount, "line", table=self.table, years_only=not self.exact
        )


_VERBS = {"Joined": "join", "Left": "leave", "Began": "begin", "Ceased": "cease", "Took": "take"}
"""The infinitives of what entries begin with."""


def do(entry: str) -> str:
    """An entry after `did`: `join Calvera Rovers`."""
    verb, _, rest = entry.partition(" ")
    return f"{_VERBS[verb]} {rest}"


def doing(entry: str) -> str:
    """An entry after `on`: `leaving office as Mayor of Calvera`."""
    verb, _, rest = do(entry).partition(" ")
    return f"{verb.removesuffix('e')}{'n' * (verb == 'begin')}ing {rest}"


def _age_at(rng: Random, p: Person) -> Draft:
    entry = rng.choice(p.career)
    text = f"How old was {p.name}, in full years, on {doing(entry)}?"
    return p.years("age", text, full_years(p.entries["Born"], p.entries[entry]))


def _year_of(rng: Random, p: Person) -> Draft:
    entry = rng.choice(p.career)
    text = f"In which year did {p.name} {do(entry)}?"
    when = _year(p.entries[entry])
    return year("year", text, when, "line", table=p.table, years_only=not p.exact)


def _since(rng: Random, p: Person) -> Draft:
    entry = rng.choice(p.career)
    text = f"How many full years before the current date did {p.name} {do(entry)}?"
    return p.years("since", text, full_years(p.entries[entry], TODAY))


def _years_between(rng: Random, p: Person) -> Draft:
    one, other = p.pair(rng)
    text = f"How many full years after {doing(one)} did {p.name} {do(other)}?"
    return p.years("years", text, full_years(p.entries[one], p.entries[other]))


def _last_year(rng: Random, p: Person) -> Draft:
    last = rng.random() < 0.5
    text = f"In which year was the {'last' if last else 'first'} event in the career of {p.name}?"
    when = (max if last else min)(_year(p.entries[entry]) for entry in p.career)
    return year("first_last", text, when, "line", table=p.table, years_only=not p.exact)


def _age_at_first(rng: Random, p: Person) -> Draft:
    first = min(p.career, key=lambda entry: _order(p.entries[entry]))
    text = f"How old was {p.name}, in full years, at the start of the career in the table?"
    return p.years("age", text, full_years(p.entries["Born"], p.entries[first]))


def _days_between(rng: Random, p: Person) -> Draft:
    one, other = p.pair(rng)
    text = f"How many days after {doing(one)} did {p.name} {do(other)}?"
    apart = (p.entries[other] - p.entries[one]).days  # type: ignore[operator,union-attr]
    return number("days", text, "days", apart, "line", table=p.table)


def _date_of(rng: Random, p: Person) -> Draft:
    entry = rng.choice(p.career)
    text = f"On what date did {p.name} {do(entry)}?"
    return day("date", text, p.entries[entry], "line", table=p.table)  # type: ignore[arg-type]


def _months_between(rng: Random, p: Person) -> Draft:
    one, other = p.pair(rng)
    text = f"How many full months after {doing(one)} did {p.name} {do(other)}?"
    months = full_months(p.entries[one], p.entries[other])  # type: ignore[arg-type]
    return number("months", text, "months", months, "line", table=p.table)


def _days_old(rng: Random, p: Person) -> Draft:
    entry = rng.choice(p.career)
    text = f"How many days old was {p.name} on {doing(entry)}?"
    old = (p.entries[entry] - p.entries["Born"]).days  # type: ignore[operator,union-attr]
    return number("age", text, "days", old, "line", table=p.table)


def _day_of_life(rng: Random, p: Person) -> Draft:
    born, died = p.entries["Born"], p.entries.get("Died", TODAY)
    assert isinstance(born, date)
    assert isinstance(died, date)
    days = 1000 * rng.randrange(3, max(4, min(25, (died - born).days // 1000)))
    text = f"On what date was {p.name} exactly {days} days old?"
    return day("date", text, born + timedelta(days=days), "line", table=p.table)


def _anniversary(rng: Random, p: Person) -> Draft:
    entry, years = rng.choice(p.career), 5 * rng.randrange(1, 6)
    when = p.entries[entry]
    assert isinstance(when, date)
    text = (
        "An anniversary falls on the same day of the year, or on February 28 in a year without a "
        f"February 29. On what date is the {years}th anniversary of {p.name} {doing(entry)}?"
    )
    leaps = when.month == 2 and when.day == 29 and years % 4 != 0
    then = when.replace(year=when.year + years, day=28 if leaps else when.day)
    return day("date", text, then, "line", table=p.table)


OF_YEARS = (_age_at, _year_of, _since, _years_between, _last_year, _age_at_first)
OF_DAYS = (_days_between, _date_of, _months_between, _days_old, _day_of_life, _anniversary)


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
    months = 12 * (last.year - first.year) + last.month - first.month
    return months - (last.day < first.day)


def _year(when: When) -> int:
    return when.year if isinstance(when, date) else when
