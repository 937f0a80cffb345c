"""What a corpus of one's own costs: importing it, opening it, searching it.

Run: python benchmarks/corpus.py [--documents 1000000] (a quarter of an hour of one core and 6 GB of
disk in a temporary folder). Documents have 300 words, drawn from 200,000 by Zipf's law.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import numpy as np

from agent_env.web.built import BuiltWeb

WORDS = 300
QUERIES = 400
_SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "el", "or")]


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000_000)
    count = parser.parse_args().documents
    rng = np.random.default_rng(5)
    vocabulary = np.array(_words(200_000))
    with tempfile.TemporaryDirectory() as folder:
        file, store = Path(folder) / "corpus.jsonl", Path(folder) / "corpus.db"
        text_bytes = _write(file, count, vocabulary, rng)
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "agent_env", "web", "pages", "import", store, file]
        subprocess.run([*map(str, command)], check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(f"import and index   {count / cpu:8,.0f} documents a CPU-second")
        print(f"                   {time.perf_counter() - started:8.1f} s, {cpu:.1f} CPU-s")
        print(f"peak memory        {used.ru_maxrss / 1e3:8.0f} MB")
        size = store.stat().st_size
        index = sum(each.stat().st_size for each in store.parent.glob("corpus.db.tantivy/*"))
        print(f"store              {size / text_bytes:8.2f} of the texts' size, index "
              f"{index / text_bytes:.2f}")  # fmt: skip
        before_open = time.process_time()
        web = BuiltWeb.opened(store)
        print(f"opening            {time.process_time() - before_open:8.2f} CPU-s")
        _search(web, vocabulary, rng)
        web.close()


def _words(count: int) -> list[str]:
    rng = Random(1)
    words: dict[str, None] = {}
    while len(words) < count:
        words["".join(rng.choices(_SYLLABLES, k=rng.choice((1, 2, 2, 3, 3, 4))))] = None
    return list(words)


def _ranks(rng: np.random.Generator, shape: tuple[int, ...], most: int) -> np.ndarray:
    """Zipf's law: the share of a word falls as one over its rank."""
    return (np.exp(rng.random(shape) * np.log(most)) - 1).astype(int)


def _write(file: Path, count: int, vocabulary: np.ndarray, rng: np.random.Generator) -> int:
    total = 0
    with file.open("w") as out:
        for first in range(0, count, 1000):
            words = vocabulary[_ranks(rng, (min(1000, count - first), WORDS), len(vocabulary))]
            for number, row in enumerate(words, start=first):
                text = " ".join(row)
                total += len(text)
                title = " ".join(row[:3])
                url = f"https://example.org/wiki/{number}"
                print(json.dumps({"url": url, "title": title, "text": text}), file=out)
    return total


def _search(web: BuiltWeb, vocabulary: np.ndarray, rng: np.random.Generator) -> None:
    search = web.as_web().search
    times = []
    for row in vocabulary[_ranks(rng, (QUERIES, 6), len(vocabulary))]:
        started = time.perf_counter()
        asyncio.run(search.search(" ".join(row), 10))
        times.append(1000 * (time.perf_counter() - started))
    times.sort()
    print(f"search             {statistics.median(times):8.1f} ms p50, "
          f"{times[int(0.95 * QUERIES)]:.1f} ms p95, {times[-1]:.1f} ms longest")  # fmt: skip


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
