"""Puzzle sets: scheduled, without duplicates, independent of the number of processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from random import Random

from agent_env.families.time_puzzles.difficulty import ANY, Target
from agent_env.families.time_puzzles.generator import Generator, NotFound, Shape, schedule
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.temporal.days import PUZZLE_DAYS, DayRange
from agent_env.temporal.facts.tables import FactTables

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


@dataclass(frozen=True, slots=True)
class PuzzleSet:
    """Generated puzzles, and the reasons for missing ones."""

    puzzles: tuple[TimePuzzle, ...]
    missing: tuple[str, ...]
    """One reason for each missing puzzle."""


def make_set(
    tables: FactTables,
    options: SetOptions,
    processes: int = 1,
    on_puzzle: Callable[[], None] = lambda: None,
) -> PuzzleSet:
    """The puzzles in order; each depends only on the seed and its number, except that duplicates
    are drawn again. NotFound, before all others are made, for a shape without a puzzle."""
    puzzles: list[TimePuzzle] = []
    missing: list[str] = []
    keys: set[str] = set()
    own = _Maker(tables, options)
    for number, puzzle in enumerate(_all(own, tables, options, processes), start=1):
        on_puzzle()
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
        self._generator = _generator(
            tables, options.days, options.calendars, options.checked, options.target
        )
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
def _generator(
    tables: FactTables, days: DayRange, calendars: tuple[str, ...], checked: bool, target: Target
) -> Generator:
    """One for all sets of a process: the day sets of its facts are computed once."""
    return Generator(tables, days, calendars, checked, target)


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
