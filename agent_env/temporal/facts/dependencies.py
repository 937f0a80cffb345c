"""Finds which columns of a sheet determine which others at every time (temporal functional
dependencies), for tables whose user has not said what to ask."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from agent_env.temporal.facts.table_doctor import held_spans
from agent_env.temporal.facts.table_records import Cells, Sheet

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
