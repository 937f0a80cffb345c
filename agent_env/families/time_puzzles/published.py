"""Reads and writes puzzle files: the published format, and our own samples.jsonl.

A published file is a JSON array of objects with the KEYS below; `meta_entries` lists the accepted
forms of `constraints_meta`. Unambiguous variants are accepted: identifiers may be numbers, missing
(replaced by the index) or repeated; solutions may be dates with a time, `1990/1/2`, one text with
commas, "None" or null; texts may be one string of lines; the year range may be a pair, an object,
"1800-2050" or missing (1800 to 2050). Other keys are kept. Any other defect is a DatasetError with
file, index (from 0) and field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue

from agent_env.families.time_puzzles.day_sets import years_held
from agent_env.families.time_puzzles.facts import Fact, KbEvent
from agent_env.families.time_puzzles.meta_entries import (
    FieldError,
    as_date_or_nothing,
    as_dates,
    as_identifier,
    as_int,
    as_year_range,
    read_entry,
)
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.facts.tables.tables import FactTables
from agent_env.sdk.errors import DatasetError

KEYS = (
    "identifier", "constraints", "explicit_constraints", "constraints_meta", "solutions",
    "solution_count", "year_range", "seed_date", "noise_date",
)  # fmt: skip

EXPLICIT = "explicit_solutions"
"""Our own addition: the solutions of the explicit constraints, where they are others."""


class PublishedPuzzle(TimePuzzle):
    """A puzzle of a published file; the further fields are not written with samples."""

    identifier: str | int = Field(exclude=True)
    """The file's own identifier, from which `id` is derived."""
    event_years: tuple[int, ...] = Field(default=(), exclude=True)
    """The file's years of its multi_year event."""
    original: dict[str, JsonValue] = Field(exclude=True)
    """The file's own object."""


def read_puzzles(path: Path) -> tuple[TimePuzzle, ...]:
    """The puzzles of a file of either format; a published one starts with `[`."""
    data = _bytes(path)
    if data.lstrip()[:1] == b"[":
        return _published(path, data)
    from agent_env.sdk.trace import parse_samples

    samples = parse_samples(path, data, TimePuzzle)
    puzzles = tuple(sample for sample in samples if isinstance(sample, TimePuzzle))
    for puzzle in puzzles:
        try:
            as_year_range(puzzle.years)
        except FieldError as exc:
            raise DatasetError(path, None, f"sample {puzzle.id}, years: {exc.reason}") from exc
    return puzzles


def read_published(path: Path) -> tuple[TimePuzzle, ...]:
    """The puzzles of a published file, with unique ids that are valid file names."""
    return _published(path, _bytes(path))


def write_published(puzzles: Sequence[TimePuzzle], tables: FactTables | None = None) -> bytes:
    """The puzzles in the published format; a PublishedPuzzle keeps its keys. `tables` give the
    years of multi_year events."""
    rows = [_object(puzzle, tables) for puzzle in puzzles]
    return json.dumps(rows, ensure_ascii=False, indent=2).encode() + b"\n"


def puzzle_bytes(puzzles: Sequence[TimePuzzle]) -> bytes:
    """A file in the format of the puzzles' source."""
    if any(isinstance(puzzle, PublishedPuzzle) for puzzle in puzzles):
        return write_published(puzzles)
    return b"".join(puzzle.model_dump_json().encode() + b"\n" for puzzle in puzzles)


def identifier_of(puzzle: TimePuzzle) -> str | int:
    return puzzle.identifier if isinstance(puzzle, PublishedPuzzle) else puzzle.id


# Reading -----------------------------------------------------------------------------------------


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as exc:
        raise DatasetError(path, None, f"cannot be read: {exc.strerror}") from exc


def json_rows(path: Path, data: bytes | None = None) -> list[Any]:
    """The values of a file with a JSON array."""
    data = _bytes(path) if data is None else data
    try:
        rows = json.loads(data)
    except (ValueError, RecursionError) as exc:
        raise DatasetError(path, None, f"is not JSON: {exc}{_broken_place(data)}") from exc
    if not isinstance(rows, list) or not rows:
        raise DatasetError(path, None, "holds no puzzle; write a JSON array of objects")
    return rows


def _published(path: Path, data: bytes) -> tuple[TimePuzzle, ...]:
    used_ids: set[str] = set()
    puzzles: list[TimePuzzle] = []
    for index, row in enumerate(json_rows(path, data)):
        try:
            puzzles.append(_puzzle(row, index, used_ids))
        except FieldError as exc:
            raise DatasetError(path, None, f"index {index}, {exc.field}: {exc.reason}") from exc
    return tuple(puzzles)


def _broken_place(data: bytes) -> str:
    """The record and field at which broken JSON breaks off, for an error; empty if unknown."""
    text, decoder = data.decode(errors="replace"), json.JSONDecoder()
    at, index = text.find("[") + 1, 0
    try:
        while True:
            at = re.compile(r"[\s,]*+").match(text, at).end()  # type: ignore[union-attr]
            _, at = decoder.raw_decode(text, at)
            index += 1
    except (ValueError, RecursionError):
        keys = [name for name in re.findall(r'"(\w+)"\s*+:', text[at:]) if name in KEYS]
        place = f", in or after {keys[-1]}" if keys else ""
        return f"; whole puzzles before it: {index}; index {index} breaks off{place}"


def _puzzle(row: object, index: int, used_ids: set[str]) -> PublishedPuzzle:
    if not isinstance(row, dict):
        raise FieldError("puzzle", "is not an object")
    if not {"constraints", "constraints_meta", "solutions"} & row.keys():
        names = ", ".join(map(str, list(row)[:8])) or "no field"
        raise FieldError(
            "puzzle", f"is not a Time Puzzles record: it has {names}; needed: {', '.join(KEYS[:5])}"
        )
    meta = _needed(row, "constraints_meta")
    if isinstance(meta, Mapping):  # type → parameters
        meta = [{"value": v, "type": k} for k, v in meta.items()]
    if not isinstance(meta, list) or not meta:
        raise FieldError("constraints_meta", "is not a list of meta entries")
    entries = []
    for at, raw in enumerate(meta):
        try:
            entries.append(read_entry(raw))
        except FieldError as exc:
            raise FieldError(f"constraints_meta[{at}].{exc.field}", exc.reason) from exc
    facts = tuple(entry.fact for entry in entries)
    event = next((fact for fact in facts if isinstance(fact, KbEvent)), None)
    gold = as_dates(_needed(row, "solutions"))
    count = row.get("solution_count")
    identifier = as_identifier(row.get("identifier"), index)
    return PublishedPuzzle(
        id=sample_id(str(identifier), used_ids),
        gold=gold,
        explicit_gold=None if row.get(EXPLICIT) is None else as_dates(row[EXPLICIT], EXPLICIT),
        constraints=_texts(row, "constraints"),
        explicit_constraints=_texts(row, "explicit_constraints"),
        facts=facts,
        solution_count=len(gold) if count is None else as_int(count, "solution_count"),
        fact_count=len(facts),
        event=event.event if event else "",
        event_level=event.level if event else "",
        seed_date=as_date_or_nothing(row.get("seed_date")),
        years=as_year_range(row.get("year_range")),
        identifier=identifier,
        event_years=next((entry.event_years for entry in entries if entry.event_years), ()),
        original=row,
    )


def _needed(row: Mapping[str, Any], key: str) -> Any:
    if key not in row:
        raise FieldError(key, "is missing")
    return row[key]


def sample_id(identifier: str, used_ids: set[str]) -> str:
    """An id that is a valid file name and unique, ignoring case."""
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", identifier).lstrip("._-")[:100] or "puzzle"
    name, number = base, 1
    while name.casefold() in used_ids:
        number += 1
        name = f"{base}-{number}"
    used_ids.add(name.casefold())
    return name


def _texts(row: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = _needed(row, key)
    if isinstance(value, str):
        value = [line.strip().removeprefix("- ") for line in value.splitlines() if line.strip()]
    if not isinstance(value, list) or not value:
        raise FieldError(key, "is not a list of texts")
    for at, text in enumerate(value):
        if not isinstance(text, str) or not text.strip():
            raise FieldError(f"{key}[{at}]", f"{text!r} is not a text")
    return tuple(value)


# Writing -----------------------------------------------------------------------------------------


def _object(puzzle: TimePuzzle, tables: FactTables | None) -> dict[str, Any]:
    gold = list(puzzle.gold)
    if isinstance(puzzle, PublishedPuzzle):
        if as_dates(puzzle.original.get("solutions")) == puzzle.gold:
            gold = puzzle.original["solutions"]  # type: ignore[assignment]  # as it stood
        changed = {"solutions": gold, "solution_count": puzzle.solution_count}
        return _with_explicit_gold({**puzzle.original, **changed}, puzzle)
    years = [int(year) for year in puzzle.years.split("-")]
    values = (
        puzzle.id, list(puzzle.constraints), list(puzzle.explicit_constraints),
        [_meta(fact, tables) for fact in puzzle.facts], gold, puzzle.solution_count, years,
        puzzle.seed_date or None, None,
    )  # fmt: skip
    return _with_explicit_gold(dict(zip(KEYS, values, strict=True)), puzzle)


def _with_explicit_gold(row: dict[str, Any], puzzle: TimePuzzle) -> dict[str, Any]:
    row.pop(EXPLICIT, None)
    return row if puzzle.explicit_gold is None else {**row, EXPLICIT: list(puzzle.explicit_gold)}


def _meta(fact: Fact, tables: FactTables | None) -> dict[str, Any]:
    entry = fact.model_dump(mode="json")
    if isinstance(fact, KbEvent) and fact.aspect == "multi_year" and tables is not None:
        row = next((row for row in tables.events if row.event == fact.event), None)
        entry["value"] = list(years_held(row)) if row else None
    return entry
