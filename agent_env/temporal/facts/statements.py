"""From Wikidata's statements to rows of an event table; whatever is in doubt is left out.

Times come as `xsd:dateTime` with a precision and a calendar model of their own. Taken are the
precisions year (9), month (10) and day (11) in the Gregorian calendar, years 1 to 9999.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Literal

from agent_env.records.schema import Record
from agent_env.temporal.facts.articles import event_title
from agent_env.temporal.facts.rules import row_defects
from agent_env.temporal.facts.tables import EventRow
from agent_env.temporal.partial import PartialDate

JULIAN = "Q1985786"
GREGORIAN = "Q1985727"
PARTS = {9: 1, 10: 2, 11: 3}
"""How many of year, month and day a precision gives."""

Bound = Literal["start", "end", "point"]


class Statement(Record):
    """One time that the service states of an item."""

    bound: Bound
    time: str
    """As written, such as `1815-06-18T00:00:00Z`."""
    precision: int
    calendar: str
    """The calendar model's item."""


class Item(Record):
    """What the service says of one item."""

    id: str
    kind: str
    """Name of the kind it was found under."""
    names: dict[str, str]
    """By language."""
    descriptions: dict[str, str]
    statements: tuple[Statement, ...]


class Gathered:
    """Rows made of items, and counts of the items that gave none, by reason."""

    def __init__(self, languages: Sequence[str], now: date) -> None:
        self._languages = languages
        self._now = now
        self._rows: dict[str, EventRow] = {}
        self._ambiguous: set[str] = set()
        self._seen: set[str] = set()
        self.left_out: Counter[str] = Counter()

    def add(self, items: Iterable[Item]) -> None:
        """Take in more items; one that was seen under another kind counts once."""
        for item in items:
            if item.id in self._seen:
                continue
            self._seen.add(item.id)
            try:
                self._take(row_of(item, self._languages, self._now))
            except LeftOut as exc:
                self.left_out[str(exc)] += 1

    def _take(self, row: EventRow) -> None:
        """A name that several items bear can stand for none of them."""
        name = event_title(row.event).casefold()
        if name in self._ambiguous:
            raise LeftOut(AMBIGUOUS)
        if self._rows.pop(name, None) is not None:
            self._ambiguous.add(name)
            self.left_out[AMBIGUOUS] += 1
            raise LeftOut(AMBIGUOUS)
        self._rows[name] = row

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, limit: int) -> tuple[EventRow, ...]:
        """The first rows, in the order in which they came."""
        return tuple(self._rows.values())[:limit]


AMBIGUOUS = "a name that several items bear"


class LeftOut(ValueError):
    """Why an item gives no row."""


def row_of(item: Item, languages: Sequence[str], now: date) -> EventRow:
    """The item's row; LeftOut says why there is none."""
    language = next((code for code in languages if item.names.get(code, "").strip()), None)
    if language is None:
        raise LeftOut("no name in the languages asked for")
    name = " ".join(item.names[language].split())
    if re.search(r"\d{3}", name) or not name.isprintable():
        raise LeftOut("a name with a number in it that may be its year")
    about = " ".join(item.descriptions.get(language, "").split())
    start, end = _bounds(item.statements)
    row = EventRow(
        event=with_article(name) if language == "en" else name,
        kind=item.kind,
        summary="" if re.search(r"\d", about) or not about.isprintable() else about,
        hint="",
        start=start,
        end=end,
        years=(),
        source=f"Wikidata {item.id}",
    )
    if any(row_defects(row, now)):
        raise LeftOut("dates that cannot be")
    return row


def _bounds(statements: Sequence[Statement]) -> tuple[PartialDate, PartialDate]:
    """First and last day; a point in time counts as both where neither is stated."""
    bounds = {s.bound for s in statements}
    if "start" in bounds and "end" in bounds:
        return _agreed(statements, "start"), _agreed(statements, "end")
    if bounds == {"point"}:
        point = _agreed(statements, "point")
        return point, point
    raise LeftOut("no start or no end" if bounds else "no date")


def _agreed(statements: Sequence[Statement], bound: Bound) -> PartialDate:
    """The one date that all statements of a bound allow, as precise as any of them has it."""
    days = [read_time(s) for s in statements if s.bound == bound]
    finest = max(days, key=lambda day: len(str(day)))
    if any(not day.first <= finest.first <= finest.last <= day.last for day in days):
        raise LeftOut("statements that disagree")
    return finest


_TIME = re.compile(r"([+-]?)(\d{1,16})-(\d\d)-(\d\d)T[\d:.]+(?:Z|\+00:00)?")


def read_time(statement: Statement) -> PartialDate:
    """The date at its precision; LeftOut for one that cannot be told for sure."""
    if statement.calendar == JULIAN:
        raise LeftOut("a date in the Julian calendar")
    if statement.calendar != GREGORIAN or statement.precision not in PARTS:
        raise LeftOut("a precision or calendar that is not known here")
    match = _TIME.fullmatch(statement.time)
    if match is None or match[1] == "-" or not 1 <= int(match[2]) <= 9999:
        raise LeftOut("a date outside the years 1 to 9999")
    parts = [int(match[number]) for number in (2, 3, 4)][: PARTS[statement.precision]]
    try:
        return PartialDate.parse("-".join((f"{parts[0]:04d}", *(f"{p:02d}" for p in parts[1:]))))
    except ValueError:
        raise LeftOut("dates that cannot be") from None


_OF_A_PLACE = re.compile(r"[A-Z]\w+ (?:of|at|in|on|for) .+")
_COMMON_LAST = frozenset(
    "war wars revolution rebellion uprising revolt crisis expedition campaign offensive battle "
    "siege massacre earthquake coup affair incident conflict mutiny riots exhibition exposition "
    "congress conference games raid strike plot".split()
)


def with_article(name: str) -> str:
    """An English label as it stands in a sentence: names built on a common noun take `the`."""
    if name.split(" ", 1)[0].lower() in ("the", "a", "an"):
        return name[0].lower() + name[1:]
    last = name.rsplit(" ", 1)[-1].lower()
    if " " in name and (_OF_A_PLACE.fullmatch(name) or last in _COMMON_LAST):
        return f"the {name}"
    return name
