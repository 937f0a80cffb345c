"""Finds what keeps a file from being a temporal table, and repairs it by named policies; finds
which columns determine which others at every time (temporal functional dependencies).

Every problem has a name and the policies that exist for it; without one its rows stay as they are.
Repairs are made in the order of PROBLEMS, and each changed or dropped row is logged with its line.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations

from agent_env.extensions.facts.tables.table_records import Cells, Sheet, SheetRow
from agent_env.extensions.facts.tables.temporal_table import LENGTHS
from agent_env.sdk.errors import ConfigError
from agent_env.temporal.allen import Granularity
from agent_env.temporal.partial import PartialDate

PROBLEMS: Mapping[str, tuple[str, ...]] = {
    "alias": ("name",),
    "missing-mark": ("blank",),
    "far-end": ("blank",),
    "no-date": ("drop", "cut"),
    "mixed-precision": ("drop",),
    "reversed": ("drop", "swap"),
    "zero-length": ("drop", "inclusive-ends"),
    "overlap": ("coalesce",),
    "adjoining": ("coalesce",),
    "open-end": ("until-next",),
    "dependency": ("drop", "until-next"),
    "gap": (),
}
"""The policies beside `keep`, by problem."""
MEANINGS: Mapping[str, str] = {
    "alias": "a value is another name of one in --option aliases; name puts that one",
    "missing-mark": "a date is a mark such as nan",
    "far-end": "an end lies centuries away",
    "no-date": "no start, or a date that is none; cut leaves the month of a day that is none",
    "mixed-precision": "a date is coarser than most; --option granularity cuts all to one",
    "reversed": "ends before its start",
    "zero-length": "ends on its start",
    "overlap": "rows of the same values share days",
    "adjoining": "a row follows one of the same values at once",
    "open-end": "no end, and a later row has another answer; until-next ends it there",
    "dependency": "rows of groups with two answers at a time; drop leaves out the whole group",
    "gap": "a group has no row for a time",
}
BLOCKING = (
    "missing-mark", "no-date", "mixed-precision", "reversed", "zero-length", "open-end",
    "dependency",
)  # fmt: skip
"""Problems with which no question can be made."""
STANDARD: Mapping[str, str] = {
    "alias": "name", "missing-mark": "blank", "far-end": "blank", "no-date": "drop",
    "reversed": "drop", "zero-length": "drop", "overlap": "coalesce", "open-end": "until-next",
    "dependency": "drop",
}  # fmt: skip
"""What `standard` stands for."""
MARKS = frozenset({"nan", "nat", "none", "null", "<na>", "n/a", "-"})
VALUE_MARKS = frozenset({"nan", "nat", "<na>"})
"""Those that no value can be, as `none` can."""
FAR_YEAR = 2200
FOREVER = date.max.toordinal()


@dataclass(frozen=True, slots=True)
class Finding:
    """A row with a problem."""

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
class Question:
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


def diagnose(sheet: Sheet, question: Question) -> list[Finding]:
    """Every problem, by order of PROBLEMS, then by line."""
    _check_columns(sheet, question)
    rows = [row for row in sheet.rows if _interval(row) is not None]
    found = [
        *(f for row in sheet.rows for f in _of_row(row, sheet.names)),
        *_of_precision(sheet, question),
        *(Finding("overlap", b.line, _pair(a, b)) for a, b in _same_values(rows) if _shares(a, b)),
        *(
            Finding("adjoining", b.line, _pair(a, b))
            for a, b in _same_values(rows)
            if not _shares(a, b)
        ),
        *_of_groups(rows, sheet, question),
    ]
    order = list(PROBLEMS)
    return sorted(found, key=lambda f: (order.index(f.problem), f.line))


def repaired(
    sheet: Sheet, policies: Mapping[str, str], question: Question
) -> tuple[Sheet, list[Repair]]:
    """The sheet after all policies, with a log."""
    _check_columns(sheet, question)
    log: list[Repair] = []
    for problem, policy in ((p, policies.get(p, "keep")) for p in PROBLEMS):
        if policy == "keep":
            continue
        if policy == "inclusive-ends":
            rows = _with_inclusive_ends(sheet, log)
        elif policy == "coalesce":
            rows = _coalesced(sheet.rows, problem, log)
        elif policy == "until-next":
            rows = _until_next(sheet, question, problem, log)
        elif problem == "dependency":
            rows = _without_broken_groups(sheet, question, log)
        else:
            rows = _mended(sheet, question, problem, policy, log)
        sheet = replace(sheet, rows=tuple(rows))
    return sheet, log


def _check_columns(sheet: Sheet, question: Question) -> None:
    for name in (*question.keys, *question.answers):
        if name not in sheet.columns:
            names = ", ".join(sheet.columns)
            raise ConfigError(f"there is no column '{name}'; the columns are {names}")


def held_spans(sheet: Sheet, open_days: int = FOREVER) -> list[tuple[Cells, int, int]]:
    """Values, first day and the first day after of each row that held, by start. A row without an
    end, or with a mark such as nan there, holds for `open_days`."""
    rows = [_changed(row, "missing-mark", {}) for row in sheet.rows]
    spans = [(row.values, *span) for row in rows if (span := _interval(row)) is not None]
    return sorted(
        ((v, start, min(end, start + open_days)) for v, start, end in spans),
        key=lambda each: each[1],
    )


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


def _of_precision(sheet: Sheet, question: Question) -> Iterator[Finding]:
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


def _mended(
    sheet: Sheet, question: Question, problem: str, policy: str, log: list[Repair]
) -> list[SheetRow]:
    """Rows with the problem mended or dropped."""
    coarse = {finding.line for finding in _of_precision(sheet, question)}
    kept = []
    for row in sheet.rows:
        problems = {finding.problem for finding in _of_row(row, sheet.names)}
        if problem not in problems | ({"mixed-precision"} if row.line in coarse else set()):
            kept.append(row)
            continue
        after = None if policy == "drop" else _changed(row, problem, sheet.names)
        if after != row:
            text = None if after is None else after.text
            log.append(Repair(problem, policy, row.line, row.text, text))
        kept += [after] if after else []
    return kept


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


def _with_inclusive_ends(sheet: Sheet, log: list[Repair]) -> list[SheetRow]:
    """Every end is the last day (month, year), so the row holds until the next one."""
    rows = []
    for row in sheet.rows:
        end = _date(row.end)
        after = row if end is None else replace(row, end=_next(end))
        if after is not row:
            log.append(Repair("zero-length", "inclusive-ends", row.line, row.text, after.text))
        rows.append(after)
    return rows


def _next(day: PartialDate) -> str:
    following = date.fromordinal(day.last.toordinal() + 1).isoformat()
    return following[: len(str(day))]


def _date(text: str) -> PartialDate | None:
    try:
        return PartialDate.parse(text) if text else None
    except ValueError:
        return None


def _interval(row: SheetRow) -> tuple[int, int] | None:
    """First day, and the first day after; None for a row that never held."""
    start, end = _date(row.start), _date(row.end)
    if start is None or (row.end and end is None):
        return None
    until = FOREVER if end is None else end.first.toordinal()
    return (start.first.toordinal(), until) if start.first.toordinal() < until else None


# Rows of the same values ------------------------------------------------------------------------


def _same_values(rows: Sequence[SheetRow]) -> Iterator[tuple[SheetRow, SheetRow]]:
    """Neighbours of the same values that overlap or adjoin."""
    for own in _groups(rows, lambda row: row.values).values():
        last = own[0]
        for row in own[1:]:
            if _span(row)[0] <= _span(last)[1]:
                yield last, row
            last = max(last, row, key=lambda each: _span(each)[1])


def _shares(one: SheetRow, other: SheetRow) -> bool:
    return _span(other)[0] < _span(one)[1]


def _coalesced(rows: Sequence[SheetRow], problem: str, log: list[Repair]) -> list[SheetRow]:
    """Rows that overlap (or adjoin) one of the same values become part of it."""
    held = [row for row in rows if _interval(row) is not None]
    result = {row.line: row for row in rows}
    for own in _groups(held, lambda row: row.values).values():
        last = own[0]
        for row in own[1:]:
            touches = _span(row)[0] == _span(last)[1]
            if _shares(last, row) if problem == "overlap" else touches:
                later = max(last, row, key=lambda each: _span(each)[1])
                merged = replace(last, end=later.end)
                log.append(Repair(problem, "coalesce", row.line, row.text, merged.text))
                del result[row.line]
                result[last.line] = last = merged
            else:
                last = row
    return list(result.values())


# Groups of a question ---------------------------------------------------------------------------


def _of_groups(rows: Sequence[SheetRow], sheet: Sheet, question: Question) -> Iterator[Finding]:
    if not question.keys:
        return
    for own in _by_keys(rows, sheet, question).values():
        for one, other in _conflicts(own, sheet, question):
            if not one.end and _span(one)[0] < _span(other)[0]:
                yield Finding("open-end", one.line, _pair(other, one))
            else:
                yield Finding("dependency", other.line, _pair(one, other))
        until, before = _span(own[0])[1], own[0]
        for row in own[1:]:
            if _span(row)[0] > until:
                days = _span(row)[0] - until
                yield Finding("gap", row.line, f"{days} days behind line {before.line}")
            if _span(row)[1] > until:
                until, before = _span(row)[1], row


def _conflicts(
    rows: Sequence[SheetRow], sheet: Sheet, question: Question
) -> Iterator[tuple[SheetRow, SheetRow]]:
    """Rows of a group with two answers that share a day."""
    places = sheet.places(question.answers)
    held: list[SheetRow] = []
    for row in rows:
        held = [old for old in held if _span(old)[1] > _span(row)[0]]
        for old in held:
            if any(old.values[place] != row.values[place] for place in places):
                yield old, row
        held.append(row)


def _until_next(
    sheet: Sheet, question: Question, problem: str, log: list[Repair]
) -> list[SheetRow]:
    """Rows (those without an end, or all) end at the latest where the next of their group with
    another answer starts."""
    if not question.keys:
        raise ConfigError(f"repair {problem}=until-next needs the columns of question and answer")
    places = sheet.places(question.answers)
    result = {row.line: row for row in sheet.rows}
    held = [row for row in sheet.rows if _interval(row) is not None]
    for own in _by_keys(held, sheet, question).values():
        for number, row in enumerate(own):
            following = next(
                (
                    other
                    for other in own[number + 1 :]
                    if _span(row)[0] < _span(other)[0]
                    and any(row.values[place] != other.values[place] for place in places)
                ),
                None,
            )
            is_meant = problem == "dependency" or not row.end
            if is_meant and following is not None and _span(following)[0] < _span(row)[1]:
                result[row.line] = after = replace(row, end=following.start)
                log.append(Repair(problem, "until-next", row.line, row.text, after.text))
    return list(result.values())


def _without_broken_groups(sheet: Sheet, question: Question, log: list[Repair]) -> list[SheetRow]:
    if not question.keys:
        raise ConfigError("repair dependency=drop needs the columns of the question and the answer")
    rows = [row for row in sheet.rows if _interval(row) is not None]
    broken = {
        values
        for values, own in _by_keys(rows, sheet, question).items()
        if any(True for _ in _conflicts(own, sheet, question))
    }
    places = sheet.places(question.keys)
    kept = []
    for row in sheet.rows:
        if tuple(row.values[place] for place in places) in broken:
            log.append(Repair("dependency", "drop", row.line, row.text, None))
        else:
            kept.append(row)
    return kept


def _by_keys(
    rows: Sequence[SheetRow], sheet: Sheet, question: Question
) -> dict[tuple[str, ...], list[SheetRow]]:
    places = sheet.places(question.keys)
    return _groups(rows, lambda row: tuple(row.values[place] for place in places))


def _groups(
    rows: Sequence[SheetRow], key: Callable[[SheetRow], tuple[str, ...]]
) -> dict[tuple[str, ...], list[SheetRow]]:
    """The rows that held, by key, each group by start."""
    groups: dict[tuple[str, ...], list[SheetRow]] = defaultdict(list)
    for row in sorted(rows, key=_span):
        groups[key(row)].append(row)
    return groups


def _span(row: SheetRow) -> tuple[int, int]:
    span = _interval(row)
    assert span is not None
    return span


def _pair(one: SheetRow, other: SheetRow) -> str:
    return f"{other.text}; line {one.line}: {one.text}"


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
    return _dependencies(sheet, held_spans(sheet)) or _dependencies(sheet, held_spans(sheet, 1))


def _dependencies(sheet: Sheet, spans: Sequence[tuple[Cells, int, int]]) -> list[Dependency]:
    rows = spans[:MOST_ROWS]
    columns = range(len(sheet.columns))[:MOST_COLUMNS]
    result: list[Dependency] = []
    for size in range(1, MOST_KEYS + 1):
        for keys in combinations(columns, size):
            names = tuple(sheet.columns[place] for place in keys)
            known = {each.answer for each in result if set(each.keys) < set(names)}
            answers = [p for p in columns if p not in keys and sheet.columns[p] not in known]
            result += _of_keys(rows, keys, answers, sheet.columns)
    labels = {name for place, name in enumerate(sheet.columns) if _are_labels(rows, place)}
    return sorted(
        result, key=lambda each: (each.answer in labels, each.broken - each.groups, len(each.keys))
    )


def _are_labels(rows: Sequence[tuple[Cells, int, int]], place: int) -> bool:
    """Whether a column holds numbers, or a text with a number of its own for each row, as ids and
    names of files do: a question asks for them if there is nothing else."""
    texts = [values[place] for values, _, _ in rows]
    if all(re.fullmatch(r"-?[\d.,]*", text) for text in texts):
        return True
    return len(set(texts)) == len(texts) and all(re.search(r"\d", text) for text in texts)


def _of_keys(
    rows: Sequence[tuple[Sequence[str], int, int]],
    keys: Sequence[int],
    answers: Sequence[int],
    columns: Sequence[str],
) -> list[Dependency]:
    groups: dict[tuple[str, ...], list[tuple[Sequence[str], int, int]]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[0][place] for place in keys)].append(row)
    several, broken = dict.fromkeys(answers, 0), dict.fromkeys(answers, 0)
    for own in groups.values():
        conflicts = _conflicting(own, answers)
        for place in answers:
            several[place] += len({values[place] for values, _, _ in own}) > 1
            broken[place] += place in conflicts
    names = tuple(columns[key] for key in keys)
    return [
        Dependency(names, columns[place], several[place], broken[place])
        for place in answers
        if several[place] and broken[place] <= MOST_BROKEN * several[place]
    ]


def _conflicting(
    rows: Sequence[tuple[Sequence[str], int, int]], answers: Sequence[int]
) -> set[int]:
    """The answers of which rows, in the order of their starts, give two at one time."""
    conflicts: set[int] = set()
    held: list[tuple[Sequence[str], int, int]] = []
    for values, start, end in rows:
        held = [old for old in held if old[2] > start]
        for place in answers:
            if any(old[0][place] != values[place] for old in held):
                conflicts.add(place)
        if len(conflicts) == len(answers):
            return conflicts
        held.append((values, start, end))
    return conflicts
