"""Makes temporal tables of the rows of a user's file: which columns hold their time, and dates as
ISO text; every defect is named by row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from agent_env.features.facts.tables.table_files import (
    TableOptions,
    cell_text,
    checked_rows,
    read_table_file,
)
from agent_env.features.facts.tables.temporal_table import LENGTHS, TemporalRow, TemporalTable
from agent_env.sdk.errors import ConfigError, DatasetError, DatasetErrors
from agent_env.temporal.allen import Granularity, cut
from agent_env.temporal.date_text import DateReader, date_reader
from agent_env.temporal.days import PartialDate
from agent_env.temporal.written import DAY_FIRST, MONTH_FIRST

Cells = tuple[str, ...]
START_WORDS = (
    "start begin from since started began beginning opened founded introduced effective inscribed "
    "admission released release"
).split()
END_WORDS = (
    "end to until till through ended finish finished left closed dissolved repealed expired "
    "discharge"
).split()
_BESIDE = frozenset("date day month year time of in at on the term office reign valid".split())
OPEN_ENDS = frozenset(
    {"present", "now", "current", "currently", "today", "ongoing", "incumbent", "to date"}
)
"""Ends that say that a row still lasts."""
NO_COLUMN = "none"


class TemporalTableOptions(TableOptions):
    """How a temporal table is to be read, where it is not found out."""

    start: str | None = None
    """The column with the first day of a row; default: found by its name, else by its dates."""
    end: str | None = None
    """The column with the end of a row, or none; default: found likewise."""
    aliases: Path | None = None
    """A table file with the columns name and aliases (several joined by |): other names of values,
    which are made one in the table and are right in an answer."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of the file, its dates as ISO text where they can be read."""

    line: int
    values: Cells
    start: str
    end: str

    @property
    def text(self) -> str:
        return f"{', '.join(self.values)} ({self.start or '?'} to {self.end or 'now'})"


@dataclass(frozen=True, slots=True)
class Sheet:
    """The rows of a file, with its columns but those of time, in small letters."""

    columns: Cells
    rows: tuple[SheetRow, ...]
    notes: tuple[str, ...] = ()
    """What was found out about the file."""
    names: Mapping[str, str] = field(default_factory=dict)
    """By alias, the name that it stands for."""

    def places(self, names: Sequence[str]) -> tuple[int, ...]:
        """Where these columns are."""
        return tuple(self.columns.index(name) for name in names)


def read_sheet(file: Path, options: TemporalTableOptions | None = None) -> Sheet:
    """The file's rows; DatasetError or ConfigError where it is not clear which columns hold their
    time, or which day a date means."""
    options = options or TemporalTableOptions()
    source = read_table_file(file, options)
    rows = checked_rows(file, source)
    columns: dict[str, str] = {}
    for name in source.columns:
        own = name.strip().lower()
        if own in columns:
            raise DatasetError(file, 1, f"column '{own}' appears twice")
        columns[own] = name
    notes = list(source.notes)
    if columns.pop("", None) is not None:
        notes.append("a column without a name is left out")
    texts = {own: [cell_text(row.cells.get(name)) for row in rows] for own, name in columns.items()}
    start, end = _time_columns(file, texts, options)
    if (start, end) != ("start", "end"):
        others = "" if end else f": all still last; dates are in {_dated(texts, start)}"
        notes.append(f"a row starts by the column {start}, ends by {end or 'none'}{others}")
    starts, ends = texts.pop(start), texts.pop(end) if end else [""] * len(rows)
    if not texts:
        raise DatasetError(file, 1, "has no column beside start and end")
    ends = ["" if text.casefold() in OPEN_ENDS else text for text in ends]
    reader = date_reader([*starts, *ends], options.date_format, str(file))
    if reader.form is not None and options.date_format is None:
        notes.append(f"dates are {reader.form}, as some can be nothing else")
    if any(re.search(r"\d:\d\d", t) and not re.search(r"[T ]00:00", t) for t in (*starts, *ends)):
        notes.append("times of day are left aside")
    records = zip(rows, zip(*texts.values(), strict=True), starts, ends, strict=True)
    return Sheet(
        tuple(texts),
        tuple(
            SheetRow(row.line, values, _iso(first, reader), _iso(last, reader))
            for row, values, first, last in records
        ),
        tuple(notes),
        read_aliases(options.aliases),
    )


def read_aliases(file: Path | None) -> dict[str, str]:
    """Names by alias; DatasetError for a row without one, or an alias of two names."""
    if file is None:
        return {}
    names: dict[str, str] = {}
    for row in checked_rows(file, read_table_file(file)):
        cells = {key.strip().lower(): value for key, value in row.cells.items()}
        name, others = cell_text(cells.get("name")), cells.get("aliases", cells.get("alias"))
        texts = others if isinstance(others, list) else cell_text(others).split("|")
        for alias in filter(None, map(cell_text, texts)):
            if names.setdefault(alias, name) != name:
                reason = f"'{alias}' is an alias of '{names[alias]}' and of '{name}'"
                raise DatasetError(file, row.line, reason)
        if not name:
            raise DatasetError(file, row.line, "needs the columns name and aliases, both filled in")
    return names


def _iso(text: str, reader: DateReader) -> str:
    try:
        return str(reader.read(text)) if text else ""
    except ValueError:
        return text


# Which columns hold the time --------------------------------------------------------------------


def _time_columns(
    file: Path, texts: Mapping[str, Sequence[str]], options: TemporalTableOptions
) -> tuple[str, str | None]:
    """The columns of starts and of ends; None for a table without ends."""
    start = _stated(options.start, "start", texts) or _by_name(START_WORDS, texts)
    is_endless = options.end == NO_COLUMN and NO_COLUMN not in texts
    end = None
    if not is_endless:
        end = _stated(options.end, "end", texts) or _by_name(END_WORDS, texts)
    if start is not None and (end is not None or is_endless):
        return start, end
    dated = [name for name in texts if name not in (start, end) and _holds_dates(texts[name])]
    if start is not None:
        return start, None
    if len(dated) == 1 and (end is None or _follow(texts[dated[0]], texts[end])):
        return dated[0], end
    if len(dated) == 2 and end is None:
        for first, second in (dated, dated[::-1]):
            if _follow(texts[first], texts[second]):
                return first, second
    dates = f"; dates are in {', '.join(dated)}" if dated else "; no column holds dates only"
    reason = f"no column 'start'{dates}; say --option start=COLUMN"
    raise DatasetError(file, 1, f"{reason} --option end=COLUMN (or end=none)")


def _stated(name: str | None, role: str, texts: Mapping[str, Sequence[str]]) -> str | None:
    if name is not None and name.lower() not in texts:
        raise ConfigError(f"{role}={name}: there is no such column; there are {', '.join(texts)}")
    return name and name.lower()


def _by_name(role_words: Sequence[str], texts: Mapping[str, Sequence[str]]) -> str | None:
    """The column whose name says the role; the earliest word decides between several."""
    if role_words[0] in texts:
        return role_words[0]
    fits = []
    for name, cells in texts.items():
        words = set(re.findall(r"[a-z]+", _SUFFIX.sub(r" \1", name)))
        ranks = [rank for rank, word in enumerate(role_words) if word in words]
        filled = [any(map(str.isdigit, text)) for text in cells if text]
        if ranks and words <= _BESIDE | set(role_words) and 2 * sum(filled) >= len(filled):
            fits.append((ranks[0], name))
    return min(fits)[1] if fits else None


def _dated(texts: Mapping[str, Sequence[str]], start: str) -> str:
    names = [name for name in texts if name != start and _holds_dates(texts[name])]
    return ", ".join(names) or "no other column"


_SUFFIX = re.compile(r"(?<=[a-z])(date|day|month|year)\b")
_YEARS = re.compile(r"(?:.*\D)?(1\d{3}|20\d\d|21\d\d)(?:\D.*)?")


def _holds_dates(texts: Sequence[str]) -> bool:
    """Whether 90 % of the texts that are not empty are dates of the years 1000 to 2199, two
    different ones at least, or one beside a `present`."""
    filled = [text for text in texts if text and text.casefold() not in OPEN_ENDS]
    dates = [text for text in filled if _YEARS.fullmatch(text) and _any_day(text)]
    is_open = any(text.casefold() in OPEN_ENDS for text in texts)
    return len(set(dates)) + is_open > 1 and len(dates) >= 0.9 * len(filled)


def _any_day(text: str) -> date | None:
    """The first day of a date, in whichever order its numbers are; None for any other text."""
    for form in (None, DAY_FIRST, MONTH_FIRST):
        try:
            return DateReader(form).read(text).first
        except ValueError:
            continue
    return None


def _follow(starts: Sequence[str], ends: Sequence[str]) -> bool:
    """Whether 90 % of the ends lie behind the starts of their rows."""
    days = [(_any_day(one), _any_day(other)) for one, other in zip(starts, ends, strict=True)]
    pairs = [(one, other) for one, other in days if one is not None and other is not None]
    return sum(one < other for one, other in pairs) >= max(1, 0.9 * len(pairs))


NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


def load_table(
    file: Path,
    options: TemporalTableOptions | None = None,
    end_included: bool = False,
    fictional: bool = False,
) -> TemporalTable:
    """The rows of any table file; `options` state what `read_sheet` cannot find out."""
    sheet = read_sheet(file, options)
    name = (options and options.table) or file.stem
    return make_table(file, name, sheet, end_included=end_included, fictional=fictional)


def make_table(
    file: Path,
    name: str,
    sheet: Sheet,
    granularity: Granularity | None = None,
    end_included: bool = False,
    fictional: bool = False,
    too_short: list[int] | None = None,
) -> TemporalTable:
    """The rows of a sheet as a table; DatasetErrors names each that cannot hold.

    An empty end lasts still. All dates have one precision, or `granularity` cuts them to a coarser
    one. `end_included`: the ends are last days (months, years), not the first ones after. Rows that
    begin and end in one unit of `granularity` are left out; `too_short` takes their lines.
    """
    defects: list[tuple[int, str]] = []
    parsed = [_parsed(row, defects) for row in sheet.rows]
    precision = granularity or _granularity(parsed, defects)
    rows = []
    for own, start, end in parsed:
        if start is None:
            continue
        if min(len(str(day)) for day in (start, end) if day) < LENGTHS[precision]:
            defects.append((own.line, f"is coarser than the granularity {precision}"))
            continue
        begins, ends = cut(start.first, precision), None
        if end is not None:
            whole = PartialDate.parse(str(end)[: LENGTHS[precision]])
            following = date.fromordinal(whole.last.toordinal() + 1) if end_included else None
            ends = following or whole.first
        if ends == begins and end is not None and end.first > start.first:
            if too_short is not None:
                too_short.append(own.line)
        elif ends is not None and ends <= begins:
            how = "before its start" if ends < begins else "on its start, so it never held"
            defects.append((own.line, f"ends {how} {start}"))
        else:
            rows.append(TemporalRow(own.values, begins, ends, own.line))
    if defects:
        raise DatasetErrors(file, sorted(set(defects)))
    if not rows:
        raise DatasetError(file, None, "holds no row")
    stem = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    name = stem if NAME.fullmatch(stem) else f"t_{stem}"[:60]
    return TemporalTable(name, sheet.columns, tuple(rows), precision, fictional)


_ParsedRow = tuple[SheetRow, PartialDate | None, PartialDate | None]


def _parsed(row: SheetRow, defects: list[tuple[int, str]]) -> _ParsedRow:
    """The row with its dates; None for one that is missing or a defect."""
    if not row.start:
        defects.append((row.line, "has no start"))
    if empty := next((value for value in row.values if not value.isprintable()), None):
        defects.append((row.line, f"{empty!r} holds a control character"))
    days: list[PartialDate | None] = []
    for text in (row.start, row.end):
        try:
            days.append(PartialDate.parse(text) if text else None)
        except ValueError as exc:
            defects.append((row.line, str(exc)))
            days.append(None)
    start, end = days
    return row, start, end


def _granularity(rows: Sequence[_ParsedRow], defects: list[tuple[int, str]]) -> Granularity:
    """The one precision of all dates; rows that differ from the most frequent one are named."""
    precise = [(row.line, len(str(day))) for row, *days in rows for day in days if day]
    if not precise:
        return "day"
    lengths = [length for _, length in precise]
    usual = max(set(lengths), key=lambda length: (lengths.count(length), length))
    names = {length: name for name, length in LENGTHS.items()}
    for line, length in precise:
        if length != usual:
            defects.append((line, f"is by {names[length]}, most rows by {names[usual]}; mixed"))
    return names[usual]
