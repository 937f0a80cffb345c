"""How fast questions from temporal tables are made and checked, and tables joined, on one core.

    python benchmarks/tdbench.py

Every query is run on SQLite and on DuckDB and compared with Allen's relation; CPU time is counted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from datetime import date
from random import Random

from agent_env.families.tdbench.generator import make
from agent_env.families.tdbench.sample import TdbenchOptions
from agent_env.features.facts.tables.temporal_table import (
    TemporalRow,
    TemporalTable,
    natural_join,
)

ROUNDS = 3


def main() -> None:
    make(60, 1, TdbenchOptions())  # imports
    for phrasings in (1, 3):
        options = TdbenchOptions(phrasings=phrasings)
        seconds = _median(lambda options=options: make(8000 * options.phrasings, 1, options))
        print(f"{phrasings} phrasing(s): {8000 / seconds:,.0f} checked queries/s, "
              f"{8000 * phrasings / seconds:,.0f} samples/s")  # fmt: skip
    left, right = _table("l", 1), _table("r", 2)
    rows = len(natural_join(left, right, "j").table.rows)
    seconds = _median(lambda: natural_join(left, right, "j"))
    print(f"join of 10,000 x 10,000 rows to {rows:,}: {seconds:.2f} s")


def _median(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return statistics.median(spent)


def _table(name: str, seed: int) -> TemporalTable:
    """10,000 rows of 500 keys over 70 years, a few months to years long."""
    rng, first = Random(seed), date(1950, 1, 1).toordinal()
    rows = []
    for number in range(10_000):
        start = first + rng.randrange(70 * 365)
        end = date.fromordinal(start + rng.randrange(60, 2000))
        values = (f"k{rng.randrange(500)}", f"{name}{number}")
        rows.append(TemporalRow(values, date.fromordinal(start), end))
    return TemporalTable(name, ("key", name), tuple(rows))


if __name__ == "__main__":
    main()
