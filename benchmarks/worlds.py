"""What a large invented world costs: building its pages, and searching them.

Run: python benchmarks/worlds.py (some minutes, one core, 400 MB of disk in a temporary folder).
`--entities N` sets the size; 15,700 give 50,000 pages.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from agent_env.features.facts.fiction.world import make_world
from agent_env.features.facts.web_cli import BuildOptions, build_web
from agent_env.protocols import SearchProvider
from agent_env.web.built import TantivyText
from agent_env.web.full_text import FullText
from agent_env.web.page_store import SqlitePages

QUERIES = 400


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entities", type=int, default=15_700)
    entities = parser.parse_args().entities
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "pages.db"
        before = time.perf_counter(), time.process_time()
        built = build_web(BuildOptions(out, "fictional", entities, 3, "medium", None), print)
        wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
        size = out.stat().st_size / 1e6
        print(
            f"build of {built.pages} pages {wall:.1f} s, {cpu:.1f} CPU-s, peak {peak_mb():.0f} MB"
        )
        print(f"store                    {size:7.0f} MB, {size * 1000 / built.pages:.1f} kB a page")
        search_all(out, entities)


def search_all(out: Path, entities: int) -> None:
    """Both kinds of search over the same pages and queries."""
    asked = queries(entities)
    store = SqlitePages(out, read_only=True)
    report("FTS5", FullText.in_memory(store.texts()), asked)
    started = time.perf_counter()
    index = TantivyText.build(store, print)
    print(f"tantivy index            {time.perf_counter() - started:7.1f} s")
    report("tantivy", index, asked)
    store.close()


def queries(entities: int) -> list[str]:
    """What a model asks first: hints and names of events, and names of people."""
    world = make_world(entities, 3)
    rng = Random(0)
    events = [row.hint or row.event for row in rng.sample(world.events, QUERIES * 3 // 4)]
    return events + [row.person for row in rng.sample(world.people, QUERIES // 4)]


def report(name: str, index: SearchProvider, asked: Sequence[str]) -> None:
    """Wall and CPU time of single searches."""

    async def run() -> tuple[list[float], float]:
        walls = []
        cpu = time.process_time()
        for query in asked:
            started = time.perf_counter()
            await index.search(query, 5)
            walls.append((time.perf_counter() - started) * 1000)
        return walls, (time.process_time() - cpu) * 1000 / len(asked)

    walls, cpu = asyncio.run(run())
    tenths = statistics.quantiles(walls, n=20)
    print(
        f"search by {name:8}       p50 {statistics.median(walls):.2f} ms, p95 {tenths[18]:.2f} ms, "
        f"{cpu:.2f} CPU-ms each"
    )


def peak_mb() -> float:
    """The most memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
