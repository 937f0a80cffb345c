"""Time Puzzles as a family: samples from a seed, or a set in the published format; the options of
a set, which is scheduled, without duplicates, and the same for any number of processes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from random import Random

from pydantic import Field

from agent_env.families.time_puzzles.candidates import CALENDAR_KINDS
from agent_env.families.time_puzzles.difficulty import ANY, Target, parse_target
from agent_env.families.time_puzzles.facts import category_of
from agent_env.families.time_puzzles.generator import Generator, NotFound, Shape, schedule
from agent_env.families.time_puzzles.published import read_published, write_published
from agent_env.families.time_puzzles.sample import TimePuzzle, time_puzzles
from agent_env.families.time_puzzles.task import NAME, make_task
from agent_env.features.facts.tables.tables import FactTables, read_world, shipped_tables
from agent_env.sdk.errors import ConfigError
from agent_env.sdk.family import Family, SampleSet
from agent_env.sdk.records import Record
from agent_env.temporal.days import PUZZLE_DAYS, DayRange

CHUNK = 25
ATTEMPTS = 3
"""Searches for one puzzle."""
REDRAWS = 20
"""Further draws for a puzzle that is already in the set."""


@dataclass(frozen=True, slots=True)
class SetOptions:
    """Parameters of a puzzle set."""

    count: int
    seed: int
    facts: tuple[int, ...] = (4, 5, 6)
    solutions: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    days: DayRange = PUZZLE_DAYS
    calendars: tuple[str, ...] = ("chinese",)
    checked: bool = True
    target: Target = ANY
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PuzzleSet:
    """Generated puzzles, and the reasons for missing ones."""

    puzzles: tuple[TimePuzzle, ...]
    missing: tuple[str, ...]
    """One reason for each missing puzzle."""


def make_set(tables: FactTables, options: SetOptions, processes: int = 1) -> PuzzleSet:
    """The puzzles in order; each depends only on the seed and its number, except that duplicates
    are drawn again. NotFound, before all others are made, for a shape without a puzzle."""
    puzzles: list[TimePuzzle] = []
    missing: list[str] = []
    keys: set[str] = set()
    own = _Maker(tables, options)
    for number, puzzle in enumerate(_all(own, tables, options, processes), start=1):
        key, redraw = _key(puzzle), 0
        while key in keys and redraw < REDRAWS:
            redraw += 1
            puzzle = own.make(number, redraw)
            key = _key(puzzle)
        if isinstance(puzzle, str) and number <= own.shapes:
            raise NotFound(puzzle)
        if isinstance(puzzle, str):
            missing.append(puzzle)
        elif key in keys:
            missing.append(f"puzzle {number} stood in the set already, {REDRAWS} times over")
        else:
            keys.add(key)
            puzzles.append(puzzle)
    return PuzzleSet(tuple(puzzles), tuple(missing))


def _key(puzzle: TimePuzzle | str) -> str:
    """The key of duplicates: the facts regardless of order; a reason is its own key."""
    if isinstance(puzzle, str):
        return puzzle
    return "\n".join(sorted(fact.model_dump_json() for fact in puzzle.facts))


class _Maker:
    """Generates the puzzles of one set by number."""

    def __init__(self, tables: FactTables, options: SetOptions) -> None:
        self._options = options
        alike = replace(options, count=0, seed=0, facts=(), solutions=())
        self._generator = _generator(tables, alike)
        self.shapes = len(options.facts) * len(options.solutions)
        """The number of shapes; as many puzzles have all of them."""
        self._shapes: list[Shape] = list(schedule(self.shapes, options.facts, options.solutions))

    def make(self, number: int, redraw: int = 0) -> TimePuzzle | str:
        """Puzzle `number`, from 1, or the reason why it is missing."""
        shape = self._shapes[(number - 1) % len(self._shapes)]
        seed = self._options.seed
        rng = Random(f"{seed}/{number}" + (f"/{redraw}" if redraw else ""))
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                return self._generator.puzzle(shape, rng, f"tp-{seed}-{number:05d}")
            except NotFound as exc:
                reason = str(exc)
        return reason


@lru_cache(maxsize=2)
def _generator(tables: FactTables, of: SetOptions) -> Generator:
    """One for all sets of a process: the day sets of its facts are computed once."""
    return Generator(tables, of.days, of.calendars, of.checked, of.target, of.kinds)


def _all(
    own: _Maker, tables: FactTables, options: SetOptions, processes: int
) -> Iterator[TimePuzzle | str]:
    numbers = range(1, options.count + 1)
    alone = options.count if processes <= 1 or options.count <= CHUNK else own.shapes
    yield from map(own.make, numbers[:alone])  # all shapes first: one may be impossible
    if not numbers[alone:]:
        return
    with ProcessPoolExecutor(processes, initializer=partial(_start, tables, options)) as pool:
        yield from pool.map(_make_here, numbers[alone:], chunksize=CHUNK)


_here: list[_Maker] = []
"""The maker of a worker process, made when the process starts."""


def _start(tables: FactTables, options: SetOptions) -> None:
    _here[:] = [_Maker(tables, options)]


def _make_here(number: int) -> TimePuzzle | str:
    return _here[0].make(number)


class PuzzleOptions(Record):
    """How puzzles are drawn, and from which events."""

    facts: str = "4-6"
    """Facts per puzzle: 5 or 4-6."""
    solutions: str = "1-6"
    """Solutions per puzzle: 1 or 0-6."""
    years: str = "1800-2050"
    """Years of the answers: A-B."""
    calendars: tuple[str, ...] = ("chinese",)
    """Joined by commas, or all: chinese, hebrew, islamic, persian, …"""
    facts_table: Path | None = None
    """A file with your own event table; docs/features/facts.md has the form."""
    difficulty: tuple[str, ...] = ()
    """Targets joined by commas, QUANTITY=A-B: lookups, pages, hops (of calendars), candidates."""
    kinds: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Kinds of facts beside the event, joined by commas: explicit_year, month, weekday, …; empty
    for all."""
    after: str = ""
    """YYYY-MM-DD: events that begin after a model's knowledge cutoff."""
    obscurity: float = Field(default=0.0, ge=0, le=1)
    """Least obscurity of the events, 0 to 1; above 0 only events of a screened table."""
    unchecked: bool = False
    """The paper's rules alone, no guarantees."""
    present: bool = Field(default=False, exclude_if=lambda value: not value)
    """Only puzzles with a span that is counted from the day of --today: last year, the three weeks
    before today, the present US president."""
    processes: int | None = Field(default=None, ge=1, exclude=True)
    """The output is the same for any number; default: one a processor."""


def set_options(count: int, seed: int, options: PuzzleOptions) -> SetOptions:
    """The generator's parameters. Raises ConfigError for an invalid option."""
    first, last = parse_range("years", options.years, 1583, 2400)
    return SetOptions(
        count=count,
        seed=seed,
        facts=_numbers(parse_range("facts", options.facts, 1, 12)),
        solutions=_numbers(parse_range("solutions", options.solutions, 0, 1000)),
        days=DayRange.of_years(first, last),
        calendars=calendars_of(options),
        checked=not options.unchecked,
        target=parse_target(options.difficulty),
        kinds=options.kinds,
    )


def tables_of(options: PuzzleOptions) -> FactTables:
    """The packaged tables; a user's table replaces the events, and adds its people."""
    tables, file = world_of(options), options.facts_table
    if options.after:
        tables = _after(tables, options.after, file)
    return _obscure(tables, options.obscurity) if options.obscurity else tables


def world_of(options: PuzzleOptions) -> FactTables:
    """The tables with the events that are asked of no puzzle, too."""
    tables, file = shipped_tables(), options.facts_table
    return tables if file is None else read_world(file, tables)


def _obscure(tables: FactTables, least: float) -> FactTables:
    events = tuple(row for row in tables.events if (row.obscurity or 0) >= least)
    if not events:
        raise ConfigError(
            f"--option obscurity: no event has an obscurity of {least} or more; --screened-by "
            "MODEL,… measures it"
        )
    return replace(tables, events=events)


def _after(tables: FactTables, text: str, file: Path | None) -> FactTables:
    """The tables with the events that begin after a day."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"--option after: '{text}' is not a day; write YYYY-MM-DD") from None
    events = tuple(row for row in tables.events if row.start and row.start.first > day)
    if not events:
        table = file or "the shipped table"
        latest = max((row.start.first for row in tables.events if row.start), default=None)
        raise ConfigError(
            f"--option after: no event of {table} begins after {day}; its latest begins on {latest}"
        )
    return replace(tables, events=events)


def parse_range(name: str, text: str, least: int, most: int) -> tuple[int, int]:
    """`A-B` or one number, both within bounds."""
    match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if match is None:
        raise ConfigError(f"--option {name}: '{text}' is not a range; write 5 or 4-6")
    first, last = int(match[1]), int(match[2] or match[1])
    if first > last:
        raise ConfigError(f"--option {name}: '{text}' is reversed; write {last}-{first}")
    if not least <= first <= last <= most:
        raise ConfigError(f"--option {name}: '{text}' does not lie within {least}-{most}")
    return first, last


def _numbers(ends: tuple[int, int]) -> tuple[int, ...]:
    return tuple(range(ends[0], ends[1] + 1))


def calendars_of(options: PuzzleOptions) -> tuple[str, ...]:
    """The names of the calendars. Raises ConfigError for an unknown one."""
    if options.calendars == ("all",):
        return tuple(CALENDAR_KINDS)
    for name in options.calendars:
        if name not in CALENDAR_KINDS:
            raise ConfigError(
                f"unknown calendar '{name}'; known: {', '.join(('all', *CALENDAR_KINDS))}"
            )
    return tuple(dict.fromkeys(options.calendars))


def _make(count: int, seed: int, options: PuzzleOptions) -> SampleSet:
    parameters = set_options(count, seed, options)
    if options.present:
        from agent_env.families.time_puzzles.present import draw_puzzles

        others = options.model_fields_set - {"present", "solutions", "years", "processes"}
        if name := min(others, default=None):
            raise ConfigError(
                f"--option {name} (or --difficulty): present=true has its own facts; leave it out"
            )
        puzzles, missing = draw_puzzles(
            count, seed, parameters.solutions, parameters.days, tables_of(options)
        )
        return SampleSet(puzzles, missing=missing)
    puzzle_set = make_set(tables_of(options), parameters, options.processes or os.cpu_count() or 1)
    notes = tuple(_absent_calendars(puzzle_set.puzzles, options))
    return SampleSet(puzzle_set.puzzles, missing=puzzle_set.missing, notes=notes)


def _absent_calendars(puzzles: Sequence[TimePuzzle], options: PuzzleOptions) -> Iterator[str]:
    kinds = {category_of(fact) for puzzle in puzzles for fact in puzzle.facts}
    is_asked = puzzles and "calendars" in options.model_fields_set
    for name in calendars_of(options) if is_asked else ():
        if kinds.isdisjoint(CALENDAR_KINDS[name]):
            yield (
                f"no puzzle has a fact of the calendar {name}: with facts={options.facts} and "
                f"solutions={options.solutions} it is hardly ever necessary; try fewer facts, or "
                "more puzzles"
            )


def _is_array(file: Path) -> bool:
    """Whether the file holds one JSON array, and not a JSON object a line."""
    try:
        with file.open("rb") as opened:
            return opened.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"["
    except OSError:
        return False  # said by the reader, with its reason


FAMILY = Family(
    NAME,
    lambda prompt, options, tables: make_task(
        prompt, lambda: tables_of(options), lambda: world_of(options)
    ),
    _make,
    PuzzleOptions,
    read_foreign=lambda file, _: SampleSet(read_published(file)) if _is_array(file) else None,
    write_foreign=lambda samples, options: write_published(
        time_puzzles(samples), tables_of(options)
    ),
    screening="agent_env.families.time_puzzles.screening:screen_events",
    reference="agent_env.families.time_puzzles.reference:next_step",
    policies=tuple(
        "reference reference-static rememberer guesser believer checker giver-up".split()
    ),
    levels=Path(__file__).with_name("difficulty.toml"),
)
