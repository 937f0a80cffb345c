"""Finds what keeps a file from being a temporal table, and repairs it by named policies; finds
which columns determine which others at every time (temporal functional dependencies).

Every problem has a name and the policies that exist for it; without one its rows stay as they are.
Repairs are made in the order of PROBLEMS, and each changed or dropped row is logged with its line.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from agent_env.features.facts.tables.table_records import Sheet, SheetRow
from agent_env.features.facts.tables.temporal_table import LENGTHS
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.allen import Granularity
from agent_env.temporal.days import PartialDate

_FILE = tomllib.loads(Path(__file__).with_name("problems.toml").read_text(encoding="utf-8"))
PROBLEMS: Mapping[str, tuple[str, ...]] = {
    name: tuple(problem["policies"]) for name, problem in _FILE.items()
}
"""The policies beside `keep`, by problem."""
MEANINGS: Mapping[str, str] = {name: problem["meaning"] for name, problem in _FILE.items()}
BLOCKING = tuple(name for name, problem in _FILE.items() if problem.get("blocks"))
"""Problems with which no question can be made."""
STANDARD: Mapping[str, str] = {
    name: problem["standard"] for name, problem in _FILE.items() if "standard" in problem
}
"""What `standard` stands for."""
MARKS = frozenset({"nan", "nat", "none", "null", "<na>", "n/a", "-"})
VALUE_MARKS = frozenset({"nan", "nat", "<na>"})
"""Those that no value can be, as `none` can."""
FAR_YEAR = 2200
FOREVER = date.max.toordinal()


@dataclass(frozen=True, slots=True)
class Finding:
    problem: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One row that a policy changed or dropped."""

    problem: str
    policy: str
    line: int
    before: str
    after: str | None
    """None where the row was dropped."""


@dataclass(frozen=True, slots=True)
class TableUse:
    """The columns that a question states and asks for; () where nothing is asked."""

    keys: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    granularity: Granularity | None = None
    """To which dates will be cut; None for that of most of them."""


def read_policies(texts: Sequence[str]) -> dict[str, str]:
    """Policies by problem, from `PROBLEM=POLICY` and `standard`; ConfigError names the known."""
    policies: dict[str, str] = {}
    for text in texts:
        if text == "standard":
            policies = {**STANDARD, **policies}
            continue
        problem, _, policy = (part.strip() for part in text.partition("="))
        known = PROBLEMS.get(problem)
        if known is None:
            names = ", ".join((*PROBLEMS, "standard"))
            raise ConfigError(f"repair '{text}': unknown problem '{problem}'; known: {names}")
        if policy not in (*known, "keep"):
            choices = ", ".join((*known, "keep"))
            raise ConfigError(f"repair '{text}': {problem} has the policies {choices}")
        policies[problem] = policy
    return policies


def diagnose(sheet: Sheet, question: TableUse) -> list[Finding]:
    """Every problem, by order of PROBLEMS, then by line."""
    _check_columns(sheet, question)
    held = _held(sheet.rows)
    found = [
        *(f for row in sheet.rows for f in _of_row(row, sheet.names)),
        *_of_precision(sheet, question),
        *_of_same_values(held),
        *_of_groups(held, sheet, question),
    ]
    order = list(PROBLEMS)
    return sorted(found, key=lambda f: (order.index(f.problem), f.line))


Changes = Iterator[tuple[SheetRow, SheetRow | None]]
"""Rows before and after a repair, which is made in the rows by line that it takes."""


def repaired(
    sheet: Sheet, policies: Mapping[str, str], question: TableUse
) -> tuple[Sheet, list[Repair]]:
    _check_columns(sheet, question)
    log: list[Repair] = []
    for problem, policy in ((p, policies.get(p, "keep")) for p in PROBLEMS):
        if policy == "keep":
            continue
        rows = {row.line: row for row in sheet.rows}
        if policy == "coalesce":
            changes = _coalesce(rows, problem)
        elif policy == "until-next":
            changes = _end_at_next(rows, sheet, question, problem)
        elif problem == "dependency":
            changes = _drop_broken_groups(rows, sheet, question)
        else:
            changes = _mend(rows, sheet, question, problem, policy)
        log += [
            Repair(problem, policy, before.line, before.text, None if after is None else after.text)
            for before, after in changes
        ]
        sheet = replace(sheet, rows=tuple(rows.values()))
    return sheet, log


def _check_columns(sheet: Sheet, question: TableUse) -> None:
    for name in (*question.keys, *question.answers):
        if name not in sheet.columns:
            names = ", ".join(sheet.columns)
            raise ConfigError(f"there is no column '{name}'; the columns are {names}")


# Single rows ------------------------------------------------------------------------------------


def _of_row(row: SheetRow, names: Mapping[str, str]) -> Iterator[Finding]:
    for text in row.values:
        if text in names:
            yield Finding("alias", row.line, f"{text} is {names[text]}")
    for side, text in (("start", row.start), ("end", row.end)):
        if text.casefold() in MARKS:
            yield Finding("missing-mark", row.line, f"{side} is {text}")
    for text in row.values:
        if text.casefold() in VALUE_MARKS:
            yield Finding("missing-mark", row.line, f"a value is {text}")
    start, end = _date(row.start), _date(row.end)
    if end is not None and end.year >= FAR_YEAR:
        yield Finding("far-end", row.line, f"end is {row.end}")
    marks = [text for text in (row.start, row.end) if text.casefold() in MARKS]
    if start is None and row.start.casefold() not in MARKS:
        yield Finding("no-date", row.line, f"start is '{row.start}'")
    if end is None and row.end and row.end.casefold() not in MARKS:
        yield Finding("no-date", row.line, f"end is '{row.end}'")
    if start is not None and end is not None and not marks and end.first <= start.first:
        reversed_ = end.last < start.first
        yield Finding(
            "reversed" if reversed_ else "zero-length", row.line, f"{row.start} to {row.end}"
        )


def _of_precision(sheet: Sheet, question: TableUse) -> Iterator[Finding]:
    dated = [(row, text) for row in sheet.rows for text in (row.start, row.end) if _date(text)]
    lengths = Counter(len(text) for _, text in dated)
    if not lengths:
        return
    least = max(lengths, key=lambda length: (lengths[length], length))
    if question.granularity is not None:
        least = LENGTHS[question.granularity]
    for row, text in dated:
        if len(text) < least:
            yield Finding("mixed-precision", row.line, text)


def _mend(
    rows: dict[int, SheetRow], sheet: Sheet, question: TableUse, problem: str, policy: str
) -> Changes:
    """Rows with the problem are mended or dropped; with inclusive ends all rows with one hold until
    the next day (month, year)."""
    coarse = {finding.line for finding in _of_precision(sheet, question)}
    for row in sheet.rows:
        if policy == "inclusive-ends":
            end = _date(row.end)
            following = "" if end is None else _day_after(end).isoformat()[: len(str(end))]
            after: SheetRow | None = replace(row, end=following) if following else row
        else:
            problems = {finding.problem for finding in _of_row(row, sheet.names)}
            if problem not in problems | ({"mixed-precision"} if row.line in coarse else set()):
                continue
            after = None if policy == "drop" else _changed(row, problem, sheet.names)
        if after is None:
            del rows[row.line]
        else:
            rows[row.line] = after
        if after != row:
            yield row, after


def _changed(row: SheetRow, problem: str, names: Mapping[str, str]) -> SheetRow:
    if problem == "alias":
        return replace(row, values=tuple(names.get(text, text) for text in row.values))
    if problem == "far-end":
        return replace(row, end="")
    if problem == "reversed":
        return replace(row, start=row.end, end=row.start)
    if problem == "no-date":
        return replace(row, start=_cut(row.start), end=_cut(row.end))
    start, end = ("" if text.casefold() in MARKS else text for text in (row.start, row.end))
    values = tuple("" if text.casefold() in VALUE_MARKS else text for text in row.values)
    return replace(row, values=values, start=start, end=end)


def _cut(text: str) -> str:
    """The month of a day that does not exist; any other text as it is."""
    is_none = text and _date(text) is None
    return text[:7] if is_none and re.fullmatch(r"\d{4}-(0[1-9]|1[0-2])-\d\d", text) else text


def _date(text: str) -> PartialDate | None:
    try:
        return PartialDate.parse(text) if text else None
    except ValueError:
        return None


def _day_after(day: PartialDate) -> date:
    return date.fromordinal(day.last.toordinal() + 1)


# Rows that held ---------------------------------------------------------------------------------


class Held(NamedTuple):
    """A row that held from its first day up to the first day after."""

    start: int
    until: int
    row: SheetRow


def _held(rows: Iterable[SheetRow]) -> list[Held]:
    """The rows that held at any time, by start, then by end."""
    held = []
    for row in rows:
        start, end = _date(row.start), _date(row.end)
        if start is not None and (not row.end or end is not None):
            until = FOREVER if end is None else end.first.toordinal()
            if start.first.toordinal() < until:
                held.append(Held(start.first.toordinal(), until, row))
    return sorted(held, key=lambda each: each[:2])


def _groups(held: Iterable[Held], places: Sequence[int] | None = None) -> Iterable[list[Held]]:
    """The rows by their values at these places, or by all."""
    groups: dict[tuple[str, ...], list[Held]] = defaultdict(list)
    for each in held:
        values = each.row.values
        groups[values if places is None else tuple(values[p] for p in places)].append(each)
    return groups.values()


def _pair(one: Held, other: Held) -> str:
    return f"{other.row.text}; line {one.row.line}: {one.row.text}"


def _of_same_values(held: Sequence[Held]) -> Iterator[Finding]:
    """Neighbours of the same values that overlap or adjoin."""
    for own in _groups(held):
        last = own[0]
        for each in own[1:]:
            if each.start <= last.until:
                problem = "overlap" if each.start < last.until else "adjoining"
                yield Finding(problem, each.row.line, _pair(last, each))
            last = max(last, each, key=lambda own: own.until)


def _coalesce(rows: dict[int, SheetRow], problem: str) -> Changes:
    """Rows that overlap (or adjoin) one of the same values become part of it."""
    for own in _groups(_held(rows.values())):
        last = own[0]
        for each in own[1:]:
            touches = each.start == last.until
            if each.start < last.until if problem == "overlap" else touches:
                later = max(last, each, key=lambda own: own.until)
                merged = replace(last.row, end=later.row.end)
                yield each.row, merged
                del rows[each.row.line]
                rows[merged.line] = merged
                last = Held(last.start, later.until, merged)
            else:
                last = each


def _conflicts(held: Sequence[Held], places: Sequence[int]) -> Iterator[tuple[Held, Held, int]]:
    """Rows of a group that share a day and differ at one of the places, and the place."""
    open_rows: list[Held] = []
    for each in held:
        open_rows = [old for old in open_rows if old.until > each.start]
        for old in open_rows:
            for place in places:
                if old.row.values[place] != each.row.values[place]:
                    yield old, each, place
        open_rows.append(each)


def _of_groups(held: Sequence[Held], sheet: Sheet, question: TableUse) -> Iterator[Finding]:
    if not question.keys:
        return
    places = sheet.places(question.answers)
    for own in _groups(held, sheet.places(question.keys)):
        pairs = dict.fromkeys((one, other) for one, other, _ in _conflicts(own, places))
        for one, other in pairs:
            if not one.row.end and one.start < other.start:
                yield Finding("open-end", one.row.line, _pair(other, one))
            else:
                yield Finding("dependency", other.row.line, _pair(one, other))
        before = own[0]
        for each in own[1:]:
            if each.start > before.until:
                days = each.start - before.until
                yield Finding("gap", each.row.line, f"{days} days behind line {before.row.line}")
            before = max(before, each, key=lambda own: own.until)


def _end_at_next(
    rows: dict[int, SheetRow], sheet: Sheet, question: TableUse, problem: str
) -> Changes:
    """Rows (those without an end, or all) end at the latest where the next of their group with
    another answer starts."""
    if not question.keys:
        raise ConfigError(f"repair {problem}=until-next needs the columns of question and answer")
    places = sheet.places(question.answers)
    for own in _groups(_held(sheet.rows), sheet.places(question.keys)):
        for number, each in enumerate(own):
            following = next(
                (
                    other
                    for other in own[number + 1 :]
                    if each.start < other.start
                    and any(each.row.values[place] != other.row.values[place] for place in places)
                ),
                None,
            )
            is_meant = problem == "dependency" or not each.row.end
            if is_meant and following is not None and following.start < each.until:
                rows[each.row.line] = after = replace(each.row, end=following.row.start)
                yield each.row, after


def _drop_broken_groups(rows: dict[int, SheetRow], sheet: Sheet, question: TableUse) -> Changes:
    if not question.keys:
        raise ConfigError("repair dependency=drop needs the columns of the question and the answer")
    keys, answers = sheet.places(question.keys), sheet.places(question.answers)
    broken = {
        tuple(own[0].row.values[place] for place in keys)
        for own in _groups(_held(sheet.rows), keys)
        if any(_conflicts(own, answers))
    }
    for row in sheet.rows:
        if tuple(row.values[place] for place in keys) in broken:
            del rows[row.line]
            yield row, None


# Dependencies -------------------------------------------------------------------------------------

MOST_KEYS = 3
MOST_COLUMNS = 10
"""Of the others, too many combinations would have to be tried."""
MOST_ROWS = 5000
MOST_BROKEN = 1 / 3
"""Share of these groups that may break a dependency, as tables have faults."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Columns that determine another one at every time, as far as rows show."""

    keys: tuple[str, ...]
    answer: str
    groups: int
    """With two answers at least: those of which most questions can be made."""
    broken: int
    """Groups that have two answers at one time."""

    def __str__(self) -> str:
        faults = f", {self.broken} groups break it" if self.broken else ""
        return (
            f"{', '.join(self.keys)} → {self.answer} ({self.groups} groups with several answers"
            f"{faults})"
        )


def dependencies(sheet: Sheet) -> list[Dependency]:
    """Those with the fewest keys, the ones with the most groups first; where there is none, those
    that hold if a row without an end ends where the next of its group starts."""
    held = _held(_changed(row, "missing-mark", {}) for row in sheet.rows)
    short = [each._replace(until=min(each.until, each.start + 1)) for each in held]
    return _dependencies(sheet, held) or _dependencies(sheet, short)


def _dependencies(sheet: Sheet, held: Sequence[Held]) -> list[Dependency]:
    rows = sorted(held, key=lambda each: each.start)[:MOST_ROWS]
    columns = range(len(sheet.columns))[:MOST_COLUMNS]
    result: list[Dependency] = []
    for size in range(1, MOST_KEYS + 1):
        for keys in combinations(columns, size):
            names = tuple(sheet.columns[place] for place in keys)
            known = {each.answer for each in result if set(each.keys) < set(names)}
            answers = [p for p in columns if p not in keys and sheet.columns[p] not in known]
            several, broken = Counter[int](), Counter[int]()
            for own in _groups(rows, keys):
                several.update(p for p in answers if len({each.row.values[p] for each in own}) > 1)
                broken.update(_conflicting(own, answers))
            result += [
                Dependency(names, sheet.columns[place], several[place], broken[place])
                for place in answers
                if several[place] and broken[place] <= MOST_BROKEN * several[place]
            ]
    labels = {name for place, name in enumerate(sheet.columns) if _are_labels(rows, place)}
    return sorted(
        result, key=lambda each: (each.answer in labels, each.broken - each.groups, len(each.keys))
    )


def _conflicting(held: Sequence[Held], answers: Sequence[int]) -> set[int]:
    """The answers of which the rows give two at one time."""
    conflicts: set[int] = set()
    for _, _, place in _conflicts(held, answers):
        conflicts.add(place)
        if len(conflicts) == len(answers):
            break
    return conflicts


def _are_labels(held: Sequence[Held], place: int) -> bool:
    """Whether a column holds numbers, or a text with a number of its own for each row, as ids and
    names of files do: a question asks for them if there is nothing else."""
    texts = [each.row.values[place] for each in held]
    if all(re.fullmatch(r"-?[\d.,]*", text) for text in texts):
        return True
    return len(set(texts)) == len(texts) and all(re.search(r"\d", text) for text in texts)
