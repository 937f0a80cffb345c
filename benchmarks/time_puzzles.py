"""How fast puzzles are made, checked and scored, and how they are composed.

Run: python benchmarks/time_puzzles.py (about a minute, one core). `--verify N` also solves N
puzzles by the brute-force solver of the tests, which shares nothing with the package.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import date
from itertools import combinations
from pathlib import Path
from random import Random
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the tests' brute-force solver

from agent_env.families.time_puzzles.candidates import Candidates
from agent_env.families.time_puzzles.day_sets import DaySets
from agent_env.families.time_puzzles.facts import WEEKDAYS, MultiWeekday
from agent_env.families.time_puzzles.family import SetOptions, make_set
from agent_env.families.time_puzzles.sample import TimePuzzle
from agent_env.features.answers.date_sets import days_off, exact_match, f1, jaccard
from agent_env.features.audit.audit import audit
from agent_env.features.audit.guess_rates import guess_rates
from agent_env.features.facts.tables.tables import FactTables, shipped_tables
from agent_env.temporal.days import CLOSURE_DAYS, PUZZLE_DAYS, DayRange

T = TypeVar("T")
COUNT = 720
PUBLISHED = "published generator, measured earlier: 0.28 puzzles/s, 3.5 CPU-s each"


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--verify", type=int, default=0, metavar="N")
    verify = parser.parse_args().verify
    tables = shipped_tables()
    for name, days in (("1800–2050", PUZZLE_DAYS), ("1583–2400", CLOSURE_DAYS)):
        _, seconds = timed(lambda days=days: build_all(days, tables))
        print(f"all day sets {name}      {seconds:8.2f} CPU-s, peak {peak_mb():.0f} MB")
    checked = made(tables, True)
    made(tables, False)
    composition(checked)
    report, seconds = timed(lambda: audit(checked[:700], tables))
    defects = sum(bool(finding.causes) for finding in report.findings)
    print(
        f"audit of 700            {seconds:8.2f} CPU-s with its day sets; {defects} with a defect"
    )
    rates = guess_rates(checked, tables).as_json()
    print("guessers                " + ", ".join(f"{k} {v:.1%}" for k, v in rates.items()))
    scores(checked)
    if verify:
        compare_with_brute_force(tables, verify)


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """A result and the CPU seconds it took."""
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def peak_mb() -> float:
    """The most memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def build_all(days: DayRange, tables: FactTables) -> DaySets:
    """The day set of every fact that puzzles are drawn from."""
    sets = DaySets(days, tables)
    candidates = Candidates(tables, sets)
    rng = Random(0)
    for index in range(0, len(days), 7):
        day = days.day(index)
        for kind in candidates.kinds.values():
            if kind.name not in ("year_range", "person_alive", "us_president"):
                kind.entries(day, rng)
    for size in (2, 3, 4):
        for names in combinations(WEEKDAYS, size):
            sets.of(MultiWeekday.model_validate({"value": names}))
    return sets


def made(tables: FactTables, checked: bool) -> tuple[TimePuzzle, ...]:
    """A set over the schedule of 4 to 6 facts and 1 to 6 solutions."""
    make_set(tables, SetOptions(count=18, seed=0, checked=checked))
    found, seconds = timed(
        lambda: make_set(tables, SetOptions(count=COUNT, seed=1, checked=checked))
    )
    rules = "all guarantees" if checked else "paper's rules "
    rate = len(found.puzzles) / seconds
    print(f"puzzles, {rules} {rate:8.0f} a CPU-s, day sets included ({PUBLISHED})")
    return found.puzzles


def composition(puzzles: tuple[TimePuzzle, ...]) -> None:
    """How often each type of fact stands in a set."""
    types = Counter(fact.type for puzzle in puzzles for fact in puzzle.facts)
    shares = (f"{name} {n / types.total():.1%}" for name, n in types.most_common())
    print("facts by type           " + ", ".join(shares))
    levels = Counter(puzzle.event_level for puzzle in puzzles)
    print("events by level         " + ", ".join(f"{k} {v}" for k, v in levels.items()))


def scores(puzzles: tuple[TimePuzzle, ...]) -> None:
    """19,000 comparisons of date sets, as many as the paper made."""
    sets = [frozenset(puzzle.gold) for puzzle in puzzles]
    pairs = [(sets[i % len(sets)], sets[(i * 7) % len(sets)]) for i in range(19_000)]
    _, seconds = timed(
        lambda: [(exact_match(*p), f1(*p), jaccard(*p), days_off(*p)) for p in pairs]
    )
    print(f"19,000 scores           {seconds:8.3f} CPU-s")


def compare_with_brute_force(tables: FactTables, count: int) -> None:
    """Solve puzzles by plain dates and count where the answers differ."""
    from tests.families.time_puzzles.brute_force import solve

    found = make_set(tables, SetOptions(count=count, seed=99), processes=2).puzzles
    first, last = date(1800, 1, 1), date(2050, 12, 31)
    different = 0
    for puzzle in found:
        facts = [fact.model_dump() for fact in puzzle.facts]
        different += solve(facts, first, last) != list(puzzle.gold)
    print(f"brute force             {different} of {len(found)} answers differ")


if __name__ == "__main__":
    main()
