"""Rows of an event table from the statements of Wikidata's query service: its queries and answers,
the pages of a long import, and the rows; whatever is in doubt is left out.

Items are listed first, page by page, and then asked about by name: so no page boundary parts the
statements of an item, and no query needs more than one kind's items sorted. Pages are kept in a
file as they come, so that a failure loses none of them. Times come as `xsd:dateTime` with a
precision and a calendar model of their own. Taken are the precisions year (9), month (10) and day
(11) in the Gregorian calendar, years 1 to 9999.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from agent_env.features.facts.tables.articles import event_title
from agent_env.features.facts.tables.tables import EventRow
from agent_env.features.facts.tables.user_tables import row_defects
from agent_env.sdk.errors import ConfigError, StorageError
from agent_env.sdk.records import Record
from agent_env.temporal.days import PartialDate

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
                row = row_of(item, self._languages, self._now)
                name = event_title(row.event).casefold()
                if name in self._ambiguous:
                    raise LeftOut(AMBIGUOUS)
                if self._rows.pop(name, None) is not None:
                    self._ambiguous.add(name)
                    self.left_out[AMBIGUOUS] += 1
                    raise LeftOut(AMBIGUOUS)
                self._rows[name] = row
            except LeftOut as exc:
                self.left_out[str(exc)] += 1

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
    """An English label as it is in a sentence: names built on a common noun take `the`."""
    if name.split(" ", 1)[0].lower() in ("the", "a", "an"):
        return name[0].lower() + name[1:]
    last = name.rsplit(" ", 1)[-1].lower()
    if " " in name and (_OF_A_PLACE.fullmatch(name) or last in _COMMON_LAST):
        return f"the {name}"
    return name


class Kind(Record):
    """A class of events."""

    name: str
    item: str
    """Its item, such as Q178561."""


class ImportQuery(Record):
    """What an import asks for; pages of another one are of no use to it."""

    endpoint: str
    kinds: tuple[Kind, ...]
    languages: tuple[str, ...]
    sitelinks: int
    """Only items with at least as many articles in all encyclopedias together."""
    page_size: int
    """Items per page."""


class ItemPage(Record):
    """One page of the items of a kind."""

    kind: str
    last: str
    """The key after which the next page begins."""
    more: bool
    """Whether there may be a next page."""
    items: tuple[Item, ...]


class KeptPages:
    """The file. Guarantees: a page that was added is there after a crash of this process; a line
    that was cut off is dropped. Not covered: two imports into one file at the same time."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def open(self, query: ImportQuery) -> list[ItemPage]:
        """The pages kept so far; ConfigError where they are those of another import."""
        lines = self._whole_lines()
        if not lines:
            self._write(query.model_dump_json().encode() + b"\n", "wb")
            return []
        try:
            stored_query = ImportQuery.model_validate_json(lines[0])
            pages = [ItemPage.model_validate_json(line) for line in lines[1:]]
        except ValidationError as exc:
            raise ConfigError(f"{self.file} holds no pages of an import; delete it") from exc
        if stored_query != query:
            raise ConfigError(
                f"{self.file} holds pages of an import that asked for something else; "
                "ask for the same, delete it, or write to another file"
            )
        self._write(b"".join(line + b"\n" for line in lines), "wb")  # without a cut line
        return pages

    def add(self, page: ItemPage) -> None:
        """Keep one more page."""
        self._write(page.model_dump_json().encode() + b"\n", "ab")

    def discard(self) -> None:
        """The import is done."""
        self.file.unlink(missing_ok=True)

    def _whole_lines(self) -> list[bytes]:
        try:
            return self.file.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as exc:
            raise ConfigError(f"cannot read {self.file}: {exc.strerror}") from exc

    def _write(self, data: bytes, mode: str) -> None:
        try:
            with self.file.open(mode) as file:
                file.write(data)
        except OSError as exc:
            raise StorageError(f"cannot write {self.file}: {exc.strerror}") from exc


ENTITY = "http://www.wikidata.org/entity/"
TIMES: dict[Bound, str] = {"start": "P580", "end": "P582", "point": "P585"}

Solution = Mapping[str, Mapping[str, Any]]
"""One row of results: terms by variable."""


def list_query(query: ImportQuery, kind: Kind, after: str) -> str:
    """Asks for addresses only. Paged by the last address seen: unlike an offset, that skips and
    repeats nothing when items come or go in between."""
    return f"""\
PREFIX wd: <{ENTITY}>
PREFIX wdt: <http://www.wikidata.org/prop/direct/>
PREFIX wikibase: <http://wikiba.se/ontology#>
SELECT DISTINCT ?item WHERE {{
  ?item wdt:P31/wdt:P279* wd:{kind.item} ; wikibase:sitelinks ?sitelinks .
  FILTER(?sitelinks >= {query.sitelinks})
  FILTER(STR(?item) > "{after}")
}} ORDER BY STR(?item) LIMIT {query.page_size}"""


def detail_query(query: ImportQuery, ids: Sequence[str]) -> str:
    """Asks for names, descriptions and times. Each branch names the items itself, so that no
    engine has to look at all items there are."""
    items = f"VALUES ?item {{ {' '.join(f'wd:{name}' for name in ids)} }}"
    spoken = ", ".join(f'"{code}"' for code in query.languages)
    branches = [
        f"{{ {items} ?item {path} ?{what} . FILTER(LANG(?{what}) IN ({spoken})) }}"
        for what, path in (("name", "rdfs:label"), ("about", "schema:description"))
    ]
    branches += [
        f"{{ {items} ?item p:{path} ?claim . ?claim a wikibase:BestRank ; psv:{path} ?value . "
        "?value wikibase:timeValue ?time ; wikibase:timePrecision ?precision ; "
        f'wikibase:timeCalendarModel ?calendar . BIND("{bound}" AS ?bound) }}'
        for bound, path in TIMES.items()
    ]
    joined = "\n  UNION ".join(branches)
    return f"""\
PREFIX wd: <{ENTITY}>
PREFIX p: <http://www.wikidata.org/prop/>
PREFIX psv: <http://www.wikidata.org/prop/statement/value/>
PREFIX wikibase: <http://wikiba.se/ontology#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX schema: <http://schema.org/>
SELECT ?item ?name ?about ?bound ?time ?precision ?calendar WHERE {{
  {joined}
}}"""


def items_of(ids: Sequence[str], kind: str, solutions: Iterable[Solution]) -> Iterator[Item]:
    """The listed items with what the details say of them."""
    names: dict[str, dict[str, str]] = {name: {} for name in ids}
    abouts: dict[str, dict[str, str]] = {name: {} for name in ids}
    times: dict[str, list[Statement]] = {name: [] for name in ids}
    for row in solutions:
        item = value_of(row, "item").removeprefix(ENTITY)
        if item not in names:
            continue
        for variable, texts in (("name", names), ("about", abouts)):
            if variable in row:
                language = str(row[variable].get("xml:lang", "")).lower()
                texts[item][language] = value_of(row, variable)
        times[item].extend(_statements(row))
    for name in ids:
        stated = tuple(sorted(times[name], key=lambda s: (s.bound, s.time, s.precision)))
        yield Item(
            id=name, kind=kind, names=names[name], descriptions=abouts[name], statements=stated
        )


def _statements(row: Solution) -> Iterator[Statement]:
    """The one that the row holds, if it holds one."""
    precision = value_of(row, "precision")
    for bound in TIMES:
        if value_of(row, "bound") == bound:
            yield Statement(
                bound=bound,
                time=value_of(row, "time"),
                precision=int(precision) if precision in ("9", "10", "11") else 0,
                calendar=value_of(row, "calendar").removeprefix(ENTITY),
            )


def value_of(row: Solution, variable: str) -> str:
    """The value of a term; empty where the variable is not bound."""
    text = str(row.get(variable, {}).get("value", ""))
    return text.encode(errors="replace").decode()  # half a surrogate pair fits into no file
