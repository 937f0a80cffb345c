"""The version of a day: what a store with many versions of its addresses costs.

python benchmarks/versions.py [versions]   # 100,000; times a look-up of each kind, writes nothing
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from random import Random

from agent_env.testing import page
from agent_env.web.page_store import SqlitePages

FIRST = date(2000, 1, 1)
LOOKUPS = 2_000


def fill(file: Path, addresses: int, versions: int) -> None:
    """Versions of each address on days apart, with texts of about 2 kB."""
    store = SqlitePages(file)
    rows = (
        page(address(n), f"Address {n} as of version {v}. " * 60).model_copy(
            update={"fetched_at": f"{FIRST + timedelta(days=v * 3)}T12:00:00+00:00"}
        )
        for v in range(versions)
        for n in range(addresses)
    )
    store.put_all(rows)
    store.close()


def address(number: int) -> str:
    """Of one page."""
    return f"https://a.example/{number}"


def milliseconds(act: Callable[[int], object], times: int) -> str:
    """The medians of the time and of the CPU time."""
    spent, used = [], []
    for number in range(times):
        begin, cpu = time.perf_counter_ns(), time.thread_time_ns()
        act(number)
        used.append((time.thread_time_ns() - cpu) / 1e6)
        spent.append((time.perf_counter_ns() - begin) / 1e6)
    return f"{statistics.median(spent):.3f} ms (CPU {statistics.median(used):.3f})"


def measured(folder: Path, addresses: int, versions: int) -> str:
    """What looking up versions costs in a store of this shape."""
    draw, file = Random(1), folder / "pages.db"
    begin = time.process_time()
    fill(file, addresses, versions)
    filled, size = time.process_time() - begin, file.stat().st_size / 1e6
    days = [FIRST + timedelta(days=draw.randrange(versions * 3)) for _ in range(5)]
    stores = [SqlitePages(file, read_only=True, as_of=str(day)) for day in days]
    urls = [address(draw.randrange(addresses)) for _ in range(LOOKUPS)]
    whole = milliseconds(lambda n: stores[n * 5 // LOOKUPS].outcome(urls[n]), LOOKUPS)
    row = milliseconds(lambda n: stores[n * 5 // LOOKUPS]._row(urls[n]), LOOKUPS)
    begin = time.process_time()
    rows = sum(1 for _ in stores[-1].fetches())
    listed = time.process_time() - begin
    return (
        f"{addresses} addresses x {versions} versions ({size:.0f} MB, filled in {filled:.1f} "
        f"CPU-s): page {whole}; row {row}; all {rows} of a day in {listed:.2f} CPU-s"
    )


def main() -> None:
    """Prints a line for each shape of store."""
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    for addresses in (1_000, 10):
        with tempfile.TemporaryDirectory() as folder:
            print(measured(Path(folder), addresses, total // addresses), flush=True)


if __name__ == "__main__":
    main()
